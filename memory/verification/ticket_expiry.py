"""The job `tickets`: lapsed leases are freed, what nobody tried in time goes on probation, and
probation ends when outcomes have spoken.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.kernel.postgres.database import Connection
from memory.memories.entities import Status
from memory.memories.rules import after_probation
from memory.memories.store.memories import Stamp
from memory.memories.store.status import StatusStore, StatusTransition
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.entities import TicketState
from memory.verification.rules import Decision
from memory.verification.service import FREED, Ending, end, verdict_of
from memory.verification.store.tickets import MAX_CLAIMS, Held, TicketStore


@dataclass(frozen=True, slots=True)
class TicketChange:
    """One change: of a ticket that waits, or (ticket None) of a memory on probation."""

    memory_id: UUID
    ticket_id: UUID | None
    change: str
    to: Status
    weight: float | None = None

    def result(self) -> dict[str, object]:
        ticket = None if self.ticket_id is None else str(self.ticket_id)
        return {
            "memory_id": str(self.memory_id),
            "ticket_id": ticket,
            "change": self.change,
            "weight": self.weight,
        }


@dataclass(frozen=True, slots=True)
class TicketExpiry:
    """What a run would do, or did."""

    examined: int
    changes: tuple[TicketChange, ...]

    def result(self) -> dict[str, object]:
        return {"examined": self.examined, "changes": [change.result() for change in self.changes]}


async def expire_tickets(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> TicketExpiry:
    """Do what is due at `times[0]`; leases run by the server's clock, `times[1]`."""
    now, recorded_at = times
    waiting = await TicketStore(connection, namespace.id).waiting()
    due = [
        (held, change) for held in waiting if (change := _due(namespace, held, times)) is not None
    ]
    ended, examined = await _find_leaving(connection, namespace, now)
    done = TicketExpiry(len(waiting) + examined, (*(change for _, change in due), *ended))
    if dry:
        return done
    ending = Ending(namespace, None, recorded_at, now)
    for held, change in due:
        await _apply(connection, ending, held, change)
    await _leave_probation(connection, ending, ended)
    return done


def _due(namespace: Namespace, held: Held, times: tuple[datetime, datetime]) -> TicketChange | None:
    """What is to be done about a ticket that waits."""
    ticket = held.ticket
    now, recorded_at = times
    if ticket.state is TicketState.LEASED:
        if ticket.lease_until is not None and ticket.lease_until > recorded_at:
            return None
        if ticket.claims >= MAX_CLAIMS:
            return TicketChange(ticket.memory_id, ticket.id, "quarantined", Status.PROPOSED)
    if now - ticket.known_at >= timedelta(days=namespace.settings.verification_days):
        return _overdue(namespace, held)
    if ticket.state is TicketState.LEASED:
        return TicketChange(ticket.memory_id, ticket.id, "lease_freed", Status.PROPOSED)
    return None


def _overdue(namespace: Namespace, held: Held) -> TicketChange:
    """Nobody finished the trials. Those there are may speak against the candidate, never for it:
    or whoever stops after a lucky first one would decide. A literal rule knows no probation.
    """
    ticket = held.ticket
    known = [slot for slot in ticket.trials if slot.reward is not None]
    # A changeset is applied because it was tried, or not at all.
    verdict = verdict_of(namespace, ticket, known)
    kept_out = policy_named(namespace.policy).literal or ticket.rule == "wins"
    if kept_out or verdict.decision is Decision.REJECTED:
        return TicketChange(ticket.memory_id, ticket.id, "rejected", Status.REJECTED)
    return TicketChange(ticket.memory_id, ticket.id, "probation", Status.PROBATION)


async def _apply(connection: Connection, ending: Ending, held: Held, change: TicketChange) -> None:
    if change.change in ("probation", "rejected"):
        reason = "nobody_verified" if change.change == "probation" else "trials_unfinished"
        await end(connection, ending, held, change.to, reason=reason)
        return
    state = TicketState.QUARANTINED if change.change == "quarantined" else TicketState.OPEN
    store = TicketStore(connection, ending.namespace.id)
    await store.change([held.ticket.id], {"state": state.value, **FREED})
    version = await NamespaceStore(connection).bump(ending.namespace)
    move = StatusTransition((Status.VERIFYING,), Status.PROPOSED, change.change)
    stamp = Stamp(None, ending.now, version)
    await StatusStore(connection, ending.namespace.id).move([change.memory_id], move, stamp)


async def _find_leaving(
    connection: Connection, namespace: Namespace, now: datetime
) -> tuple[list[TicketChange], int]:
    """Who leaves probation, and how many are on it. The weight is that of the belief, unhalved."""
    policy = policy_named(namespace.policy)
    served = dict(await StatusStore(connection, namespace.id).list_on_probation())
    states = (await StateStore(connection, namespace.id).load(served)).memories
    changes: list[TicketChange] = []
    for memory_id, credited in sorted(served.items()):
        weight = policy.effective_weight(policy.age_memory(states[memory_id], now), None)
        status = after_probation(weight, credited)
        if status is not None:
            name = "promoted" if status is Status.ACTIVE else "rejected"
            changes.append(TicketChange(memory_id, None, name, status, weight))
    return changes, len(served)


async def _leave_probation(
    connection: Connection, ending: Ending, changes: Sequence[TicketChange]
) -> None:
    for status in (Status.ACTIVE, Status.REJECTED):
        ids = [change.memory_id for change in changes if change.to is status]
        if not ids:
            continue
        fewer = -len(ids) if status is Status.REJECTED else 0
        version = await NamespaceStore(connection).bump(ending.namespace, memories=fewer)
        move = StatusTransition((Status.PROBATION,), status, "outcomes")
        stamp = Stamp(None, ending.now, version)
        await StatusStore(connection, ending.namespace.id).move(ids, move, stamp)
