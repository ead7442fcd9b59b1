"""A try of a job in a namespace: what goes wrong in one is recorded, and stops no other."""

import logging
import traceback
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Moved, NotFound, Overloaded, Unavailable, explain
from memory.kernel.postgres.database import DATABASE, POOL_EXHAUSTED
from memory.kernel.postgres.leadership import (
    NOT_LEADER,
    QUARANTINED_AFTER,
    FailingJob,
    Leadership,
    RunDraft,
    WorkStore,
    led_transaction,
)
from memory.kernel.turns import Turn, TurnClass, taking_turn
from memory.tenancy.entities import Call, Namespace
from memory.tenancy.store.namespaces import NamespaceStore
from memory.webhooks.store import Outbox

log = logging.getLogger(__name__)


NOT_READY, MODEL_LOADING, MODEL_MISMATCH = (
    "embedder_not_ready",
    "model_loading",
    "model_mismatch",
)


QUARANTINED = f"{QUARANTINED_AFTER} failures in a row: it is tried again when it is run by hand"


EVERYBODYS = frozenset({NOT_LEADER, DATABASE, POOL_EXHAUSTED})
"""Faults that are no job's: whoever tries the next one meets them as well."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Tries of jobs in one namespace, by a leader or by hand."""

    engine: Engine
    namespace: Namespace
    leadership: Leadership | None

    async def waiting(self, now: datetime) -> Collection[str]:
        """Jobs that failed and are not to be tried yet, or no longer."""
        async with self.engine.database.transaction() as connection:
            failing = await WorkStore(connection).failing(self.namespace.id)
        return {one.job for one in failing if one.waits(now)}

    @asynccontextmanager
    async def of(self, draft: RunDraft) -> AsyncGenerator[None]:
        """Take what goes wrong in the block. A part that is away for a while pauses the job; all
        else is a failed run, on record with its reason. Raises what is no job's fault.
        """
        try:
            with taking_turn(Turn(self.namespace.id, TurnClass.JOB)):
                yield
        except (Unavailable, Overloaded) as fault:
            if fault.kind in EVERYBODYS:
                raise
            self._count(draft, "paused")
            level = self._level_of(fault)
            log.log(level, "job %s of %s paused: %s", draft.job, self.namespace.slug, fault.detail)
        except Exception as fault:
            if isinstance(fault, MemoryFault) and fault.kind in EVERYBODYS:
                raise
            if await self._is_gone():
                log.info("job %s of %s ended with it", draft.job, self.namespace.slug)
                return
            await self.fail(draft, fault)

    async def fail(self, draft: RunDraft, fault: Exception) -> None:
        """A run that failed, on record."""
        self._count(draft, "failed")
        reason = explain(fault)
        # Without the fault's own words, which may quote what is stored.
        trace = "".join(traceback.format_tb(fault.__traceback__))
        log.error("job %s of %s failed: %s\n%s", draft.job, self.namespace.slug, reason, trace)
        database, here = self.engine.database, self.namespace.id
        async with led_transaction(database, here, self.leadership) as connection:
            store = WorkStore(connection)
            before = {one.job: one.failures for one in await store.failing(here)}
            failures = before.get(draft.job, 0) + 1
            if failures >= QUARANTINED_AFTER:
                reason = f"{reason}; {QUARANTINED}"
            await store.fail(draft, reason, draft.now)
            outbox, told = Outbox(connection, here), {"job": draft.job, "failures": failures}
            await outbox.put("job.failed", told)
            if failures == QUARANTINED_AFTER:
                await outbox.put("job.quarantined", told)

    def _level_of(self, fault: MemoryFault) -> int:
        """Every server loads its model for a while at its start; that a namespace is on another
        model, with what can be done about it, is said once of each.
        """
        is_loading = fault.kind == NOT_READY and self.engine.failure is None
        if is_loading or fault.kind == MODEL_LOADING:
            return logging.INFO
        told = self.engine.jobs.on_other_models
        if fault.kind == MODEL_MISMATCH:
            if self.namespace.id in told:
                return logging.DEBUG
            told.add(self.namespace.id)
        return logging.WARNING

    async def _is_gone(self) -> bool:
        """Whether the namespace was deleted, or has moved, since the job began."""
        try:
            async with self.engine.database.transaction(self.namespace.id) as connection:
                await NamespaceStore(connection).get(self.namespace.id)
        except (NotFound, Moved):
            return True
        return False

    def _count(self, draft: RunDraft, status: str) -> None:
        self.engine.jobs.runs[draft.job, status] += 1


async def list_failing(engine: Engine, call: Call) -> list[FailingJob]:
    """The jobs of this namespace that failed since they last ran well, by name."""
    async with engine.database.transaction(call.namespace.id) as connection:
        failing = await WorkStore(connection).failing(call.namespace.id)
    return sorted(failing, key=lambda one: one.job)
