"""Candidates come to an end: admitted, rejected, or on probation where nobody tried them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import fsum
from uuid import UUID

from memory.bank.admission import Anchor, Decision, Reference, Trial, Verdict, admission
from memory.bank.planning import Purpose
from memory.domain.bank import Status, Trust
from memory.domain.namespace import Namespace
from memory.domain.verification import TrialSlot
from memory.storage.admitting import CANDIDATES, AdmittingStore, Move
from memory.storage.calls import CallStore, Deed
from memory.storage.database import Connection
from memory.storage.memories import Stamp
from memory.storage.namespaces import NamespaceStore
from memory.storage.tickets import Held, TicketStore

FREED = {"leased_agent_id": None, "leased_key_id": None, "lease_until": None}
"""Of a ticket that nobody holds."""

DECISIONS = {
    Status.ACTIVE: "admitted",
    Status.REJECTED: "rejected",
    Status.PROBATION: "probation",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """Where, by whom (None: by a job), and when a candidate ends; `known_at`: when that was
    known.
    """

    namespace: Namespace
    key_id: UUID | None
    now: datetime
    known_at: datetime


def verdict_of(trials: Sequence[TrialSlot], reward_kind: str) -> Verdict:
    """What the trials of a ticket say, as they are."""
    tried = [slot for slot in trials if slot.purpose != Purpose.ANCHOR]
    return admission(
        [Trial(s.task_id, s.reward, same_task=s.purpose == Purpose.SOURCE) for s in tried],
        _references(tried),
        reward_kind,
        [Anchor(s.reference or 0.0, s.reward) for s in trials if s.purpose == Purpose.ANCHOR],
    )


def _references(trials: Sequence[TrialSlot]) -> Mapping[UUID, Reference]:
    """By task: what was known before, else what the trials brought along."""
    known: dict[UUID, Reference] = {}
    for task in {slot.task_id for slot in trials}:
        slots = [slot for slot in trials if slot.task_id == task]
        stored = next((slot.reference for slot in slots if slot.reference is not None), None)
        brought = [slot.reward_without for slot in slots if slot.reward_without is not None]
        if stored is not None:
            known[task] = Reference(stored)
        elif brought:
            known[task] = Reference(fsum(brought) / len(brought), len(brought))
    return known


async def conclude(connection: Connection, ending: Ending, held: Held) -> None:
    """End the candidate if its trials say how."""
    ticket = held.ticket
    verdict = verdict_of(ticket.trials, ticket.reward_kind)
    if verdict.decision is Decision.UNDECIDED:
        return
    admitted = verdict.decision is Decision.ADMITTED
    to = Status.ACTIVE if admitted else Status.REJECTED
    await end(connection, ending, held, (to, verdict.reason), verdict.evidence)


async def end(
    connection: Connection,
    ending: Ending,
    held: Held,
    to: tuple[Status, str],
    evidence: str | None = None,
) -> None:
    """Close the ticket and move its memory; the caller has locked the ticket."""
    ticket, (status, reason) = held.ticket, to
    fewer = -1 if status is Status.REJECTED else 0
    namespaces = NamespaceStore(connection)
    version = await namespaces.bump(ending.namespace.id, memories=fewer)
    stamp = Stamp(ending.key_id, ending.now, version)
    entering = status is not Status.REJECTED
    move = Move(
        CANDIDATES,
        status,
        reason,
        # Nobody could have used it before it was let in.
        learned_at=ending.known_at if entering else None,
        trust=Trust.TRUSTED if status is Status.ACTIVE and _independent(ticket.trials) else None,
    )
    moved = await AdmittingStore(connection, ending.namespace.id).move(
        [ticket.memory_id], move, stamp
    )
    if not moved:
        await namespaces.recount(ending.namespace.id, -fewer)
    values = {
        "state": "expired" if status is Status.PROBATION or not moved else "decided",
        "decision": DECISIONS[status] if moved else None,
        "reason": reason if moved else "memory_gone",
        "evidence": evidence,
        "decided_at": ending.now,
    }
    await TicketStore(connection, ending.namespace.id).change([ticket.id], values)
    if not moved:
        return
    deed = Deed(f"memory.{DECISIONS[status]}", str(ticket.memory_id), {"ticket": str(ticket.id)})
    await CallStore(connection).note(deed, ending.key_id, ending.namespace.id, ending.now)


def _independent(trials: Sequence[TrialSlot]) -> bool:
    """Whether others than the author ran every trial."""
    return all(slot.self_verified is False for slot in trials)
