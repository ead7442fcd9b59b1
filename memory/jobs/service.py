"""The timetable runs a job once a period, whatever number of processes ask; a run by hand is one of
its own, and runs whenever it is asked for. A dry run says what would change.

A run: plan with a model, if the job does → claim it, work and finish, in one transaction → follow
up with a model, if the job does. Runs of a job in a namespace follow one another.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from memory.constraints.check_admission import CHECKS, admit_checks, plan_checks
from memory.constraints.distillation_queue import distil_queue
from memory.constraints.relabelling import RELABEL, relabel
from memory.constraints.service import can_distil, pair_new_runs
from memory.experiences.merging import NAME as MERGE
from memory.experiences.merging import judge_alike, merge_twins
from memory.insight.health import sample_health
from memory.insight.history import REBUILD, verify_rebuild
from memory.jobs.attempts import Attempts
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, NotFound, Overloaded, Unavailable
from memory.kernel.fields import INPUT, Flag, Moment
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import (
    JobRun,
    Leadership,
    RunDraft,
    WorkStore,
    led_transaction,
)
from memory.kernel.turns import Turn, TurnClass, taking_turn
from memory.llm.client import noting_stops
from memory.memories.decay import fade
from memory.memories.service import hide_private
from memory.meta_guidelines.admission import write_plan
from memory.meta_guidelines.reflection import REFLECT, has_fresh_harm, plan_reflection
from memory.retention.service import RETENTION, foresee, remove_old
from memory.tenancy.entities import Act, AuditEvent, Call, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.acquisition import has_fresh_outcomes, queue
from memory.verification.changesets import (
    REVISE,
    has_fresh_failures,
    plan_changesets,
    queue_changesets,
    write_changesets,
)
from memory.verification.repairing import draw_lessons
from memory.verification.ticket_expiry import expire_tickets


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A run of a job by hand."""

    __pydantic_config__ = INPUT

    now: Moment | None = None
    """When it is about: required in `replay` namespaces, refused in `wall` ones."""
    dry_run: Flag = False
    """Whether to say only what would change."""


class WorkResult(Protocol):
    """What a run did, or would do, as its record has it."""

    def result(self) -> Mapping[str, object]: ...


Work = Callable[..., Awaitable[WorkResult]]


When = tuple[datetime, datetime]


Plan = Callable[[Engine, Namespace, When], Awaitable[object]]


FollowUp = Callable[[Engine, Namespace, datetime, Leadership | None], Awaitable[None]]


HasWork = Callable[[Connection, Namespace], Awaitable[bool]]


BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
"""Periods are counted from this Monday's midnight: so days are those of the calendar."""


