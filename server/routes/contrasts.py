"""Contrasts: hold runs of a task against each other, and see what became of it."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import contrasting
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Reads, Remembers
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.contrasts import ContrastIn, ContrastOut, ContrastQuery, ContrastsOut

router = router_at(f"{INSIDE}/contrasts", "contrasts")


@router.post(
    "", status_code=201, response_model=ContrastsOut, responses={200: {"model": ContrastsOut}}
)
async def add_contrasts(engine: EngineDep, call: Remembers, body: ContrastIn) -> Response:
    """Pair runs and distil the pairs at once, as far as the time goes; 200 where no pair is new."""
    done = await contrasting.contrast(engine, call, body.to_request())
    return answered(ContrastsOut.of(done), 201 if done.new else 200)


@router.get("", response_model=Listing[ContrastOut])
async def list_contrasts(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ContrastQuery, Query()]
) -> Response:
    """Pairs of runs, oldest first."""
    listed = await contrasting.browse(engine, call, query.to_filter(), pages.page(query))
    return pages.answered(listed, ContrastOut.of)


@router.get("/{contrast_id}", response_model=ContrastOut)
async def get_contrast(engine: EngineDep, call: Reads, contrast_id: UUID) -> Response:
    """A pair with the constraints that came of it, and what was rejected."""
    return answered(ContrastOut.of(await contrasting.get(engine, call, contrast_id)))


@router.post("/{contrast_id}/redo", response_model=ContrastOut)
async def redo_contrast(engine: EngineDep, call: Manages, contrast_id: UUID) -> Response:
    """Distil a pair again of which nothing came."""
    return answered(ContrastOut.of(await contrasting.redo(engine, call, contrast_id)))
