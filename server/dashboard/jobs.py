"""Jobs: the timetable, what has run and what it changed, a dry run, and running one now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, cast
from uuid import UUID

from fastapi import Response

from memory.jobs.attempts import list_failing
from memory.jobs.service import JOBS, JobRequest, job_named, list_runs, run_job
from memory.jobs.stopping import find_last_run, stop_run
from memory.kernel.errors import NotFound, Rejected
from memory.kernel.postgres.leadership import STOPPED, JobRun
from memory.memories.service import get_memory
from memory.tenancy.entities import Clock
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import TIME, heading, order_in_time, page_of, shown
from server.dashboard.live import pulse_of
from server.dashboard.rendering import number
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, done, page

MAX_COUNTS = 16
MAX_WORDED = 50
OWN_COLUMNS = frozenset({"memory_id", "change", "weight_before", "weight_after"})
MAX_CHANGES = 500
"""A dry run lists so many memories; how many there are is always shown."""

router = guarded_at("/dashboard/ns/{namespace}/jobs")


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """What a run did, or would do, to one memory."""

    memory_id: str | None
    effect: str
    before: float | None
    after: float | None
    more: str = ""
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come that goes on in parts; in rows."""

    done: int
    planned: int
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as a page shows it: its counts, and its changes one by one."""

    run: JobRun
    changes: Sequence[ReportedChange]
    n_changes: int
    counts: Mapping[str, str]
    progress: Progress | None = None


@router.get("")
async def show_jobs(viewer: Reads) -> Response:
    """The timetable and the runs, newest first."""
    order = order_in_time(viewer)
    fetch = partial(list_runs, viewer.engine, viewer.call, newest_first=order.descending)
    if wants_file(viewer):
        return await file_of(viewer, "job-runs", fetch)
    table = shown(viewer, await fetch(page_of(viewer)), files=True)
    last = await find_last_run(viewer.engine, viewer.call)
    views = [_with_progress(view_of(run, limit=20), last) for run in table.rows]
    failing = await list_failing(viewer.engine, viewer.call)
    newest = viewer.call.namespace.newest_known_at
    newest_text = None if newest is None else newest.strftime("%Y-%m-%dT%H:%M")
    return page(
        viewer,
        "jobs.html",
        jobs=JOBS,
        failing=failing,
        table=table,
        pulse=await pulse_of(viewer),
        started=heading(viewer, order, TIME),
        views=views,
        newest=newest_text,
    )


@router.post("/{job}/dry-run")
async def dry_run(viewer: Manages, job: str, form: FormDep) -> Response:
    """A dry run: each memory that would change and by how much; nothing does."""
    request = JobRequest(now=_now(viewer, form), dry_run=True)
    run = await run_job(viewer.engine, viewer.call, job, request)
    view = await _with_words(viewer, view_of(run))
    return page(viewer, "dry_run.html", job=job_named(job), view=view, now=form.get("now"))


@router.post("/{job}/runs")
async def run_now(viewer: Manages, job: str, form: FormDep) -> Response:
    """Run it, whatever ran before."""
    run = await run_job(viewer.engine, viewer.call, job, JobRequest(now=_now(viewer, form)))
    return done(viewer, "/jobs", f"{job} ran for period {run.period}: {_said(run)}")


@router.post("/runs/{run_id}/stop")
async def stop(viewer: Manages, run_id: UUID) -> Response:
    """Stop a run that works in parts, after the part under way."""
    run = await stop_run(viewer.engine, viewer.call, run_id)
    return done(viewer, "/jobs", f"{run.job} is stopped. {_said(run)}.")


def _said(run: JobRun) -> str:
    """What a run came to, in a few words."""
    result = cast("Mapping[str, Any]", run.result or {})
    if "rows_removed" not in result:
        return f"{view_of(run, limit=0).n_changes} changes"
    removed, found = result["rows_removed"], result["rows_to_remove"]
    left = "the next run removes the rest" if STOPPED in result else "run it again for the rest"
    rest = "" if result["complete"] else f"; {left}"
    return f"{number(removed)} of {number(found)} old rows removed{rest}"


def view_of(run: JobRun, limit: int = MAX_CHANGES) -> RunView:
    """A run's record as a page shows it."""
    result = run.result or {}
    changes = cast("Sequence[Mapping[str, Any]]", result.get("changes") or ())
    counts = {
        name: _counted(value)
        for name, value in list(result.items())[:MAX_COUNTS]
        if name != "changes" and not isinstance(value, Mapping)
    }
    return RunView(run, [_change(one) for one in changes[:limit]], len(changes), counts)


def _with_progress(view: RunView, last: UUID | None) -> RunView:
    """How far the run is, where it is the last that goes on in parts and something is left."""
    result = cast("Mapping[str, Any]", view.run.result or {})
    if view.run.id != last or result.get("complete") is not False:
        return view
    removed, planned = result.get("rows_removed", 0), result.get("rows_to_remove", 0)
    progress = Progress(removed, max(planned, removed), STOPPED in result)
    return replace(view, progress=progress)


def _counted(value: object) -> str:
    """A count as it is, a list as how many it has."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return number(len(cast("list[object]", value)))
    return number(value) if isinstance(value, int | float) else str(value)


def _change(change: Mapping[str, Any]) -> ReportedChange:
    memory_id = change.get("memory_id")
    rest = {name: value for name, value in change.items() if name not in OWN_COLUMNS}
    return ReportedChange(
        memory_id=None if memory_id is None else str(memory_id),
        effect=str(change.get("change") or "changes"),
        before=change.get("weight_before"),
        after=change.get("weight_after"),
        more=", ".join(f"{name.replace('_', ' ')} {value}" for name, value in rest.items()),
    )


async def _with_words(viewer: PageViewer, view: RunView) -> RunView:
    """With the words of the first memories, so that people need not know them by id."""
    changes = [
        replace(change, words=await _lesson_of(viewer, change))
        for change in view.changes[:MAX_WORDED]
    ]
    return replace(view, changes=[*changes, *view.changes[MAX_WORDED:]])


async def _lesson_of(viewer: PageViewer, change: ReportedChange) -> str | None:
    if change.memory_id is None:
        return None
    try:
        memory = await get_memory(viewer.engine, viewer.call, UUID(change.memory_id))
    except NotFound:
        return None
    return memory.lesson


def _now(viewer: PageViewer, form: Form) -> datetime | None:
    """When a run is about: callers choose it where the clock is theirs."""
    text = form.given("now")
    if text is None or viewer.call.namespace.clock is Clock.WALL:
        return None
    try:
        return datetime.fromisoformat(text if text.endswith("Z") else f"{text}+00:00")
    except ValueError as fault:
        raise Rejected("now is no time; write it as 2026-03-01T12:00", field="now") from fault
