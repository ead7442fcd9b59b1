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
    history,
    jobs,
    keys,
    me,
    namespaces,
    outcomes,
    receipts,
    retrievals,
    statuses,
    tasks,
    tickets,
    weights,
    writings,
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
    tickets.router,
    effect.router,
    history.router,
    writings.router,
    audit.router,
)
