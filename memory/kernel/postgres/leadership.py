"""WorkStore: who leads, and which runs of jobs there were."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, cast, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict
from memory.kernel.fields import OUTPUT
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Database
from memory.kernel.postgres.paging import page_by_id
from memory.kernel.postgres.rows import RowMapper
from memory.kernel.postgres.tables import job_run


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the run for ever."""
    job: str
    """Which job."""
    period: str
    """The period in which it ran: the timetable runs a job once in each, a hand whenever asked."""
    dry_run: bool
    """Whether it only reported what would change."""
    state: Literal["running", "done", "failed"]
    """Whether it is under way (`running`), `done`, or `failed` and left nothing but this record."""
    now: datetime
    """When it is about."""
    started_at: datetime
    """When it began, by the server's clock."""
    finished_at: datetime | None
    """When it ended."""
    result: Mapping[str, object] | None
    """What it did: counts, and each memory that it examined and changed."""
    reason: str | None = None
    """Why it failed, in a sentence; null where it did not."""


STOPPED = "stopped"
"""In the result of a run that is followed up in parts: somebody asked that no more of it is done.
"""
_GOES_ON = cast({"complete": False}, JSONB)

_to_run = RowMapper(JobRun, [job_run])


LEADER = "leader"


NOT_LEADER = "not_leader"


KEPT = timedelta(days=90)


LEASE = timedelta(seconds=15)
"""A leader that has not beaten for so long, by the database's clock, is replaced."""


LOCK_TIMEOUT = timedelta(seconds=10)
"""A leader waits no longer for whoever holds a row or a namespace: others wait for the leader."""


IDLE = timedelta(seconds=10)
"""A transaction of a replaced leader in which nothing happened for so long is ended."""


QUARANTINED_AFTER = 5
"""Failures in a row after which a job of a namespace is no longer tried by itself."""


FIRST_PAUSE = timedelta(minutes=1)
"""Between the first failure and the next try; doubled with each further failure in a row."""


# The class of the advisory locks by which the transactions of a term are known to the next one.
_TERM = 0x6C656164


_LAST_BEAT = text("""
    SELECT holder, clock_timestamp() - beat_at AS age FROM lease WHERE name = :name
""")


_LEAD = text("""
    INSERT INTO lease AS held (name, epoch, holder, beat_at)
    VALUES (:name, 1, :holder, clock_timestamp())
    ON CONFLICT (name) DO UPDATE
    SET epoch = held.epoch + 1, holder = excluded.holder, beat_at = excluded.beat_at
    WHERE held.beat_at <= excluded.beat_at - CAST(:lease AS interval)
    RETURNING epoch
""")


_BEAT = text("""
    UPDATE lease SET beat_at = clock_timestamp() WHERE name = :name AND epoch = :epoch
    RETURNING epoch
""")


_RELEASE = text("""
    UPDATE lease SET beat_at = to_timestamp(0) WHERE name = :name AND epoch = :epoch
""")


# A stopped process keeps its connections, and with them its locks: those of its requests too.
_END_EARLIER = text("""
    SELECT pg_terminate_backend(a.pid, 5000) FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.usename = current_user AND (
        EXISTS (
            SELECT FROM pg_locks l
            WHERE l.pid = a.pid AND l.database = a.datid AND l.locktype = 'advisory'
              AND l.classid = :term AND l.objsubid = 2 AND l.objid::bigint < :epoch)
        OR (a.application_name = :earlier AND a.application_name <> :holder
            AND a.state LIKE 'idle in transaction%'
            AND a.state_change < clock_timestamp() - CAST(:idle AS interval)))
""")


_ENTER_TERM = text("""
    SELECT set_config('lock_timeout', :lock_timeout, true),
        pg_advisory_xact_lock_shared(:term, CAST(:epoch AS integer))
""")


# Asked after the lock is there, in a snapshot of its own: whoever began the next term before this
# has looked for the lock since, or is seen here.
_IS_CURRENT = text("SELECT 1 FROM lease WHERE name = :name AND epoch = :epoch")


