"""Candidates are tried: claimed by an agent, run by it, and judged by what the runs brought."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from memory.domain.access import Act, Call
from memory.domain.bank import Status
from memory.domain.task import Listed, Page
from memory.domain.text import NAME, optional
from memory.domain.verification import (
    Claim,
    Reported,
    Ticket,
    TicketFilter,
    TicketState,
    TrialReport,
)
from memory.engine import Engine
from memory.errors import Conflict, Forbidden
from memory.flows.actors import Names, viewer
from memory.flows.trials import rows_of
from memory.flows.verdicts import FREED, Ending, conclude, end
from memory.storage.admitting import AdmittingStore, Move
from memory.storage.calls import CallStore, Deed
from memory.storage.database import Connection
from memory.storage.memories import Stamp
from memory.storage.namespaces import NamespaceStore
from memory.storage.paging import listed
from memory.storage.tickets import Claimable, Held, Holder, TicketStore, TrialRow, TrialStamp

LEASE = timedelta(minutes=30)
CLOSED = frozenset({TicketState.DECIDED, TicketState.EXPIRED, TicketState.QUARANTINED})


async def claim(engine: Engine, call: Call, wanted: Claim) -> list[Ticket]:
    """Lease candidates to an agent for half an hour; none twice, however many ask at once."""
    call.key.require(Act.RETRIEVE)
    call.key.require_agent(wanted.agent)
    async with engine.database.transaction(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        agent = await Names(connection, call).agent(wanted.agent)
        store = TicketStore(connection, call.namespace.id)
        scope = Claimable(owners, wanted.category, wanted.limit, call.now)
        leased = await store.lease(Holder(agent.id, call.key.id), scope, call.now + LEASE)
        if leased:
            stamp = await _stamp(connection, call)
            move = Move((Status.PROPOSED,), Status.VERIFYING, "claimed")
            await AdmittingStore(connection, call.namespace.id).move(
                sorted(leased.values()), move, stamp
            )
        return [await store.get(ticket_id, owners) for ticket_id in sorted(leased)]


async def report_trials(
    engine: Engine, call: Call, ticket_id: UUID, report: TrialReport
) -> Reported:
    """Take what the holder found out; the last trial decides."""
    call.key.require(Act.REPORT)
    call.key.require_agent(report.agent)
    known_at = call.namespace.known_at(report.known_at, call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        held = await store.lock(ticket_id, owners)
        rows = rows_of(held.ticket, report)
        fresh = _fresh(held, call, rows)
        if not fresh:
            return Reported(held.ticket, replayed=True)
        agent = await Names(connection, call).agent(report.agent)
        holder = Holder(agent.id, call.key.id)
        _require_lease(held, call, holder, fresh)
        stamp = TrialStamp(holder, _own(holder, held.author), known_at, call.now)
        await store.record(ticket_id, fresh, stamp)
        ending = Ending(call.namespace, call.key.id, call.now, known_at)
        await conclude(connection, ending, await store.lock(ticket_id, owners))
        return Reported(await store.get(ticket_id, owners), replayed=False)


async def release(engine: Engine, call: Call, ticket_id: UUID) -> Ticket:
    """Give a ticket back before its lease ends; its holder may, or whoever manages."""
    call.key.require(Act.RETRIEVE)
    async with engine.database.transaction(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        held = await store.lock(ticket_id, owners)
        if held.ticket.state is not TicketState.LEASED:
            raise Conflict("the ticket is not leased", code="ticket_closed", field="ticket_id")
        if held.holder is None or held.holder.key_id != call.key.id:
            call.key.require(Act.MANAGE)
        await _reopen(connection, call, held, {"state": "open"})
        return await store.get(ticket_id, owners)


async def retry(engine: Engine, call: Call, ticket_id: UUID) -> Ticket:
    """Hand a quarantined ticket out again."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        held = await store.lock(ticket_id, owners)
        if held.ticket.state is not TicketState.QUARANTINED:
            raise Conflict("the ticket is not quarantined", code="ticket_closed", field="ticket_id")
        await _reopen(connection, call, held, {"state": "open", "claims": 0})
        return await store.get(ticket_id, owners)


