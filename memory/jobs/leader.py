"""One process leads: it applies outcomes and keeps the timetable; the others wait to take over.

Leadership is a session lock on a connection of its own, and a term in the `lease` table. The lock
makes one process lead; the term makes the work of one that only believes it leads harmless, for
each of its transactions begins by finding its own term current.
"""

import asyncio
import logging
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime

from memory.jobs.service import namespaces
from memory.jobs.timetable import Now, Timetable
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault
from memory.kernel.postgres.leadership import Leadership, WorkStore
from memory.kernel.postgres.session_lock import SessionLock
from memory.outcomes.applying import apply_pending

log = logging.getLogger(__name__)


GATHER_SECONDS = 0.1
"""Outcomes that arrive this close together are applied in one transaction."""


def wall() -> datetime:
    """The server's clock; the timetable is one of the two places that ask it."""
    return datetime.now(UTC)


async def run_leader(engine: Engine, now: Now = wall) -> None:
    """Try to lead, lead, and try again, until cancelled."""
    while True:
        with suppress(MemoryFault):
            async with SessionLock(engine.settings.session_url) as lock:
                if await lock.take():
                    await _lead(engine, lock, now)
        await asyncio.sleep(engine.settings.leader_beat.total_seconds())


async def _lead(engine: Engine, lock: SessionLock, now: Now) -> None:
    """One term: apply outcomes, keep the timetable, beat; ends when the lock or the term is
    lost.
    """
    async with engine.database.transaction() as connection:
        leadership = await WorkStore(connection).lead(holder(), now())
    log.info("leading, term %s", leadership.epoch)
    scheduler = Timetable(engine, leadership, now).scheduler()
    scheduler.start()
    applier = asyncio.create_task(_apply_outcomes(engine, leadership, now))
    try:
        while not applier.done() and await lock.held() and await _beat(engine, leadership, now):
            await asyncio.wait([applier], timeout=engine.settings.leader_beat.total_seconds())
    finally:
        scheduler.shutdown(wait=False)
        applier.cancel()
        with suppress(asyncio.CancelledError, MemoryFault):
            await applier
    log.info("no longer leading, term %s", leadership.epoch)


async def _beat(engine: Engine, leadership: Leadership, now: Now) -> bool:
    async with engine.database.transaction() as connection:
        return await WorkStore(connection).beat(leadership, now())


async def _apply_outcomes(engine: Engine, leadership: Leadership, now: Now) -> None:
    """Apply what is pending, at once when this process accepted it, else within the interval."""
    while True:
        engine.arrived.clear()
        for namespace in await namespaces(engine):
            try:
                await apply_pending(engine, namespace.id, now(), leadership)
            except Conflict:
                return
            except MemoryFault as fault:
                log.warning("outcome processing paused: %s", fault.detail)
        await asyncio.sleep(GATHER_SECONDS)
        with suppress(TimeoutError):
            interval = engine.settings.applier_interval.total_seconds()
            await asyncio.wait_for(engine.arrived.wait(), interval)


def holder() -> str:
    """Who leads, for people to read."""
    return f"{socket.gethostname()}:{os.getpid()}"
