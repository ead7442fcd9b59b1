"""The health of learning: whether it is fed, moves, and carries a signal."""

from typing import Annotated

from fastapi import Query, Response

from memory.insight import service as flow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.hygiene import HealthOut

router = router_at(INSIDE, "health of learning")


@router.get("/health", response_model=HealthOut)
async def get_health(engine: EngineDep, call: Reads) -> Response:
    """The health of learning now."""
    return answered(HealthOut.of(await flow.get_health(engine, call)))


@router.get("/health/history", response_model=Listing[HealthOut])
async def list_health(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """How it was: one sample a day, kept 400 days."""
    samples = await flow.list_health(engine, call, pages.page(query))
    return pages.answered(samples, HealthOut.of)
