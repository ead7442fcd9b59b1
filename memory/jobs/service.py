"""Jobs run once a period, whatever number of processes ask; a dry run says what would change.

A run: plan with a model, if the job does → claim the period, work and finish, in one transaction →
follow up with a model, if the job does.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from memory.constraints.distillation_queue import distil_queue
from memory.constraints.relabelling import RELABEL, relabel
from memory.constraints.service import can_distil, pair_new_runs
from memory.experiences.merging import NAME as MERGE
from memory.experiences.merging import merge_twins
from memory.inference.store import ModelStore
from memory.insight.health import sample_health
from memory.insight.history import REBUILD, verify_rebuild
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, NotFound, Overloaded, Unavailable
from memory.kernel.fields import INPUT, Flag, Moment
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.compatibility import Check, ServerStore
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import JobRun, Leadership, RunDraft, WorkStore
from memory.memories.decay import fade
from memory.meta_guidelines.admission import write
from memory.meta_guidelines.reflection import REFLECT
from memory.meta_guidelines.reflection import plan as plan_reflection
from memory.tenancy.entities import Act, AuditEvent, Call, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.acquisition import queue, work_off
from memory.verification.ticket_expiry import expire_tickets


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A run of a job by hand."""

    __pydantic_config__ = INPUT

    now: Moment | None = None
    """When it is about: required in `replay` namespaces, refused in `wall` ones."""
    dry_run: Flag = False
    """Whether to say only what would change."""


log = logging.getLogger(__name__)


class WorkResult(Protocol):
    """What a run did, or would do, as its record has it."""

    def result(self) -> Mapping[str, object]: ...


Work = Callable[..., Awaitable[WorkResult]]


When = tuple[datetime, datetime]


Plan = Callable[[Engine, Namespace, When], Awaitable[object]]


FollowUp = Callable[[Engine, Namespace, datetime, Leadership | None], Awaitable[None]]


BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
"""Periods are counted from this Monday's midnight: so days are those of the calendar."""


@dataclass(frozen=True, slots=True)
class Job:
    """A line of the timetable: it runs once in each period, which is `every` long.

    `work` is done in the transaction of the run; what needs a model cannot be. `plan` comes before
    it, with no transaction open, and `work` gets its result. `follow_up` comes when the run is
    committed, and again until nothing of it is left.
    """

    name: str
    every: timedelta
    description: str
    work: Work
    plan: Plan | None = None
    follow_up: FollowUp | None = None

    def period(self, now: datetime) -> str:
        """Which run `now` belongs to: computed from the calendar, never from ticks. The day where
        periods are days, else when the period began.
        """
        began = BEGINNING + (now - BEGINNING) // self.every * self.every
        if self.every % timedelta(days=1):
            return began.isoformat()
        return began.date().isoformat()


JOBS = (
    Job(
        "decay",
        timedelta(days=1),
        "Writes down the age of beliefs, retires what fell, reports what faded.",
        fade,
    ),
    Job(
        "acquire",
        timedelta(days=1),
        "Makes candidates of the worst outcomes; each is verified before it is used.",
        queue,
        follow_up=work_off,
    ),
    Job(
        "contrast",
        timedelta(days=1),
        "Pairs new runs of a task; a language model makes constraints of what separates them.",
        pair_new_runs,
        plan=can_distil,
        follow_up=distil_queue,
    ),
    Job(
        "tickets",
        timedelta(days=1),
        "Frees lapsed leases, puts on probation what nobody verified, ends probations.",
        expire_tickets,
    ),
    Job(
        REFLECT,
        timedelta(days=1),
        "Makes a meta-guideline of each task that memory made worse, and merges what is alike.",
        write,
        plan=plan_reflection,
    ),
    Job(
        MERGE,
        timedelta(days=1),
        "Merges near-twins among memories that changed since the last run, with their evidence.",
        merge_twins,
    ),
    Job(
        RELABEL,
        timedelta(days=1),
        "Routes what lies in no category of the taxonomy anew, and moves what is clear.",
        relabel,
    ),
    Job(
        "health",
        timedelta(days=1),
        "Takes a sample of the health of learning, for trends; changes no memory.",
        sample_health,
    ),
    Job(
        REBUILD,
        timedelta(days=1),
        "Folds the whole ledger and compares it with the live states, bit for bit.",
        verify_rebuild,
    ),
)


