"""Retention: what a run finds old is written down, then removed in slices.

A run counts (`foresee`, in the run's own transaction) → the ledger is closed as far as all of it is
old → events, outcomes, receipts, words of runs, calls of the language model and tasks go, each
slice in a transaction of its own that takes about a tenth of a second and counts itself in the
record of the run. What a visit does not get done, the next one does.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from memory.belief.store.ledger import OPEN, LedgerStore
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import (
    STOPPED,
    JobRun,
    Leadership,
    WorkStore,
    led_transaction,
)
from memory.retention.closing import (
    ClosedLedger,
    ClosingPart,
    load_closed,
    move_closed,
    plan_part,
    publish_part,
    write_part,
)
from memory.retention.entities import Ages, Removal, SliceSize
from memory.retention.store.closing import ClosingStore, Place
from memory.retention.store.figures import FiguresStore
from memory.retention.store.removal import RemovalStore, Rows
from memory.tenancy.entities import Namespace

RETENTION = "retention"


VISIT = timedelta(seconds=10)
"""A visit begins no slice after this long: other jobs, and whoever runs it by hand, wait for it."""


async def foresee(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],
    *,
    dry: bool,  # noqa: ARG001 - it only counts either way
) -> Removal:
    """What is to be removed at `times[0]`; the run removes it in slices after this is on record."""
    days = namespace.settings.retention_days
    if days is None:
        return Removal(None)
    ages = Ages.of(times, days)
    closing = await LedgerStore(connection, namespace.id).closing()
    closed = OPEN if closing is None else closing.bank_version
    last = await ClosingStore(connection, namespace.id).last_closable(closed, ages)
    rows, size = await FiguresStore(connection, namespace.id).count(ages, last)
    return Removal(days, ages.before, rows, size, complete=not rows)


async def remove_old(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """Go on with what the last run has left; as far as a visit goes."""
    days = namespace.settings.retention_days
    async with engine.database.transaction(namespace.id) as connection:
        run = await WorkStore(connection).last_run(RETENTION, namespace.id)
    if run is None or run.result is None or run.result["complete"] or days is None:
        return
    if STOPPED in run.result:
        return
    await _Visit(engine, namespace, leadership, run, now, days).go()


class _Interrupted(Exception):
    """Another run removes here, or somebody stopped this one."""


@dataclass(slots=True)
class _Visit:
    """One visit of a run: slices until nothing is left or its time is over."""

    engine: Engine
    namespace: Namespace
    leadership: Leadership | None
    run: JobRun
    now: datetime
    days: int
    removal: Removal = field(init=False)
    ages: Ages = field(init=False)
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.removal = Removal.of_result(self.run.result or {})
        # Who has meanwhile asked for more to be kept is heard.
        days = max(self.days, self.removal.days or 0)
        self.ages = Ages.of((self.run.now, self.run.started_at), days)
        self.deadline = time.monotonic() + VISIT.total_seconds()

    async def go(self) -> None:
        try:
            closed = await self._close()
            done = closed is not None and await self._remove(closed.version)
        except _Interrupted:
            return
        if done:
            async with self._slice() as taken:
                self.removal = replace(self.removal, complete=True)
                await self._note(taken.connection)

    @property
    def _is_over(self) -> bool:
        return time.monotonic() > self.deadline

    async def _close(self) -> ClosedLedger | None:
        """Close what is old, part by part; None where the visit's time is over before that."""
        parts, events = SliceSize(), SliceSize()
        async with self._transaction() as connection:
            closed = await load_closed(connection, self.namespace)
        while not self._is_over:
            async with self._transaction() as connection:
                part = await plan_part(connection, self.namespace, closed, self.ages, parts.rows)
            if part is None:
                await self._drop_stale(closed)
                return closed
            moved = await self._close_part(closed, part, parts, events)
            if moved is None:
                return None
            closed = moved
        return None

    async def _close_part(
        self, closed: ClosedLedger, part: ClosingPart, parts: SliceSize, events: SliceSize
    ) -> ClosedLedger | None:
        begun = time.monotonic()
        while not part.is_written:
            async with self._slice(events) as taken:
                await write_part(
                    taken.connection, self.namespace, part, events.rows, self.run.started_at
                )
                part.written += events.rows
        async with self._slice() as taken:
            closing = await publish_part(
                taken.connection, self.namespace, closed, part, self.run.started_at
            )
            await self._note(taken.connection)
        parts.adapt((time.monotonic() - begun) / 4)
        return None if closing is None else move_closed(closed, part, closing)

    async def _drop_stale(self, closed: ClosedLedger) -> None:
        size = SliceSize()
        while closed.stale and not self._is_over:
            async with self._slice(size) as taken:
                places, closed.stale = closed.stale[: size.rows], closed.stale[size.rows :]
                store = ClosingStore(taken.connection, self.namespace.id)
                await store.remove_events(places)

    async def _remove(self, closed: int) -> bool:
        """Whether nothing is left."""
        if not await self._remove_events(closed):
            return False
        removals: tuple[Callable[[RemovalStore, int], Awaitable[Rows]], ...] = (
            RemovalStore.remove_outcomes,
            RemovalStore.remove_receipts,
            RemovalStore.blank_runs,
            RemovalStore.remove_llm_calls,
        )
        for remove in removals:
            size = SliceSize()
            while True:
                if self._is_over:
                    return False
                async with self._slice(size) as taken:
                    store = self._store(taken.connection, closed)
                    rows = await remove(store, size.rows)
                    await self._count(taken, rows)
                if not rows:
                    break
        return await self._remove_tasks(closed)

    async def _remove_tasks(self, closed: int) -> bool:
        """Those that nothing names any more, now that receipts are gone."""
        place: UUID | None = UUID(int=0)
        size = SliceSize()
        while place is not None:
            if self._is_over:
                return False
            async with self._slice(size) as taken:
                store = self._store(taken.connection, closed)
                removed, place = await store.remove_tasks(place, size.rows)
                await self._count(taken, {"task": removed} if removed else {})
        return True

    async def _remove_events(self, closed: int) -> bool:
        place: Place | None = (OPEN, 0)
        size = SliceSize()
        while place is not None:
            if self._is_over:
                return False
            async with self._slice(size) as taken:
                store = self._store(taken.connection, closed)
                removed, place = await store.remove_events(place, size.rows)
                await self._count(taken, {"weight_event": removed} if removed else {})
        return True

    def _store(self, connection: Connection, closed: int) -> RemovalStore:
        return RemovalStore(connection, self.namespace.id, self.ages, closed)

    async def _count(self, taken: "_Removed", rows: Mapping[str, int]) -> None:
        """In the record of the run, with the rows themselves; where they are gone, also among what
        this process counts.
        """
        taken.rows = rows
        self.removal = self.removal.with_slice(rows, taken.milliseconds)
        await self._note(taken.connection)

    async def _note(self, connection: Connection) -> None:
        await WorkStore(connection).note(self.run.id, self.removal.result())

    @asynccontextmanager
    async def _transaction(self) -> AsyncGenerator[Connection]:
        """One of this run alone, while its leader leads."""
        database, here = self.engine.database, self.namespace.id
        async with led_transaction(database, here, self.leadership) as connection:
            if not await self._store(connection, OPEN).take_turn():
                raise _Interrupted
            if await WorkStore(connection).is_stopped(self.run.id):
                raise _Interrupted
            yield connection

    @asynccontextmanager
    async def _slice(self, size: SliceSize | None = None) -> AsyncGenerator["_Removed"]:
        """A transaction that holds rows which others may want; measured, to size the next one."""
        async with self._transaction() as connection:
            taken = _Removed(connection, time.monotonic())
            yield taken
        seconds = time.monotonic() - taken.begun
        if size is not None:
            size.adapt(seconds)
        longest = max(self.removal.longest_ms, round(seconds * 1000, 1))
        self.removal = replace(self.removal, longest_ms=longest)
        self.engine.jobs.removed.update(taken.rows)


@dataclass(slots=True)
class _Removed:
    """A slice under way."""

    connection: Connection
    begun: float
    rows: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def milliseconds(self) -> float:
        return (time.monotonic() - self.begun) * 1000
