"""Jobs: the timetable, what has run and what it changed, a dry run, and running one now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from fastapi import Response

from memory.domain.learning import JobRequest, JobRun
from memory.domain.namespace import Clock
from memory.errors import Rejected
from memory.flows.jobs import JOBS, job_named, list_runs, run_job
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import FormDep, Manages, Reads, Viewer, done, page

COUNTS_TOLD = 12
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


@dataclass(frozen=True, slots=True)
class Told:
    """A run in words: its counts, and its changes one by one."""

    run: JobRun
    changes: Sequence[Change]
    n_changes: int
    counts: Mapping[str, object]


@router.get("")
async def show_jobs(viewer: Reads) -> Response:
    """The timetable and the runs, newest first."""
    runs = await list_runs(viewer.engine, viewer.call, page_of(viewer), newest_first=True)
    table = shown(viewer, runs)
    told = [told_of(run, limit=20) for run in table.rows]
    return page(viewer, "jobs.html", jobs=JOBS, table=table, told=told)


@router.post("/{job}/rehearsal")
async def rehearse(viewer: Manages, job: str, form: FormDep) -> Response:
    """A dry run: each memory that would change and by how much; nothing does."""
    request = JobRequest(now=_now(viewer, form), dry_run=True)
    run = await run_job(viewer.engine, viewer.call, job, request)
    now = form.get("now")
    return page(viewer, "rehearsal.html", job=job_named(job), told=told_of(run), now=now)


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
        name: value
        for name, value in result.items()
        if isinstance(value, int | float | str) or value is None
    }
    few = dict(list(counts.items())[:COUNTS_TOLD])
    return Told(run, [_change(one) for one in changes[:limit]], len(changes), few)


def _change(change: Mapping[str, Any]) -> Change:
    memory_id = change.get("memory_id")
    said = change.get("change") or change.get("reason") or "changes"
    return Change(
        memory_id=None if memory_id is None else str(memory_id),
        said=str(said),
        before=change.get("weight_before"),
        after=change.get("weight_after"),
    )


def _now(viewer: Viewer, form: Form) -> datetime | None:
    """When a run is about: callers say it where the clock is theirs."""
    given = form.given("now")
    if given is None or viewer.call.namespace.clock is Clock.WALL:
        return None
    try:
        return datetime.fromisoformat(given if given.endswith("Z") else f"{given}+00:00")
    except ValueError as fault:
        raise Rejected("now is no time; write it as 2026-03-01T12:00", field="now") from fault