@dataclass(frozen=True, slots=True)
class Times:
    """When a run is about, and when it happens by the server's clock."""

    now: datetime
    recorded_at: datetime

    @property
    def both(self) -> When:
        return self.now, self.recorded_at


async def run_job(engine: Engine, call: Call, name: str, request: JobRequest) -> JobRun:
    """Run a job for this namespace now, unless its period has had its run: then that run."""
    call.key.require(Act.MANAGE)
    job = job_named(name)
    times = Times(call.namespace.known_at(request.now, call.now, "now"), call.now)
    if request.dry_run:
        return await _dry_run(engine, call.namespace, job, times)
    run = await _run_by_hand(engine, call, job, times)
    await _follow_up(engine, call.namespace, job, call.now)
    return run


async def _follow_up(
    engine: Engine,
    namespace: Namespace,
    job: Job,
    now: datetime,
    leadership: Leadership | None = None,
) -> None:
    """What the job leaves to be done with a model; while that is away it waits, and so does no
    other namespace.
    """
    if job.follow_up is None:
        return
    try:
        await job.follow_up(engine, namespace, now, leadership)
    except (Unavailable, Overloaded) as fault:
        log.warning("job %s of %s paused: %s", job.name, namespace.slug, fault.detail)


async def _run_by_hand(engine: Engine, call: Call, job: Job, times: Times) -> JobRun:
    job = await _plan_if_due(engine, call.namespace, job, times)
    async with engine.database.transaction(call.namespace.id) as connection:
        draft = RunDraft(
            job.name, call.namespace.id, job.period(times.now), times.now, call.key.id, None
        )
        done = await _run_once(connection, call.namespace, job, draft=draft, times=times)
        if done is not None:
            event = AuditEvent(f"job.{job.name}", str(done.id), {"period": done.period})
            await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
            return done
        known = await WorkStore(connection).run_of(job.name, call.namespace.id, draft.period)
    if known is None:
        raise Conflict("the run of this period is under way", code="job_running", retry_after=1)
    return known


async def run_due(
    engine: Engine,
    namespace: Namespace,
    now: datetime,
    leadership: Leadership,
    *,
    jobs: Sequence[Job] = JOBS,
) -> list[JobRun]:
    """Each of these jobs of this namespace whose period has had no run; for the leader."""
    done: list[JobRun] = []
    times = Times(now, now)
    for job in jobs:
        ready = await _plan_if_due(engine, namespace, job, times)
        async with engine.database.transaction(namespace.id) as connection:
            await WorkStore(connection).guard(leadership)
            draft = RunDraft(job.name, namespace.id, job.period(now), now, None, leadership.epoch)
            run = await _run_once(connection, namespace, ready, draft=draft, times=times)
            if run is not None:
                done.append(run)
        await _follow_up(engine, namespace, job, now, leadership)
    return done


async def follow_up_on_runs(
    engine: Engine,
    namespace: Namespace,
    now: datetime,
    leadership: Leadership,
    *,
    jobs: Sequence[Job] = JOBS,
) -> None:
    """What runs of these jobs left to be done with a model, as far as it can be done now."""
    for job in jobs:
        await _follow_up(engine, namespace, job, now, leadership)


