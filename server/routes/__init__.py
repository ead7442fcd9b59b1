"""What a route may ask for, one module per noun."""

from fastapi import APIRouter

from server.routes import (
    agents,
    audit,
    categories,
    effect,
    erasures,
    experiences,
    health,
    hygiene,
    jobs,
    keys,
    me,
    namespaces,
    outcomes,
    receipts,
    retrievals,
    statuses,
    tasks,
    weights,
)

ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    me.router,
    namespaces.router,
    keys.router,
    jobs.router,
    agents.router,
    categories.router,
    tasks.router,
    experiences.router,
    statuses.router,
    erasures.router,
    weights.router,
    retrievals.router,
    receipts.router,
    outcomes.router,
    effect.router,
    hygiene.router,
    audit.router,
)
