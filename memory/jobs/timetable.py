"""The timetable of the process that leads: each job at the start of each of its periods, and those
that learn from outcomes a few seconds after some were applied.

APScheduler says when; that a job runs once a period, whoever asks, is for the database to say.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import random
from uuid import UUID

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from memory.insight.health import load_health_gauges
from memory.jobs.service import (
    BEGINNING,
    JOBS,
    Job,
    follow_up_on_runs,
    learn_from_outcomes,
    namespaces,
    note_health,
    run_due,
)
from memory.kernel.engine import Engine
from memory.kernel.errors import explain
from memory.kernel.postgres.leadership import Leadership, WorkStore
from memory.retrieval.resident.store import forget_changes
from memory.tenancy.entities import Clock, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.sessions import DashboardSessionStore
from memory.webhooks.store import WebhookStore

log = logging.getLogger(__name__)


CATCH_UP = timedelta(minutes=1)
"""How often the leader looks for runs that are due and were not made, and for what runs left."""


LEARN = timedelta(seconds=3)
"""How often lessons are drawn from outcomes that came, those of one moment together."""


SPREAD = timedelta(seconds=30)
"""A job begins up to so long after its period, and at most a twentieth of it: deployments that
share a machine, or a model, do not all begin at once.
"""


Now = Callable[[], datetime]


class Timetable:
    """Runs jobs in the namespaces that live by the wall clock, one job at a time.

    What has its entry in the scheduler is due in every namespace; what a namespace has missed,
    because it is new, nobody led or the job failed, it is caught up with.
    """

    def __init__(
        self, engine: Engine, leadership: Leadership, now: Now, *, jobs: Sequence[Job] = JOBS
    ) -> None:
        self._engine = engine
        self._leadership = leadership
        self._now = now
        self._jobs = jobs
        # Of the longest delay, this process' share.
        self._late = random()  # noqa: S311 - spreads work, no secret
        self._due: set[str] = set()
        self._turn = asyncio.Lock()
        # By namespace and job, the last period that is known to have had its run.
        self._had: dict[UUID, dict[str, str]] = {}

    def scheduler(self) -> AsyncIOScheduler:
        """The entries, not yet started. A run that was missed is made up for once, however late
        and however many there were.
        """
        scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        for job in self._jobs:
            seconds = job.every.total_seconds()
            begins = BEGINNING + self._late * min(SPREAD, job.every / 20)
            trigger = IntervalTrigger(seconds=seconds, start_date=begins, timezone=UTC)  # pyright: ignore[reportArgumentType] - parts of a second are fine
            scheduler.add_job(self.fire, trigger, args=(job.name,), id=job.name)
        seconds = LEARN.total_seconds()
        scheduler.add_job(self.learn, "interval", seconds=seconds)
        every = CATCH_UP.total_seconds()
        scheduler.add_job(self.catch_up, "interval", seconds=every, next_run_time=self._now())
        return scheduler

    async def fire(self, name: str) -> None:
        """Run the job in every namespace; what is due at once runs in the timetable's order."""
        self._due.add(name)
        # Whatever else is due at this moment says so before the first begins.
        await asyncio.sleep(0)
        async with self._turn:
            due = [job for job in self._jobs if job.name in self._due]
            self._due.clear()
            if due:
                await self._visit(due)

    async def catch_up(self) -> None:
        """Run what was missed, and do what runs left to be done."""
        async with self._turn:
            with _log_faults():
                await forget_old(self._engine, self._now())
            await self._visit(self._jobs)

    async def learn(self) -> None:
        """Draw lessons where outcomes were applied since the last look."""
        if not self._engine.to_learn_from:
            return
        async with self._turn:
            ids, self._engine.to_learn_from = self._engine.to_learn_from, set()
            with _log_faults():
                for namespace in await namespaces(self._engine):
                    if namespace.id in ids and namespace.clock is Clock.WALL:
                        with _log_faults():
                            await learn_from_outcomes(
                                self._engine, namespace, self._now(), self._leadership
                            )

    async def _visit(self, jobs: Sequence[Job]) -> None:
        """These jobs in each namespace in turn, where their period has had no run."""
        has_run = False
        with _log_faults():
            for namespace in await namespaces(self._engine):
                if namespace.clock is Clock.WALL:
                    with _log_faults():
                        has_run |= await self._run(namespace, jobs)
            await note_health(self._engine)
            if has_run or not self._engine.health_gauges:
                self._engine.health_gauges = await load_health_gauges(self._engine)

    async def _run(self, namespace: Namespace, jobs: Sequence[Job]) -> bool:
        """Whether any had its run now."""
        moment, had = self._now(), self._had.setdefault(namespace.id, {})
        due = [job for job in jobs if had.get(job.name) != job.period(moment)]
        rest = [job for job in jobs if job not in due]
        settled = await run_due(self._engine, namespace, moment, self._leadership, jobs=due)
        had |= {job.name: job.period(moment) for job in due if job.name in settled}
        await follow_up_on_runs(self._engine, namespace, moment, self._leadership, jobs=rest)
        return any(run is not None for run in settled.values())


async def forget_old(engine: Engine, now: datetime) -> None:
    """Drop idempotency answers after 24 hours, job runs after 90 days, sessions that are over,
    deliveries to webhooks, and which rows changed after a day.
    """
    async with engine.database.transaction() as connection:
        await CallStore(connection).forget(now)
        await WorkStore(connection).forget(now)
        await DashboardSessionStore(connection).forget(now)
    for namespace in await namespaces(engine):
        async with engine.database.transaction(namespace.id) as connection:
            await forget_changes(connection)
            await WebhookStore(connection, namespace.id).forget(now)


@contextmanager
def _log_faults() -> Generator[None]:
    """Go on with the rest; what cannot be done now is tried again at the next look."""
    try:
        yield
    except Exception as fault:  # noqa: BLE001 - of a place where nobody's try has taken it
        log.warning("job scheduling paused: %s", explain(fault))
