"""The timetable of the process that leads: each job at the start of each of its periods.

APScheduler says when; that a job runs once a period, whoever asks, is for the database to say.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import UUID

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from memory.insight.health import load_health_gauges
from memory.jobs.service import (
    BEGINNING,
    JOBS,
    Job,
    follow_up_on_runs,
    forget_old,
    namespaces,
    run_due,
)
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.postgres.leadership import JobRun, Leadership
from memory.tenancy.entities import Clock, Namespace

log = logging.getLogger(__name__)


CATCH_UP = timedelta(minutes=1)
"""How often the leader looks for runs that are due and were not made, and for what runs left."""


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
            trigger = IntervalTrigger(seconds=seconds, start_date=BEGINNING, timezone=UTC)  # pyright: ignore[reportArgumentType] - parts of a second are fine
            scheduler.add_job(self.fire, trigger, args=(job.name,), id=job.name)
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

    async def _visit(self, jobs: Sequence[Job]) -> None:
        """These jobs in each namespace in turn, where their period has had no run."""
        runs: list[JobRun] = []
        with _log_faults():
            for namespace in await namespaces(self._engine):
                if namespace.clock is Clock.WALL:
                    with _log_faults():
                        runs += await self._run(namespace, jobs)
            if runs or not self._engine.health_gauges:
                self._engine.health_gauges = await load_health_gauges(self._engine)

    async def _run(self, namespace: Namespace, jobs: Sequence[Job]) -> list[JobRun]:
        moment, had = self._now(), self._had.setdefault(namespace.id, {})
        due = [job for job in jobs if had.get(job.name) != job.period(moment)]
        rest = [job for job in jobs if job not in due]
        runs = await run_due(self._engine, namespace, moment, self._leadership, jobs=due)
        had |= {job.name: job.period(moment) for job in due}
        await follow_up_on_runs(self._engine, namespace, moment, self._leadership, jobs=rest)
        return runs


@contextmanager
def _log_faults() -> Generator[None]:
    """Go on with the rest; what cannot be done now is tried again at the next look."""
    try:
        yield
    except MemoryFault as fault:
        log.warning("job scheduling paused: %s", fault.detail)