async def list_runs(
    engine: Engine, call: Call, page: Page, *, newest_first: bool = False
) -> Listed[JobRun]:
    """Oldest first, unless asked otherwise."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = WorkStore(connection)
        return await store.runs(call.namespace.id, page, newest_first=newest_first)


def job_named(name: str) -> Job:
    found = next((job for job in JOBS if job.name == name), None)
    if found is None:
        raise NotFound(f"no job called {name}", code="job_not_found", field="job")
    return found


async def _plan_if_due(engine: Engine, namespace: Namespace, job: Job, times: Times) -> Job:
    """The job with its plan, unless this period has had its run: then nothing is planned."""
    if job.plan is None:
        return job
    async with engine.database.transaction(namespace.id) as connection:
        period = job.period(times.now)
        if await WorkStore(connection).run_of(job.name, namespace.id, period) is not None:
            return job
    return await _plan(engine, namespace, job, times)


async def _plan(engine: Engine, namespace: Namespace, job: Job, times: Times) -> Job:
    if job.plan is None:
        return job
    return replace(job, work=partial(job.work, plan=await job.plan(engine, namespace, times.both)))


async def _run_once(
    connection: Connection, namespace: Namespace, job: Job, *, draft: RunDraft, times: Times
) -> JobRun | None:
    """Claim, work and finish in one transaction: a run that dies leaves neither trace nor
    effect.
    """
    store = WorkStore(connection)
    run_id = await store.claim(draft, times.recorded_at)
    if run_id is None:
        return None
    done = await job.work(connection, namespace, times.both, dry=False)
    return await store.finish(run_id, done.result(), times.recorded_at)


async def _dry_run(engine: Engine, namespace: Namespace, job: Job, times: Times) -> JobRun:
    job = await _plan(engine, namespace, job, times)
    async with engine.database.transaction(namespace.id) as connection:
        foreseen = await job.work(connection, namespace, times.both, dry=True)
    return JobRun(
        id=new_id(),
        job=job.name,
        period=job.period(times.now),
        dry_run=True,
        state="done",
        now=times.now,
        started_at=times.recorded_at,
        finished_at=times.recorded_at,
        result=foreseen.result(),
    )


SILENCE = timedelta(seconds=30)
"""A leader that has not been heard for this long is missing."""


async def readiness(engine: Engine, now: datetime) -> dict[str, Check]:
    """The server checks by name; the server is ready when all are ok."""
    checks = {"embedder": _check_embedder(engine)}
    try:
        async with engine.database.login() as connection:
            server = ServerStore(connection)
            checks["database"] = Check(ok=True, detail="reachable")
            checks["migrations"] = await server.migrations()
            if not checks["migrations"].ok:
                return checks
            checks["role"] = await server.role()
        checks |= await _check_inside(engine, now)
    except MemoryFault as fault:
        checks["database"] = Check(ok=False, detail=fault.detail)
    return checks


def _check_embedder(engine: Engine) -> Check:
    if engine.registered is None:
        return Check(ok=False, detail=engine.failure or "the embedding model is loading")
    return Check(ok=True, detail=engine.registered.identity.name)


async def _check_inside(engine: Engine, now: datetime) -> dict[str, Check]:
    async with engine.database.transaction() as connection:
        beat = await WorkStore(connection).last_beat()
        others: list[tuple[str, str]] = []
        if engine.registered is not None:
            others = await ModelStore(connection).others(engine.registered.id)
    led = beat is not None and now - beat[1] <= SILENCE
    leader = Check(ok=led, detail=f"led by {beat[0]}" if beat and led else "no process leads")
    model = Check(ok=not others, detail="one model")
    if others:
        names = ", ".join(f"{slug} ({name})" for slug, name in others[:5])
        model = Check(ok=False, detail=f"vectors of another model in: {names}")
    return {"leader": leader, "model": model}


async def forget_old(engine: Engine, now: datetime) -> None:
    """Drop idempotency answers after 24 hours and job runs after 90 days."""
    async with engine.database.transaction() as connection:
        await CallStore(connection).forget(now)
        await WorkStore(connection).forget(now)


async def namespaces(engine: Engine) -> tuple[Namespace, ...]:
    """All namespaces: work visits them one by one, each inside its own transaction."""
    async with engine.database.transaction() as connection:
        return await NamespaceStore(connection).all()
