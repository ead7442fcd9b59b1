"""The dashboard: pages that show how the memory learns, over the same use cases as the API.

README.md beside this file says how a page is added.
"""

from fastapi import APIRouter

from server.dashboard import (
    assets,
    candidates,
    constraints,
    contradictions,
    fallback,
    jobs,
    keys,
    login,
    memories,
    namespaces,
    one_memory,
    overview,
    playground,
    receipts,
    time_travel,
)

# The fallback takes every path that none before it has taken, so it stands last.
PAGES: tuple[APIRouter, ...] = (
    assets.router,
    login.router,
    overview.router,
    memories.router,
    one_memory.router,
    time_travel.router,
    playground.router,
    receipts.router,
    candidates.router,
    constraints.router,
    contradictions.router,
    jobs.router,
    keys.router,
    namespaces.router,
    fallback.router,
)