async def cancel(engine: Engine, call: Call, ticket_id: UUID, reason: str | None = None) -> Ticket:
    """Reject a candidate without trying it further."""
    return await _decide(engine, call, ticket_id, (Status.REJECTED, _said("cancelled", reason)))


async def approve(engine: Engine, call: Call, ticket_id: UUID, reason: str | None = None) -> Ticket:
    """Let a candidate in without trying it further. It is served; its source is believed no more
    than before.
    """
    return await _decide(engine, call, ticket_id, (Status.ACTIVE, _said("approved", reason)))


async def _decide(engine: Engine, call: Call, ticket_id: UUID, to: tuple[Status, str]) -> Ticket:
    """A manager's word ends a candidate."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        held = await store.lock(ticket_id, owners)
        if held.ticket.state in CLOSED - {TicketState.QUARANTINED}:
            raise Conflict("the ticket has its end", code="ticket_closed", field="ticket_id")
        ending = Ending(call.namespace, call.key.id, call.now, held.ticket.known_at)
        await end(connection, ending, held, to)
        return await store.get(ticket_id, owners)


def _said(what: str, reason: str | None) -> str:
    """What was done, and the manager's own words if there are any."""
    words = optional(reason, "reason", NAME)
    return what if words is None else f"{what}: {words}"


async def get_ticket(engine: Engine, call: Call, ticket_id: UUID) -> Ticket:
    async with engine.database.transaction(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        return await TicketStore(connection, call.namespace.id).get(ticket_id, owners)


async def list_tickets(
    engine: Engine, call: Call, wanted: TicketFilter, page: Page
) -> Listed[Ticket]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page, owners)
    return listed(found, page, total, lambda ticket: (str(ticket.id),))


async def _stamp(connection: Connection, call: Call) -> Stamp:
    version = await NamespaceStore(connection).bump(call.namespace.id)
    return Stamp(call.key.id, call.now, version)


async def _reopen(
    connection: Connection, call: Call, held: Held, values: dict[str, object]
) -> None:
    """The ticket is free again, and its candidate waits."""
    ticket = held.ticket
    await TicketStore(connection, call.namespace.id).change([ticket.id], values | FREED)
    move = Move((Status.VERIFYING,), Status.PROPOSED, None)
    stamp = await _stamp(connection, call)
    await AdmittingStore(connection, call.namespace.id).move([ticket.memory_id], move, stamp)
    deed = Deed("ticket.reopen", str(ticket.id), {"memory_id": str(ticket.memory_id)})
    await CallStore(connection).note(deed, call.key.id, call.namespace.id, call.now)


def _fresh(held: Held, call: Call, rows: Sequence[TrialRow]) -> list[TrialRow]:
    """The results that are new. Raises Conflict where this key said something else before."""
    fresh: list[TrialRow] = []
    for row in rows:
        digest, key_id = held.digests.get(row.slot, (None, None))
        if digest == row.sha256 and key_id == call.key.id:
            continue
        if digest is not None and key_id == call.key.id:
            raise _told(row.slot)
        fresh.append(row)
    return fresh


def _require_lease(held: Held, call: Call, holder: Holder, rows: Sequence[TrialRow]) -> None:
    """Only who holds the ticket reports, while it is held."""
    ticket = held.ticket
    if ticket.state in CLOSED or not held.current:
        raise Conflict(f"the ticket is {ticket.state}", code="ticket_closed", field="ticket_id")
    if ticket.state is TicketState.OPEN or ticket.lease_until is None:
        raise _lapsed()
    if held.holder != holder:
        raise Forbidden("another agent or key holds this ticket", field="ticket_id")
    if ticket.lease_until <= call.now:
        raise _lapsed()
    known = [row.slot for row in rows if row.slot in held.digests]
    if known:
        raise _told(known[0])


def _lapsed() -> Conflict:
    return Conflict(
        "the lease has lapsed; claim the ticket again", code="lease_lapsed", field="ticket_id"
    )


def _told(slot: int) -> Conflict:
    return Conflict(f"trial {slot} has another result", code="trial_conflict", field="trials")


def _own(holder: Holder, author: Holder) -> bool:
    """Whether somebody tried a candidate of its own: the same agent, or the same key."""
    return holder.agent_id == author.agent_id or holder.key_id == author.key_id
