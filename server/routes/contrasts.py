"""Contrasts: compare runs of a task with each other, and see what became of it."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import service
from memory.constraints.contrast_entities import Contrast, ContrastRequest, Contrasts
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Reads, Remembers
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.trajectories import ContrastQuery

router = router_at(f"{INSIDE}/contrasts", "contrasts")


@router.post("", status_code=201, response_model=Contrasts, responses={200: {"model": Contrasts}})
async def add_contrasts(engine: EngineDep, call: Remembers, body: ContrastRequest) -> Response:
    """Pair runs and distil the pairs at once, as far as the time goes; 200 where no pair is new."""
    contrasts = await service.contrast_runs(engine, call, body)
    return answered(contrasts, 201 if contrasts.new else 200)


@router.get("", response_model=Listing[Contrast])
async def list_contrasts(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ContrastQuery, Query()]
) -> Response:
    """Pairs of runs, oldest first."""
    listed = await service.list_contrasts(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Contrast, listed)


@router.get("/{contrast_id}", response_model=Contrast)
async def get_contrast(engine: EngineDep, call: Reads, contrast_id: UUID) -> Response:
    """A pair with the constraints that came of it, and what was rejected."""
    return answered(await service.get_contrast(engine, call, contrast_id))


@router.post("/{contrast_id}/redo", response_model=Contrast)
async def redo_contrast(engine: EngineDep, call: Manages, contrast_id: UUID) -> Response:
    """Distil a pair again of which nothing came."""
    return answered(await service.distil_again(engine, call, contrast_id))
