"""Trajectories: runs of tasks, kept so that agents can be compared with each other; and what they
say of who ran.
"""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import competence, service
from memory.constraints.trajectory_entities import (
    AddedTrajectory,
    Competence,
    Trajectory,
    TrajectoryDraft,
    TrajectorySummary,
)
from memory.kernel.errors import MemoryFault
from server.answers import Batch, BatchDep, PagesDep, answered, only, rejoined
from server.dependencies import EngineDep, Reads, Remembers
from server.errors import status_of
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.trajectories import (
    AddedTrajectories,
    AddedTrajectoryItem,
    CompetenceQuery,
    TrajectoryBatch,
    TrajectoryQuery,
)

router = router_at(INSIDE, "trajectories")


@router.post("/trajectories", status_code=201, response_model=AddedTrajectory)
async def add_trajectory(engine: EngineDep, call: Remembers, body: TrajectoryDraft) -> Response:
    """Keep a run of a task."""
    return answered(only(await service.add_trajectories(engine, call, [body])), 201)


@router.post("/trajectories/batch", status_code=207, response_model=AddedTrajectories)
async def add_trajectories(
    engine: EngineDep, call: Remembers, batch: BatchDep, body: TrajectoryBatch
) -> Response:
    """Keep many; each item has its own status."""
    drafts: list[TrajectoryDraft | MemoryFault] = [*body.items]
    good = [draft for draft in drafts if isinstance(draft, TrajectoryDraft)]
    results = rejoined(
        body.items, await service.add_trajectories(engine, call, good) if good else []
    )
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(AddedTrajectories(items=items), (item.status for item in items))


def _item(batch: Batch, index: int, result: service.AddedOrFault) -> AddedTrajectoryItem:
    if isinstance(result, MemoryFault):
        problem = batch.problem(result)
        return AddedTrajectoryItem(index=index, status=status_of(result), problem=problem)
    return AddedTrajectoryItem(
        index=index,
        status=201,
        id=result.id,
        task_id=result.task_id,
        category=result.category,
        subcategory=result.subcategory,
        right=result.right,
    )


@router.get("/trajectories", response_model=Listing[TrajectorySummary])
async def list_trajectories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[TrajectoryQuery, Query()]
) -> Response:
    """Runs, oldest first, without their words."""
    listed = await service.list_trajectories(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(TrajectorySummary, listed)


@router.get("/trajectories/{trajectory_id}", response_model=Trajectory)
async def get_trajectory(engine: EngineDep, call: Reads, trajectory_id: UUID) -> Response:
    """A run with its words."""
    return answered(await service.get_trajectory(engine, call, trajectory_id))


@router.get("/competence", response_model=Listing[Competence])
async def list_competences(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[CompetenceQuery, Query()]
) -> Response:
    """How every agent fares in every category, by its verified runs."""
    page = pages.page(query)
    return pages.page_of(
        Competence, await competence.list_competences(engine, call, query.as_of, page)
    )