_FAILING = text("""
    SELECT f.namespace_id, f.job, count(*) AS failures, max(f.finished_at) AS failed_at
    FROM job_run f JOIN namespace n ON n.id = f.namespace_id
    WHERE f.state = 'failed'
      AND NOT EXISTS (SELECT FROM namespace_move m WHERE m.namespace_id = n.id)
      AND (CAST(:ns AS uuid) IS NULL OR f.namespace_id = :ns)
      AND NOT EXISTS (
        SELECT FROM job_run d
        WHERE d.namespace_id = f.namespace_id AND d.job = f.job AND d.id > f.id
          AND d.state = 'done' AND NOT d.dry_run)
    GROUP BY f.namespace_id, f.job
""")


# Of a namespace that came from elsewhere no job was due before; one that has gone has none.
_LAST_GOOD = text("""
    SELECT j.job, min(coalesce(last.finished_at, came.at, n.created_at)) AS at
    FROM namespace n CROSS JOIN unnest(CAST(:jobs AS text[])) AS j (job)
    LEFT JOIN LATERAL (
        SELECT r.finished_at FROM job_run r
        WHERE r.namespace_id = n.id AND r.job = j.job AND r.state = 'done' AND NOT r.dry_run
        ORDER BY r.id DESC LIMIT 1
    ) AS last ON true
    LEFT JOIN LATERAL (
        SELECT max(a.recorded_at) AS at FROM audit a
        WHERE a.namespace_id = n.id AND a.action IN ('namespace.arrived', 'namespace.import')
    ) AS came ON true
    WHERE n.clock = 'wall'
        AND NOT EXISTS (SELECT FROM namespace_move m WHERE m.namespace_id = n.id)
    GROUP BY j.job
""")


_FOLLOW = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


@dataclass(frozen=True, slots=True)
class Leadership:
    """A term of leadership: work done under it is refused once the next one has begun."""

    epoch: int
    holder: str


@dataclass(frozen=True, slots=True)
class RunDraft:
    """A run to be claimed; without a key it is the timetable's."""

    job: str
    namespace_id: UUID
    period: str
    now: datetime
    key_id: UUID | None
    epoch: int | None


@dataclass(frozen=True, slots=True)
class FailingJob:
    """A job of a namespace whose last runs failed, one after another."""

    namespace_id: UUID
    job: str
    failures: int
    failed_at: datetime

    @property
    def is_quarantined(self) -> bool:
        """Whether it waits for a run by hand."""
        return self.failures >= QUARANTINED_AFTER

    def waits(self, now: datetime) -> bool:
        """Whether it is not tried at this time: then it is quarantined, or its pause lasts."""
        pause = FIRST_PAUSE * 2 ** (self.failures - 1)
        return self.is_quarantined or now < self.failed_at + pause


def _drafted(draft: RunDraft, started_at: datetime) -> dict[str, object]:
    """The columns of a run that are known when it begins."""
    return {
        "id": new_id(),
        "job": draft.job,
        "namespace_id": draft.namespace_id,
        "period": draft.period,
        "epoch": draft.epoch,
        "dry_run": False,
        "now": draft.now,
        "started_at": started_at,
        "key_id": draft.key_id,
    }


