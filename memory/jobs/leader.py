"""One process leads: it applies outcomes and keeps the timetable; the others wait to take over.

Leadership is a lease: a row with a numbered term and the time of the leader's last beat. Who has
not beaten for 15 seconds by the database's clock is replaced, whatever became of it. What is left
of an earlier term is harmless: transactions that it holds open are ended by the next leader, and
those that it begins later find their term over.
"""

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic

from memory.jobs.attempts import Attempts
from memory.jobs.service import namespaces
from memory.jobs.timetable import Now, Timetable
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, explain
from memory.kernel.postgres.database import process_name
from memory.kernel.postgres.leadership import LEASE, Leadership, RunDraft, WorkStore
from memory.outcomes.applying import APPLY, apply_pending, note_recovery
from memory.tenancy.entities import Namespace
from memory.webhooks.service import deliver_due

log = logging.getLogger(__name__)


REST_SECONDS = 0.1
"""Between two times that outcomes are applied."""


QUIET_SECONDS = 0.5
"""Outcomes that arrive this close together are applied in one transaction: each costs some forty
statements, whether of one outcome or of many, which those who report would wait for.
"""


WEBHOOK_SECONDS = 2.0
"""How often the leader looks for what is to be sent to webhooks."""


WEBHOOK_TURNS = 4
"""Namespaces whose webhooks are called at once."""


RELEASE_SECONDS = 5.0
"""A leader that ends waits no longer for the database to take note: its lease runs out as well."""


def wall() -> datetime:
    """The server's clock; the timetable is one of the two places that ask it."""
    return datetime.now(UTC)


async def run_leader(engine: Engine, now: Now = wall) -> None:
    """Try to lead, lead, and try again, until cancelled."""
    while True:
        with suppress(MemoryFault):
            leadership = await _begin(engine)
            if leadership is not None:
                await _lead(engine, leadership, now)
        await asyncio.sleep(engine.settings.leader_beat.total_seconds())


async def _begin(engine: Engine) -> Leadership | None:
    """A term, where nobody's lease runs."""
    async with engine.database.transaction() as connection:
        store = WorkStore(connection)
        last = await store.last_beat()
        if last is not None and last[1] < LEASE:
            return None
        leadership = await store.lead(process_name())
    if leadership is not None and last is not None:
        async with engine.database.login() as connection:
            await WorkStore(connection).end_earlier(leadership, last[0])
    return leadership


async def _lead(engine: Engine, leadership: Leadership, now: Now) -> None:
    """One term: apply outcomes, keep the timetable, beat; ends when the term is lost."""
    log.info("%s leads now, term %s", process_name(), leadership.epoch)
    scheduler = Timetable(engine, leadership, now).scheduler()
    scheduler.start()
    applier = asyncio.create_task(_apply_outcomes(engine, leadership, now))
    sender = asyncio.create_task(_send_to_webhooks(engine, leadership, now))
    try:
        while not applier.done() and await _beat(engine, leadership):
            await asyncio.wait([applier], timeout=engine.settings.leader_beat.total_seconds())
    finally:
        scheduler.shutdown(wait=False)
        engine.jobs.forget()
        for task in (applier, sender):
            task.cancel()
            with suppress(asyncio.CancelledError, MemoryFault):
                await task
        with suppress(MemoryFault, TimeoutError):
            await asyncio.wait_for(_release(engine, leadership), RELEASE_SECONDS)
    log.info("%s leads no longer, term %s", process_name(), leadership.epoch)


async def _beat(engine: Engine, leadership: Leadership) -> bool:
    """False where the term is over, or the lease ran out while nobody answered."""
    try:
        async with asyncio.timeout(LEASE.total_seconds()):
            async with engine.database.transaction() as connection:
                return await WorkStore(connection).beat(leadership)
    except TimeoutError:
        return False


async def _release(engine: Engine, leadership: Leadership) -> None:
    async with engine.database.transaction() as connection:
        await WorkStore(connection).release(leadership)


async def _apply_outcomes(engine: Engine, leadership: Leadership, now: Now) -> None:
    """Apply what is pending, at once when this process accepted it, else within the interval."""
    while True:
        engine.arrived.clear()
        try:
            await _apply_in_each(engine, leadership, now)
        except Conflict:
            return
        interval = engine.settings.applier_interval.total_seconds()
        await asyncio.sleep(REST_SECONDS)
        if await _is_set_within(engine.arrived, interval):
            await gather(engine.arrived, longest=interval)


async def gather(arrived: asyncio.Event, *, longest: float, pause: float = QUIET_SECONDS) -> None:
    """Until nothing has arrived for `pause` seconds, or the first has waited for `longest`."""
    until = monotonic() + longest
    while (left := until - monotonic()) > 0:
        arrived.clear()
        if not await _is_set_within(arrived, min(pause, left)):
            return


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
        return True
    return False


async def _send_to_webhooks(engine: Engine, leadership: Leadership, now: Now) -> None:
    """Send what is due, in some namespaces at once, as who is called may be slow; one in which that
    fails is looked at again at the next turn.
    """
    turns = asyncio.Semaphore(WEBHOOK_TURNS)

    async def visit(namespace: Namespace) -> None:
        async with turns:
            try:
                await deliver_due(engine, namespace, now(), leadership)
            except Exception as fault:  # noqa: BLE001 - of a place where nobody's try has taken it
                log.warning("sending to webhooks paused: %s", explain(fault))

    while True:
        with suppress(MemoryFault):
            await asyncio.gather(*map(visit, await namespaces(engine)))
        await asyncio.sleep(WEBHOOK_SECONDS)


async def _apply_in_each(engine: Engine, leadership: Leadership, now: Now) -> None:
    """What is pending in each namespace; one that fails is tried again later, by itself."""
    async with engine.database.transaction() as connection:
        failing = await WorkStore(connection).failing()
    failed = {one.namespace_id: one for one in failing if one.job == APPLY}
    for namespace in await namespaces(engine):
        moment, fault = now(), failed.get(namespace.id)
        if fault is not None and fault.waits(moment):
            continue
        draft = RunDraft(
            APPLY,
            namespace.id,
            moment.isoformat(timespec="seconds"),
            moment,
            None,
            leadership.epoch,
        )
        async with Attempts(engine, namespace, leadership).of(draft):
            await apply_pending(engine, namespace.id, moment, leadership)
            if fault is not None:
                await note_recovery(engine, draft, leadership)
