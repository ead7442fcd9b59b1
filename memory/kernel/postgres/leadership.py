"""WorkStore: who leads, and which runs of jobs there were."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict
from memory.kernel.fields import OUTPUT
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper
from memory.kernel.postgres.tables import job_run, lease


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the run for ever."""
    job: str
    """Which job."""
    period: str
    """The period that it is the run of: a job has one run in each."""
    dry_run: bool
    """Whether it only reported what would change."""
    state: Literal["running", "done", "failed"]
    """Whether it is under way (`running`) or `done`."""
    now: datetime
    """When it is about."""
    started_at: datetime
    """When it began, by the server's clock."""
    finished_at: datetime | None
    """When it ended."""
    result: Mapping[str, object] | None
    """What it did: counts, and each memory that it examined and changed."""


_to_run = RowMapper(JobRun, [job_run])


LEADER = "leader"


KEPT = timedelta(days=90)


_GUARD = text("SELECT 1 FROM lease WHERE name = :name AND epoch = :epoch FOR SHARE")


@dataclass(frozen=True, slots=True)
class Leadership:
    """A term of leadership: work done under it is refused once the next one has begun."""

    epoch: int
    holder: str


@dataclass(frozen=True, slots=True)
class RunDraft:
    """A run to be claimed."""

    job: str
    namespace_id: UUID
    period: str
    now: datetime
    key_id: UUID | None
    epoch: int | None


class WorkStore:
    """Leadership and job runs; shared by all namespaces."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lead(self, holder: str, now: datetime) -> Leadership:
        """Begin a new term."""
        made = insert(lease).values(name=LEADER, epoch=1, holder=holder, beat_at=now)
        epoch = await self._connection.scalar(
            made.on_conflict_do_update(
                index_elements=["name"],
                set_={"epoch": lease.c.epoch + 1, "holder": holder, "beat_at": now},
            ).returning(lease.c.epoch)
        )
        assert isinstance(epoch, int)
        return Leadership(epoch, holder)

    async def beat(self, leadership: Leadership, now: datetime) -> bool:
        """Say that the leader lives; False where another term has begun."""
        beaten = await self._connection.execute(
            update(lease)
            .where(lease.c.name == LEADER, lease.c.epoch == leadership.epoch)
            .values(beat_at=now)
            .returning(lease.c.epoch)
        )
        return beaten.first() is not None

    async def guard(self, leadership: Leadership) -> None:
        """First statement of a leader's transaction. Raises Conflict where its term is over."""
        row = await self._connection.execute(_GUARD, {"name": LEADER, "epoch": leadership.epoch})
        if row.first() is None:
            raise Conflict("another process leads now", code="not_leader")

    async def last_beat(self) -> tuple[str, datetime] | None:
        """Who leads, and when it last said so."""
        row = (
            await self._connection.execute(
                select(lease.c.holder, lease.c.beat_at).where(lease.c.name == LEADER)
            )
        ).first()
        return None if row is None else (row.holder, row.beat_at)

    async def claim(self, draft: RunDraft, started_at: datetime) -> UUID | None:
        """Claim the job's run of this period; None where it is claimed already."""
        return await self._connection.scalar(
            insert(job_run)
            .values(
                id=new_id(),
                job=draft.job,
                namespace_id=draft.namespace_id,
                period=draft.period,
                epoch=draft.epoch,
                dry_run=False,
                state="running",
                now=draft.now,
                started_at=started_at,
                key_id=draft.key_id,
            )
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

    async def run_of(self, job: str, namespace_id: UUID, period: str) -> JobRun | None:
        row = await self._connection.execute(
            select(job_run).where(
                job_run.c.job == job,
                job_run.c.namespace_id == namespace_id,
                job_run.c.period == period,
                ~job_run.c.dry_run,
            )
        )
        found = row.mappings().first()
        return None if found is None else _to_run(found)

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
        order = job_run.c.id.desc() if newest_first else job_run.c.id
        rows = select(job_run).where(here).order_by(order).limit(page.limit + 1)
        if page.after is not None:
            last = UUID(str(page.after[0]))
            rows = rows.where(job_run.c.id < last if newest_first else job_run.c.id > last)
        found = [_to_run(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(select(func.count()).select_from(job_run).where(here))
        return listed(found, page, total, lambda run: (str(run.id),))

    async def forget(self, now: datetime) -> None:
        """Runs are kept 90 days."""
        await self._connection.execute(job_run.delete().where(job_run.c.started_at < now - KEPT))
