"""Contradictions: pairs of constraints that cannot both be followed, listed until resolved."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import contradictions
from memory.constraints.entities import Contradiction, Resolution
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.constraints import ContradictionQuery

router = router_at(f"{INSIDE}/contradictions", "contradictions")


@router.get("", response_model=Listing[Contradiction])
async def list_contradictions(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ContradictionQuery, Query()]
) -> Response:
    """Browse contradictions, oldest first; the open ones unless asked otherwise."""
    page = pages.page(query)
    listed = await contradictions.list_contradictions(engine, call, query.wanted_state, page)
    return pages.page_of(Contradiction, listed)


@router.get("/{contradiction_id}", response_model=Contradiction)
async def get_contradiction(engine: EngineDep, call: Reads, contradiction_id: UUID) -> Response:
    """A contradiction as it stands."""
    return answered(await contradictions.get_contradiction(engine, call, contradiction_id))


@router.post("/{contradiction_id}/resolve", response_model=Contradiction)
async def resolve_contradiction(
    engine: EngineDep, call: Manages, contradiction_id: UUID, body: Resolution
) -> Response:
    """Decide which of the two stays in use: the first, the second, both or neither."""
    return answered(
        await contradictions.resolve_contradiction(engine, call, contradiction_id, body)
    )
