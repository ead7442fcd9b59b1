"""Trajectories: runs of tasks, kept so that agents can be held against each other; and what they
say of who ran.
"""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import trajectories as flow
from memory.constraints.trajectory_entities import TrajectoryDraft
from memory.kernel.errors import MemoryFault
from server.answers import Batch, BatchDep, PagesDep, answered, made, only, rejoined
from server.dependencies import EngineDep, Reads, Remembers
from server.errors import status_of
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.trajectories import (
    CompetenceOut,
    CompetenceQuery,
    KeptItem,
    KeptOut,
    TrajectoriesKept,
    TrajectoryBatch,
    TrajectoryIn,
    TrajectoryLine,
    TrajectoryOut,
    TrajectoryQuery,
)

router = router_at(INSIDE, "trajectories")


@router.post("/trajectories", status_code=201, response_model=KeptOut)
async def add_trajectory(engine: EngineDep, call: Remembers, body: TrajectoryIn) -> Response:
    """Keep a run of a task."""
    return answered(KeptOut.of(only(await flow.add(engine, call, [body.to_draft()]))), 201)


@router.post("/trajectories/batch", status_code=207, response_model=TrajectoriesKept)
async def add_trajectories(
    engine: EngineDep, call: Remembers, batch: BatchDep, body: TrajectoryBatch
) -> Response:
    """Keep many; each item has its own status."""
    drafts = made(item.to_draft for item in body.items)
    good = [draft for draft in drafts if isinstance(draft, TrajectoryDraft)]
    results = rejoined(drafts, await flow.add(engine, call, good) if good else [])
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(TrajectoriesKept(items=items), (item.status for item in items))


def _item(batch: Batch, index: int, result: flow.Answer) -> KeptItem:
    if isinstance(result, MemoryFault):
        return KeptItem(index=index, status=status_of(result), problem=batch.problem(result))
    return KeptItem(index=index, status=201, **KeptOut.of(result).model_dump())


@router.get("/trajectories", response_model=Listing[TrajectoryLine])
async def list_trajectories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[TrajectoryQuery, Query()]
) -> Response:
    """Runs, oldest first, without their words."""
    listed = await flow.browse(engine, call, query.to_filter(), pages.page(query))
    return pages.answered(listed, TrajectoryLine.of)


@router.get("/trajectories/{trajectory_id}", response_model=TrajectoryOut)
async def get_trajectory(engine: EngineDep, call: Reads, trajectory_id: UUID) -> Response:
    """A run with its words."""
    return answered(TrajectoryOut.whole(await flow.get(engine, call, trajectory_id)))


@router.get("/competence", response_model=Listing[CompetenceOut])
async def list_competences(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[CompetenceQuery, Query()]
) -> Response:
    """How every agent fares in every category, by its verified runs."""
    listed = await flow.competences(engine, call, query.as_of, pages.page(query))
    return pages.answered(listed, CompetenceOut.of)
