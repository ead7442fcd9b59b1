"""Jobs run once a period, whatever number of processes ask; a dry run says what would change."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from memory.domain.access import Act, Call
from memory.domain.ids import new_id
from memory.domain.learning import JobRequest, JobRun
from memory.domain.namespace import Namespace
from memory.domain.task import Listed, Page
from memory.engine import Engine
from memory.errors import Conflict, NotFound
from memory.flows.decay import fade
from memory.flows.health import check_up
from memory.flows.merge import NAME as MERGE
from memory.flows.merge import merge
from memory.storage.calls import CallStore, Deed
from memory.storage.database import Connection
from memory.storage.work import Leadership, RunDraft, WorkStore


class Done(Protocol):
    """What a run came to, or a dry run would."""

    def result(self) -> dict[str, object]: ...


Work = Callable[..., Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Job:
    """A line of the timetable."""

    name: str
    every: timedelta
    description: str
    work: Work

    def period(self, now: datetime) -> str:
        """Which run `now` belongs to: computed from the calendar, never from ticks."""
        return now.date().isoformat()


JOBS = (
    Job(
        "decay",
        timedelta(days=1),
        "Writes down the age of beliefs, retires what fell, reports what faded.",
        fade,
    ),
    Job(
        MERGE,
        timedelta(days=1),
        "Merges near-twins among memories that changed since the last run, with their evidence.",
        merge,
    ),
    Job(
        "health",
        timedelta(days=1),
        "Takes a sample of the health of learning, for trends; changes no memory.",
        check_up,
    ),
)


@dataclass(frozen=True, slots=True)
class Times:
    """When a run is about, and when it happens by the server's clock."""

    now: datetime
    recorded_at: datetime


async def run_job(engine: Engine, call: Call, name: str, request: JobRequest) -> JobRun:
    """Run a job for this namespace now, unless its period has had its run: then that run."""
    call.key.require(Act.MANAGE)
    job = job_named(name)
    times = Times(call.namespace.known_at(request.now, call.now, "now"), call.now)
    if request.dry_run:
        return await _rehearse(engine, call.namespace, job, times)
    async with engine.database.transaction(call.namespace.id) as connection:
        draft = RunDraft(
            job.name, call.namespace.id, job.period(times.now), times.now, call.key.id, None
        )
        done = await _run_once(connection, call.namespace, job, (draft, times))
        if done is not None:
            deed = Deed(f"job.{job.name}", str(done.id), {"period": done.period})
            await CallStore(connection).note(deed, call.key.id, call.namespace.id, call.now)
            return done
        known = await WorkStore(connection).run_of(job.name, call.namespace.id, draft.period)
    if known is None:
        raise Conflict("the run of this period is under way", code="job_running", retry_after=1)
    return known


async def run_due(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership
) -> list[JobRun]:
    """Every job of this namespace whose period has had no run; for the leader."""
    done: list[JobRun] = []
    for job in JOBS:
        async with engine.database.transaction(namespace.id) as connection:
            await WorkStore(connection).guard(leadership)
            draft = RunDraft(job.name, namespace.id, job.period(now), now, None, leadership.epoch)
            run = await _run_once(connection, namespace, job, (draft, Times(now, now)))
            if run is not None:
                done.append(run)
    return done


async def list_runs(engine: Engine, call: Call, page: Page) -> Listed[JobRun]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await WorkStore(connection).runs(call.namespace.id, page)


def job_named(name: str) -> Job:
    found = next((job for job in JOBS if job.name == name), None)
    if found is None:
        raise NotFound(f"no job called {name}", code="job_not_found", field="job")
    return found


async def _run_once(
    connection: Connection, namespace: Namespace, job: Job, what: tuple[RunDraft, Times]
) -> JobRun | None:
    """Claim, work and finish in one transaction: a run that dies leaves neither trace nor
    effect.
    """
    draft, times = what
    store = WorkStore(connection)
    run_id = await store.claim(draft, times.recorded_at)
    if run_id is None:
        return None
    done = await job.work(connection, namespace, (times.now, times.recorded_at), dry=False)
    return await store.finish(run_id, done.result(), times.recorded_at)


async def _rehearse(engine: Engine, namespace: Namespace, job: Job, times: Times) -> JobRun:
    async with engine.database.transaction(namespace.id) as connection:
        seen = await job.work(connection, namespace, (times.now, times.recorded_at), dry=True)
    return JobRun(
        id=new_id(),
        job=job.name,
        period=job.period(times.now),
        dry_run=True,
        state="done",
        now=times.now,
        started_at=times.recorded_at,
        finished_at=times.recorded_at,
        result=seen.result(),
    )