class WorkStore:
    """Leadership and job runs; shared by all namespaces."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lead(self, holder: str, lease: timedelta = LEASE) -> Leadership | None:
        """Begin a new term; None where whoever leads has beaten within the lease."""
        values = {"name": LEADER, "holder": holder, "lease": lease}
        epoch = await self._connection.scalar(_LEAD, values)
        return None if epoch is None else Leadership(epoch, holder)

    async def end_earlier(
        self, leadership: Leadership, earlier: str, idle: timedelta = IDLE
    ) -> None:
        """End what transactions of earlier terms are still open, and what the earlier leader has
        left open for so long: nothing comes of them. To be asked of a connection that acts as its
        own login.
        """
        values = {"term": _TERM, "epoch": leadership.epoch, "idle": idle}
        values |= {"earlier": earlier, "holder": leadership.holder}
        await self._connection.execute(_END_EARLIER, values)

    async def beat(self, leadership: Leadership) -> bool:
        """Say that the leader lives; False where another term has begun."""
        values = {"name": LEADER, "epoch": leadership.epoch}
        return (await self._connection.execute(_BEAT, values)).first() is not None

    async def release(self, leadership: Leadership) -> None:
        """End the term: whoever asks next leads."""
        await self._connection.execute(_RELEASE, {"name": LEADER, "epoch": leadership.epoch})

    async def guard(self, leadership: Leadership) -> None:
        """First statement of a leader's transaction. Raises Conflict where its term is over."""
        milliseconds = round(LOCK_TIMEOUT.total_seconds() * 1000)
        values = {"term": _TERM, "epoch": leadership.epoch, "lock_timeout": str(milliseconds)}
        await self._connection.execute(_ENTER_TERM, values)
        values = {"name": LEADER, "epoch": leadership.epoch}
        if (await self._connection.execute(_IS_CURRENT, values)).first() is None:
            raise Conflict("another process leads now", code=NOT_LEADER)

    async def last_beat(self) -> tuple[str, timedelta] | None:
        """Who leads, and how long ago it last said so, by the database's clock."""
        row = (await self._connection.execute(_LAST_BEAT, {"name": LEADER})).first()
        return None if row is None else (row.holder, row.age)

    async def claim(self, draft: RunDraft, started_at: datetime) -> UUID | None:
        """Claim a run: by hand always, by the timetable once a period; None where that is claimed
        already. Runs of one job in one namespace follow one another, by a lock until commit.
        """
        name = f"job/{draft.job}/{draft.namespace_id}"
        await self._connection.execute(_FOLLOW, {"name": name})
        return await self._connection.scalar(
            insert(job_run)
            .values(**_drafted(draft, started_at), state="running")
            .on_conflict_do_nothing()
            .returning(job_run.c.id)
        )

    async def finish(self, run_id: UUID, result: Mapping[str, object], now: datetime) -> JobRun:
        """The run ends with the transaction of its effect, and has taken as long as that has."""
        took = func.clock_timestamp() - func.transaction_timestamp()
        done = await self._connection.execute(
            update(job_run)
            .where(job_run.c.id == run_id)
            .values(state="done", finished_at=literal(now) + took, result=dict(result))
            .returning(job_run)
        )
        return _to_run(done.mappings().one())

    async def fail(self, draft: RunDraft, reason: str, now: datetime) -> None:
        """Record a run that failed; it leaves its period to the next try."""
        await self._connection.execute(
            insert(job_run).values(
                **_drafted(draft, now), state="failed", finished_at=now, reason=reason
            )
        )

    async def failing(self, namespace_id: UUID | None = None) -> list[FailingJob]:
        """Jobs that failed since they last ran well; in every namespace where none is named."""
        rows = await self._connection.execute(_FAILING, {"ns": namespace_id})
        return [FailingJob(*row) for row in rows]

    async def last_good(self, jobs: Sequence[str]) -> dict[str, datetime]:
        """When each of these jobs last ran well in the namespace that has waited longest for it,
        among those that live by the wall clock.
        """
        rows = await self._connection.execute(_LAST_GOOD, {"jobs": list(jobs)})
        return {row.job: row.at for row in rows}

    async def run_of(self, job: str, namespace_id: UUID, period: str) -> JobRun | None:
        """The timetable's run of a period."""
        row = await self._connection.execute(
            select(job_run).where(
                job_run.c.job == job,
                job_run.c.namespace_id == namespace_id,
                job_run.c.period == period,
                job_run.c.key_id.is_(None),
                job_run.c.state != "failed",
                ~job_run.c.dry_run,
            )
        )
        found = row.mappings().first()
        return None if found is None else _to_run(found)

    async def last_run(self, job: str, namespace_id: UUID) -> JobRun | None:
        """The job's last run of this namespace that went well."""
        rows = await self._connection.execute(
            select(job_run)
            .where(
                job_run.c.job == job,
                job_run.c.namespace_id == namespace_id,
                job_run.c.state == "done",
                ~job_run.c.dry_run,
            )
            .order_by(job_run.c.id.desc())
            .limit(1)
        )
        found = rows.mappings().first()
        return None if found is None else _to_run(found)

    async def find_run(self, run_id: UUID, namespace_id: UUID) -> JobRun | None:
        """A run of the namespace, where there is one."""
        here = (job_run.c.id == run_id) & (job_run.c.namespace_id == namespace_id)
        found = (await self._connection.execute(select(job_run).where(here))).mappings().first()
        return None if found is None else _to_run(found)

    async def get_run(self, run_id: UUID) -> JobRun:
        """A run as its record is now."""
        rows = await self._connection.execute(select(job_run).where(job_run.c.id == run_id))
        return _to_run(rows.mappings().one())

    async def note(self, run_id: UUID, result: Mapping[str, object]) -> None:
        """What a run has come to by now, where it is followed up. That somebody stops it meanwhile
        stays on record.
        """
        noted = job_run.c.result.concat(cast(dict(result), JSONB))
        await self._connection.execute(
            update(job_run).where(job_run.c.id == run_id).values(result=noted)
        )

    async def stop(self, run_id: UUID, namespace_id: UUID) -> bool:
        """Whether a run of the namespace was there whose rest could be stopped, and now is."""
        stopped = await self._connection.execute(
            update(job_run)
            .where(
                job_run.c.id == run_id,
                job_run.c.namespace_id == namespace_id,
                job_run.c.state == "done",
                job_run.c.result.contains(_GOES_ON),
                ~job_run.c.result.has_key(STOPPED),
            )
            .values(result=job_run.c.result.concat(cast({STOPPED: True}, JSONB)))
            .returning(job_run.c.id)
        )
        return stopped.first() is not None

    async def is_stopped(self, run_id: UUID) -> bool:
        """Whether somebody asked that nothing more of a run is done."""
        query = select(job_run.c.result.has_key(STOPPED)).where(job_run.c.id == run_id)
        return bool(await self._connection.scalar(query))

    async def last_result(self, job: str, namespace_id: UUID) -> Mapping[str, object] | None:
        """What the job's last finished run of this namespace came to."""
        return await self._connection.scalar(
            select(job_run.c.result)
            .where(
                job_run.c.job == job,
                job_run.c.namespace_id == namespace_id,
                job_run.c.state == "done",
                ~job_run.c.dry_run,
            )
            .order_by(job_run.c.id.desc())
            .limit(1)
        )

    async def runs(
        self, namespace_id: UUID, page: Page, *, newest_first: bool = False
    ) -> Listed[JobRun]:
        """Oldest first, unless asked otherwise."""
        here: ColumnElement[bool] = job_run.c.namespace_id == namespace_id
        rows = page_by_id(
            select(job_run).where(here), job_run.c.id, page, newest_first=newest_first
        )
        found = [_to_run(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(select(func.count()).select_from(job_run).where(here))
        return listed(found, page, total, lambda run: (str(run.id),))

    async def forget(self, now: datetime) -> None:
        """Runs are kept 90 days."""
        await self._connection.execute(job_run.delete().where(job_run.c.started_at < now - KEPT))


@asynccontextmanager
async def led_transaction(
    database: Database, namespace_id: UUID, leadership: Leadership | None
) -> AsyncGenerator[AsyncConnection]:
    """A transaction inside a namespace, of a leader where one works; None: of who asks by hand.
    Raises Conflict where the leader's term is over.
    """
    async with database.transaction(namespace_id) as connection:
        if leadership is not None:
            await WorkStore(connection).guard(leadership)
        yield connection
