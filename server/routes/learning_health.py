"""The health of learning: whether it is fed, moves, and carries a signal."""

from typing import Annotated

from fastapi import Query, Response

from memory.insight import health
from memory.insight.entities import LearningHealth
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery

router = router_at(f"{INSIDE}/learning-health", "learning health")


@router.get("", response_model=LearningHealth)
async def get_learning_health(engine: EngineDep, call: Reads) -> Response:
    """The health of learning now."""
    return answered(await health.get_learning_health(engine, call))


@router.get("/history", response_model=Listing[LearningHealth])
async def list_learning_health(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """How it was: one sample a day, kept 400 days."""
    samples = await health.list_learning_health(engine, call, pages.page(query))
    return pages.page_of(LearningHealth, samples)
