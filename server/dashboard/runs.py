"""Runs: what agents did at tasks, two of them side by side, and what came of their pair."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from fastapi import Response

from memory.constraints.contrast_entities import Contrast, ContrastFilter
from memory.constraints.entities import wording_of
from memory.constraints.service import get_trajectory, list_contrasts, list_trajectories
from memory.constraints.trajectory_entities import VERIFIERS, Trajectory, TrajectoryFilter
from memory.insight.browse import some_memories
from memory.kernel.errors import Rejected
from memory.kernel.paging import Page
from memory.tasks.service import some_tasks
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.run_difference import compare_runs
from server.dashboard.viewer import PageViewer, Reads, page

router = guarded_at("/dashboard/ns/{namespace}/runs")
SIBLINGS = Page(50)
PAIRS = Page(200)


@router.get("")
async def show_runs(viewer: Reads) -> Response:
    """Runs, newest first."""
    asked = viewer.request.query_params
    wanted = TrajectoryFilter(
        agent=asked.get("agent") or None,
        category=asked.get("category") or None,
        verifier=asked.get("verifier") or None,
        newest_first=True,
    )
    listed = await list_trajectories(viewer.engine, viewer.call, wanted, page_of(viewer))
    tasks = await some_tasks(viewer.engine, viewer.call, {run.task_id for run in listed.items})
    return page(
        viewer,
        "runs.html",
        table=shown(viewer, listed),
        tasks=tasks,
        wanted=wanted,
        verifiers=VERIFIERS,
    )


@router.get("/{trajectory_id}")
async def show_run(viewer: Reads, trajectory_id: UUID) -> Response:
    """One run with its words, and the other runs of its task to compare it with."""
    run = await get_trajectory(viewer.engine, viewer.call, trajectory_id)
    wanted = TrajectoryFilter(task_id=run.task_id, newest_first=True)
    siblings = await list_trajectories(viewer.engine, viewer.call, wanted, SIBLINGS)
    tasks = await some_tasks(viewer.engine, viewer.call, {run.task_id})
    return page(
        viewer,
        "run.html",
        run=run,
        task=tasks.get(run.task_id),
        others=[one for one in siblings.items if one.id != run.id],
        total=siblings.total - 1,
        pairs=await _pairs_of(viewer, run),
    )


@router.get("/{trajectory_id}/compared/{other_id}")
async def compare(viewer: Reads, trajectory_id: UUID, other_id: UUID) -> Response:
    """Two runs of one task, the first named on the left; their pair and what it taught."""
    left = await get_trajectory(viewer.engine, viewer.call, trajectory_id)
    right = await get_trajectory(viewer.engine, viewer.call, other_id)
    if left.task_id != right.task_id or left.id == right.id:
        raise Rejected("only two runs of one task are compared", field="other_id")
    tasks = await some_tasks(viewer.engine, viewer.call, {left.task_id})
    pair = (await _pairs_of(viewer, left)).get(right.id)
    memories = await some_memories(viewer.engine, viewer.call, pair.memory_ids if pair else ())
    return page(
        viewer,
        "run_difference.html",
        runs=(left, right),
        task=tasks.get(left.task_id),
        difference=await asyncio.to_thread(compare_runs, left, right),
        pair=pair,
        constraints=[(one, wording_of(one.detail)) for one in memories],
    )


async def _pairs_of(viewer: PageViewer, run: Trajectory) -> dict[UUID, Contrast]:
    """The pairs of a run, by the other run."""
    wanted = ContrastFilter(task_id=run.task_id)
    listed = await list_contrasts(viewer.engine, viewer.call, wanted, PAIRS)
    return dict(_others(listed.items, run.id))


def _others(pairs: Sequence[Contrast], run_id: UUID) -> Sequence[tuple[UUID, Contrast]]:
    sides = [((pair.preferred_id, pair.unpreferred_id), pair) for pair in pairs]
    return [
        (first if second == run_id else second, pair)
        for (first, second), pair in sides
        if run_id in (first, second)
    ]