@dataclass(frozen=True, slots=True)
class Job:
    """A line of the timetable: that runs it once in each period, which is `every` long.

    `work` is done in the transaction of the run; what needs a model cannot be. `plan` comes before
    it, with no transaction open, and `work` gets its result. `follow_up` comes when the run is
    committed, and again until nothing of it is left. `has_work` says whether outcomes have come
    that the job learns from: then it runs between its periods as well.
    """

    name: str
    every: timedelta
    description: str
    work: Work
    plan: Plan | None = None
    follow_up: FollowUp | None = None
    has_work: HasWork | None = None
    stops: tuple[MemoryFault, ...] = ()
    """Why its plan did not ask the language model, for each question that was not asked."""

    def told(self, done: WorkResult) -> Mapping[str, object]:
        """What a run came to, and what it went without."""
        unasked: dict[str, object] = {}
        for kind in dict.fromkeys(stop.kind for stop in self.stops):
            details = [stop.detail for stop in self.stops if stop.kind == kind]
            unasked[kind] = {"questions": len(details), "first": details[0]}
        return {**done.result(), **unasked}

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
        follow_up=draw_lessons,
        has_work=has_fresh_outcomes,
    ),
    Job(
        REVISE,
        timedelta(days=1),
        "Finds failures that are alike; a language model proposes changes, which are tried.",
        queue_changesets,
        plan=plan_changesets,
        follow_up=write_changesets,
        has_work=has_fresh_failures,
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
        CHECKS,
        timedelta(days=1),
        "Tries observable checks on new runs; what separates success from failure is admitted.",
        admit_checks,
        plan=plan_checks,
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
        write_plan,
        plan=plan_reflection,
        has_work=has_fresh_harm,
    ),
    Job(
        MERGE,
        timedelta(days=1),
        "Merges near-twins among memories that changed since the last run, with their evidence.",
        merge_twins,
        plan=judge_alike,
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
    Job(
        RETENTION,
        timedelta(days=1),
        "Removes receipts and outcomes that are older than the namespace keeps; what they taught"
        " stays.",
        foresee,
        follow_up=remove_old,
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
    """Run a job for this namespace now, whatever ran before."""
    call.key.require(Act.MANAGE)
    job = job_named(name)
    times = Times(call.namespace.known_at(request.now, call.now, "now"), call.now)
    with taking_turn(Turn(call.namespace.id, TurnClass.JOB)):
        if request.dry_run:
            run = await _dry_run(engine, call.namespace, job, times)
        else:
            run = await _run_by_hand(engine, call, job, times)
            with suppress(Unavailable, Overloaded):
                await _follow_up(engine, call.namespace, job, call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        if job.follow_up is not None and not request.dry_run:
            run = await WorkStore(connection).get_run(run.id)
        return await hide_private(connection, call, run)


async def _follow_up(
    engine: Engine,
    namespace: Namespace,
    job: Job,
    now: datetime,
    leadership: Leadership | None = None,
) -> None:
    """What the job leaves to be done with a model; while that is away it waits."""
    if job.follow_up is not None:
        await job.follow_up(engine, namespace, now, leadership)


async def _run_by_hand(engine: Engine, call: Call, job: Job, times: Times) -> JobRun:
    draft = RunDraft(
        job.name, call.namespace.id, job.period(times.now), times.now, call.key.id, None
    )
    try:
        ready = await _plan(engine, call.namespace, job, times)
        async with engine.database.transaction(call.namespace.id) as connection:
            done = await _run_once(connection, call.namespace, ready, draft=draft, times=times)
            assert done is not None
            event = AuditEvent(f"job.{job.name}", str(done.id), {"period": done.period})
            await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    except MemoryFault:
        raise
    except Exception as fault:
        await Attempts(engine, call.namespace, None).fail(draft, fault)
        raise
    engine.jobs.runs[job.name, "done"] += 1
    return done


async def run_due(
    engine: Engine,
    namespace: Namespace,
    now: datetime,
    leadership: Leadership,
    *,
    jobs: Sequence[Job] = JOBS,
) -> dict[str, JobRun | None]:
    """Each of these jobs of this namespace whose period has had no run; for the leader. By name
    those that have had it by now, with the run where it was made here.
    """
    settled: dict[str, JobRun | None] = {}
    times, attempts = Times(now, now), Attempts(engine, namespace, leadership)
    waiting = await attempts.waiting(now)
    for job in jobs:
        if job.name in waiting:
            continue
        draft = _draft_led(namespace, job, job.period(now), now, leadership)
        async with attempts.of(draft):
            ready = await _plan_if_due(engine, namespace, job, times)
            settled[job.name] = await _run_led(attempts, ready, draft, times)
            await _follow_up(engine, namespace, job, now, leadership)
    return settled


async def learn_from_outcomes(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership
) -> None:
    """Run the jobs that learn from outcomes where some have come; for the leader."""
    times, attempts = Times(now, now), Attempts(engine, namespace, leadership)
    waiting = await attempts.waiting(now)
    for job in JOBS:
        if job.has_work is None or job.name in waiting:
            continue
        draft = _draft_led(namespace, job, now.isoformat(timespec="seconds"), now, leadership)
        async with attempts.of(draft):
            async with engine.database.transaction(namespace.id) as connection:
                has_work = await job.has_work(connection, namespace)
            if has_work:
                ready = await _plan(engine, namespace, job, times)
                await _run_led(attempts, ready, draft, times)
                await _follow_up(engine, namespace, job, now, leadership)


async def follow_up_on_runs(
    engine: Engine,
    namespace: Namespace,
    now: datetime,
    leadership: Leadership,
    *,
    jobs: Sequence[Job] = JOBS,
) -> None:
    """What runs of these jobs left to be done with a model, as far as it can be done now."""
    left = [job for job in jobs if job.follow_up is not None]
    attempts = Attempts(engine, namespace, leadership)
    waiting = await attempts.waiting(now) if left else ()
    for job in left:
        if job.name not in waiting:
            draft = _draft_led(namespace, job, job.period(now), now, leadership)
            async with attempts.of(draft):
                await _follow_up(engine, namespace, job, now, leadership)


def _draft_led(
    namespace: Namespace, job: Job, period: str, now: datetime, leadership: Leadership
) -> RunDraft:
    return RunDraft(job.name, namespace.id, period, now, None, leadership.epoch)


async def _run_led(attempts: Attempts, job: Job, draft: RunDraft, times: Times) -> JobRun | None:
    """None where the timetable has had its run of the period."""
    engine, namespace = attempts.engine, attempts.namespace
    async with led_transaction(engine.database, namespace.id, attempts.leadership) as connection:
        run = await _run_once(connection, namespace, job, draft=draft, times=times)
    if run is not None:
        engine.jobs.runs[job.name, "done"] += 1
    return run


async def note_health(engine: Engine) -> None:
    """Count which jobs fail, and when each last ran well; for the leader."""
    async with engine.database.transaction() as connection:
        store = WorkStore(connection)
        failing = await store.failing()
        engine.jobs.last_good = await store.last_good([job.name for job in JOBS])
    engine.jobs.failing = Counter(one.job for one in failing)
    engine.jobs.quarantined = Counter(one.job for one in failing if one.is_quarantined)


async def list_runs(
    engine: Engine, call: Call, page: Page, *, newest_first: bool = False
) -> Listed[JobRun]:
    """Oldest first, unless asked otherwise."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = WorkStore(connection)
        runs = await store.runs(call.namespace.id, page, newest_first=newest_first)
        return await hide_private(connection, call, runs)


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
    with noting_stops() as stops:
        plan = await job.plan(engine, namespace, times.both)
    return replace(job, work=partial(job.work, plan=plan), stops=tuple(stops))


async def _run_once(
    connection: Connection, namespace: Namespace, job: Job, *, draft: RunDraft, times: Times
) -> JobRun | None:
    """Claim, work and finish in one transaction: a run that dies leaves neither trace nor
    effect. None where the timetable has had its run of the period.
    """
    store = WorkStore(connection)
    run_id = await store.claim(draft, times.recorded_at)
    if run_id is None:
        return None
    done = await job.work(connection, namespace, times.both, dry=False)
    return await store.finish(run_id, job.told(done), times.recorded_at)


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
        result=job.told(foreseen),
    )


async def namespaces(engine: Engine) -> tuple[Namespace, ...]:
    """All namespaces: work visits them one by one, each inside its own transaction."""
    async with engine.database.transaction() as connection:
        return await NamespaceStore(connection).all()
