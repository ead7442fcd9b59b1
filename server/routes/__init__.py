"""What a route may ask for, one module a capability."""

from fastapi import APIRouter

from server.routes import (
    changes,
    constraints,
    erasure,
    experiences,
    forecasts,
    health,
    insight,
    jobs,
    llm,
    memories,
    meta_guidelines,
    outcomes,
    retrieval,
    tasks,
    tenancy,
    verification,
    webhooks,
)

ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    tenancy.me_router,
    tenancy.namespaces_router,
    tenancy.keys_router,
    jobs.router,
    tasks.agents_router,
    tasks.categories_router,
    constraints.taxonomy_router,
    tasks.tasks_router,
    constraints.trajectories_router,
    experiences.experiences_router,
    experiences.statuses_router,
    memories.router,
    meta_guidelines.router,
    constraints.contrasts_router,
    constraints.constraints_router,
    constraints.contradictions_router,
    erasure.erasures_router,
    insight.weights_router,
    retrieval.retrievals_router,
    retrieval.receipts_router,
    outcomes.router,
    forecasts.predictions_router,
    forecasts.settlements_router,
    verification.tickets_router,
    insight.effect_router,
    insight.history_router,
    changes.changes_router,
    llm.llm_calls_router,
    insight.learning_health_router,
    tenancy.audit_router,
    webhooks.router,
)


BUSY = (retrieval.retrievals_router, outcomes.router, experiences.experiences_router)
"""What agents ask for again and again."""
