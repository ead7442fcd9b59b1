"""Weights: how far each memory has earned its place, and why."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.insight import weights as flow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.learning import (
    AgentOnly,
    WeightEventOut,
    WeightOut,
    WeightQuery,
    WeightRowOut,
)

router = router_at(INSIDE, "weights")


@router.get("/experiences/{memory_id}/weight", response_model=WeightOut)
async def get_weight(
    engine: EngineDep, call: Reads, memory_id: UUID, query: Annotated[AgentOnly, Query()]
) -> Response:
    """A memory's weight, for one agent or for none in particular."""
    view = await flow.weight_of(engine, call, memory_id, query.agent_name())
    return answered(WeightOut.of(view))


@router.get("/experiences/{memory_id}/weight/events", response_model=Listing[WeightEventOut])
async def list_weight_events(
    engine: EngineDep,
    call: Reads,
    memory_id: UUID,
    pages: PagesDep,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """What moved a memory's weight."""
    events = await flow.weight_events(engine, call, memory_id, pages.page(query))
    return pages.answered(events, WeightEventOut.of)


@router.get("/weights", response_model=Listing[WeightRowOut])
async def list_weights(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[WeightQuery, Query()]
) -> Response:
    """Memories by weight."""
    rows = await flow.list_weights(engine, call, query.to_order(), pages.page(query))
    return pages.answered(rows, WeightRowOut.of)
