"""Jobs: the timetable, what has run and what it changed, a dry run, and running one now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from fastapi import Response

from memory.jobs.service import JOBS, JobRequest, job_named, list_runs, run_job
from memory.kernel.errors import NotFound, Rejected
from memory.kernel.postgres.leadership import JobRun
from memory.memories.service import get_memory
from memory.tenancy.entities import Clock
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.rendering import number
from server.dashboard.viewer import FormDep, Manages, Reads, Viewer, done, page

COUNTS_TOLD = 12
WORDED = 50
TOLD_APART = frozenset({"memory_id", "change", "weight_before", "weight_after"})
CHANGES_TOLD = 500
"""A dry run lists so many memories; how many there are is always said."""

router = guarded_at("/dashboard/ns/{namespace}/jobs")


@dataclass(frozen=True, slots=True)
class Change:
    """What a run did, or would do, to one memory."""

    memory_id: str | None
    said: str
    before: float | None
    after: float | None
    more: str = ""
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A run in words: its counts, and its changes one by one."""

    run: JobRun
    changes: Sequence[Change]
    n_changes: int
    counts: Mapping[str, str]


@router.get("")
async def show_jobs(viewer: Reads) -> Response:
    """The timetable and the runs, newest first."""
    runs = await list_runs(viewer.engine, viewer.call, page_of(viewer), newest_first=True)
    table = shown(viewer, runs)
    told = [told_of(run, limit=20) for run in table.rows]
    newest = viewer.call.namespace.newest_known_at
    newest_said = None if newest is None else newest.strftime("%Y-%m-%dT%H:%M")
    return page(viewer, "jobs.html", jobs=JOBS, table=table, told=told, newest=newest_said)


@router.post("/{job}/rehearsal")
async def rehearse(viewer: Manages, job: str, form: FormDep) -> Response:
    """A dry run: each memory that would change and by how much; nothing does."""
    request = JobRequest(now=_now(viewer, form), dry_run=True)
    run = await run_job(viewer.engine, viewer.call, job, request)
    told = await _worded(viewer, told_of(run))
    return page(viewer, "rehearsal.html", job=job_named(job), told=told, now=form.get("now"))


@router.post("/{job}/runs")
async def run_now(viewer: Manages, job: str, form: FormDep) -> Response:
    """Run it, unless its period has had its run."""
    run = await run_job(viewer.engine, viewer.call, job, JobRequest(now=_now(viewer, form)))
    told = told_of(run, limit=0)
    if run.started_at < viewer.now:
        return done(viewer, "/jobs", f"{job} has run in period {run.period} before: once is enough")
    return done(viewer, "/jobs", f"{job} ran for period {run.period}: {told.n_changes} changes")


def told_of(run: JobRun, limit: int = CHANGES_TOLD) -> Told:
    """A run's record as a page tells it."""
    result = run.result or {}
    changes = cast("Sequence[Mapping[str, Any]]", result.get("changes") or ())
    counts = {
        name: _counted(value)
        for name, value in list(result.items())[:COUNTS_TOLD]
        if name != "changes" and not isinstance(value, Mapping)
    }
    return Told(run, [_change(one) for one in changes[:limit]], len(changes), counts)


def _counted(value: object) -> str:
    """A count as it is, a list as how many it has."""
    if isinstance(value, list):
        return number(len(cast("list[object]", value)))
    return number(value) if isinstance(value, int | float) else str(value)


def _change(change: Mapping[str, Any]) -> Change:
    memory_id = change.get("memory_id")
    rest = {name: value for name, value in change.items() if name not in TOLD_APART}
    return Change(
        memory_id=None if memory_id is None else str(memory_id),
        said=str(change.get("change") or "changes"),
        before=change.get("weight_before"),
        after=change.get("weight_after"),
        more=", ".join(f"{name.replace('_', ' ')} {value}" for name, value in rest.items()),
    )


async def _worded(viewer: Viewer, told: Told) -> Told:
    """With the words of the first memories, so that people need not know them by id."""
    changes = [
        replace(change, words=await _words(viewer, change)) for change in told.changes[:WORDED]
    ]
    return replace(told, changes=[*changes, *told.changes[WORDED:]])


async def _words(viewer: Viewer, change: Change) -> str | None:
    if change.memory_id is None:
        return None
    try:
        memory = await get_memory(viewer.engine, viewer.call, UUID(change.memory_id))
    except NotFound:
        return None
    return memory.lesson


def _now(viewer: Viewer, form: Form) -> datetime | None:
    """When a run is about: callers say it where the clock is theirs."""
    given = form.given("now")
    if given is None or viewer.call.namespace.clock is Clock.WALL:
        return None
    try:
        return datetime.fromisoformat(given if given.endswith("Z") else f"{given}+00:00")
    except ValueError as fault:
        raise Rejected("now is no time; write it as 2026-03-01T12:00", field="now") from fault
