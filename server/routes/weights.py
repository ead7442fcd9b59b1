"""Weights: how far each memory has earned its place, and why."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.belief.entities import WeightEvent
from memory.insight import service as insight
from memory.insight.entities import Weight, WeightRow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.learning import AgentOnly, WeightQuery

router = router_at(INSIDE, "weights")


@router.get("/experiences/{memory_id}/weight", response_model=Weight)
async def get_weight(
    engine: EngineDep, call: Reads, memory_id: UUID, query: Annotated[AgentOnly, Query()]
) -> Response:
    """A memory's weight, for one agent or for none in particular."""
    return answered(await insight.get_weight(engine, call, memory_id, query.agent_name()))


@router.get("/experiences/{memory_id}/weight/events", response_model=Listing[WeightEvent])
async def list_weight_events(
    engine: EngineDep,
    call: Reads,
    memory_id: UUID,
    pages: PagesDep,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """What moved a memory's weight."""
    events = await insight.list_weight_events(engine, call, memory_id, pages.page(query))
    return pages.page_of(WeightEvent, events)


@router.get("/weights", response_model=Listing[WeightRow])
async def list_weights(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[WeightQuery, Query()]
) -> Response:
    """Memories by weight."""
    rows = await insight.list_weights(engine, call, query.to_order(), pages.page(query))
    return pages.page_of(WeightRow, rows)
