"""Candidates are tried: claimed by an agent, run by it, judged by what the runs brought."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from math import fsum
from uuid import UUID

from memory.belief.policy import policy_named
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, Rejected
from memory.kernel.metrics import reward_of
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.kernel.text import ANSWERS_BYTES, NAME, cleaned_json, optional
from memory.memories.entities import Status, Trust
from memory.memories.service import viewer
from memory.memories.store.memories import Stamp
from memory.memories.store.status import CANDIDATES, StatusStore, StatusTransition
from memory.tasks.service import NameResolver
from memory.tenancy.entities import Act, AuditEvent, Call, Key, Namespace
from memory.tenancy.parties import speak_as_one
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.keys import KeyStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.changeset_applying import can_apply, settle
from memory.verification.entities import (
    Ticket,
    TicketClaim,
    TicketFilter,
    TicketState,
    TrialReport,
    TrialResult,
    TrialSlot,
    TrialsReported,
)
from memory.verification.rules import (
    Anchor,
    Decision,
    Reference,
    RewardPair,
    Trial,
    TrialPurpose,
    TrialVerdict,
    admission,
    more_wins,
)
from memory.verification.store.tickets import (
    Claimable,
    Held,
    Holder,
    TicketStore,
    TrialRow,
    TrialStamp,
)

LEASE = timedelta(minutes=30)


CLOSED = frozenset({TicketState.DECIDED, TicketState.EXPIRED, TicketState.QUARANTINED})


async def claim(engine: Engine, call: Call, wanted: TicketClaim) -> list[Ticket]:
    """Lease candidates to an agent for half an hour; none twice, however many ask at once."""
    call.key.require(Act.RETRIEVE)
    call.key.require_agent(wanted.agent)
    async with engine.database.effect(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        agent = await NameResolver(connection, call).ensure_agent(wanted.agent)
        store = TicketStore(connection, call.namespace.id)
        scope = Claimable(owners, wanted.category, wanted.limit, call.now)
        leased = await store.lease(Holder(agent.id, call.key.id), scope, call.now + LEASE)
        if leased:
            stamp = await _stamp(connection, call)
            move = StatusTransition((Status.PROPOSED,), Status.VERIFYING, "claimed")
            await StatusStore(connection, call.namespace.id).move(
                sorted(leased.values()), move, stamp
            )
        return [await store.get(ticket_id, owners) for ticket_id in sorted(leased)]


async def report_trials(
    engine: Engine, call: Call, ticket_id: UUID, report: TrialReport
) -> TrialsReported:
    """Take what the holder found out; the last trial decides."""
    call.key.require(Act.REPORT)
    call.key.require_agent(report.agent)
    known_at = call.namespace.known_at(report.known_at, call.now)
    async with engine.database.effect(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        held = await store.lock(ticket_id, owners)
        rows = score_trials(held.ticket, report)
        fresh = _new_results(held, call, rows)
        if not fresh:
            return TrialsReported(held.ticket, replayed=True)
        agent = await NameResolver(connection, call).ensure_agent(report.agent)
        holder = Holder(agent.id, call.key.id)
        _require_lease(held, call, holder, fresh)
        own = await _is_own(connection, call.key, holder, held.author)
        stamp = TrialStamp(holder, own, known_at, call.now)
        await store.record(ticket_id, fresh, stamp)
        ending = Ending(call.namespace, call.key.id, call.now, known_at)
        await conclude(connection, ending, await store.lock(ticket_id, owners))
        return TrialsReported(await store.get(ticket_id, owners), replayed=False)


async def release(engine: Engine, call: Call, ticket_id: UUID) -> Ticket:
    """Give a ticket back before its lease ends; its holder may, or whoever manages."""
    call.key.require(Act.RETRIEVE)
    async with engine.database.effect(call.namespace.id) as connection:
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
    async with engine.database.effect(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        held = await store.lock(ticket_id, owners)
        if held.ticket.state is not TicketState.QUARANTINED:
            raise Conflict("the ticket is not quarantined", code="ticket_closed", field="ticket_id")
        await _reopen(connection, call, held, {"state": "open", "claims": 0})
        return await store.get(ticket_id, owners)


async def cancel(engine: Engine, call: Call, ticket_id: UUID, reason: str | None = None) -> Ticket:
    """Reject a candidate without trying it further."""
    verdict = ManualVerdict(Status.REJECTED, "cancelled", reason)
    return await _decide(engine, call, ticket_id, verdict)


async def approve(engine: Engine, call: Call, ticket_id: UUID, reason: str | None = None) -> Ticket:
    """Let a candidate in without trying it further. It is served; its source is believed no more
    than before.
    """
    return await _decide(engine, call, ticket_id, ManualVerdict(Status.ACTIVE, "approved", reason))


@dataclass(frozen=True, slots=True)
class ManualVerdict:
    """What a manager decides of a candidate, and in whose words why."""

    status: Status
    action: str
    words: str | None

    @property
    def reason(self) -> str:
        words = optional(self.words, "reason", NAME)
        return self.action if words is None else f"{self.action}: {words}"


async def _decide(engine: Engine, call: Call, ticket_id: UUID, verdict: ManualVerdict) -> Ticket:
    """A manager's word ends a candidate."""
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        owners = (await viewer(connection, call)).owners
        store = TicketStore(connection, call.namespace.id)
        held = await store.lock(ticket_id, owners)
        if held.ticket.state in CLOSED - {TicketState.QUARANTINED}:
            raise Conflict("the ticket is closed already", code="ticket_closed", field="ticket_id")
        ending = Ending(call.namespace, call.key.id, call.now, held.ticket.known_at)
        await end(connection, ending, held, verdict.status, reason=verdict.reason)
        return await store.get(ticket_id, owners)


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
    version = await NamespaceStore(connection).bump(call.namespace)
    return Stamp(call.key.id, call.now, version)


async def _reopen(
    connection: Connection, call: Call, held: Held, values: dict[str, object]
) -> None:
    """The ticket is free again, and its candidate waits."""
    ticket = held.ticket
    await TicketStore(connection, call.namespace.id).change([ticket.id], values | FREED)
    move = StatusTransition((Status.VERIFYING,), Status.PROPOSED, None)
    stamp = await _stamp(connection, call)
    await StatusStore(connection, call.namespace.id).move([ticket.memory_id], move, stamp)
    event = AuditEvent("ticket.reopen", str(ticket.id), {"memory_id": str(ticket.memory_id)})
    await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)


def _new_results(held: Held, call: Call, rows: Sequence[TrialRow]) -> list[TrialRow]:
    """The results that are new. Raises Conflict where this key said something else before."""
    fresh: list[TrialRow] = []
    for row in rows:
        digest, key_id = held.digests.get(row.slot, (None, None))
        if digest == row.sha256 and key_id == call.key.id:
            continue
        if digest is not None and key_id == call.key.id:
            raise _contradicted(row.slot)
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
        raise _contradicted(known[0])


def _lapsed() -> Conflict:
    return Conflict(
        "the lease has lapsed; claim the ticket again", code="lease_lapsed", field="ticket_id"
    )


def _contradicted(slot: int) -> Conflict:
    return Conflict(
        f"trial {slot} was reported with another result", code="trial_conflict", field="trials"
    )


async def _is_own(connection: Connection, key: Key, holder: Holder, author: Holder) -> bool:
    """Whether a party tried a candidate of its own: by the keys' word, for other names prove
    nothing; and where the names are the same, that is said openly.
    """
    if author.key_id is None or holder.agent_id == author.agent_id:
        return holder.agent_id == author.agent_id
    writers = await KeyStore(connection).some([author.key_id])
    return any(speak_as_one(key, writer) for writer in writers.values())


def score_trials(ticket: Ticket, report: TrialReport) -> list[TrialRow]:
    """One row a result. Raises Rejected naming the result and what is wrong with it."""
    if report.metric != ticket.metric:
        raise Rejected(
            f"the ticket's rewards are in {ticket.metric}", field="metric", limit=ticket.metric
        )
    numbers = [result.slot for result in report.trials]
    if len(set(numbers)) < len(numbers):
        raise Rejected("a trial is reported twice in one report", field="trials")
    return [_score_trial(ticket, report, place) for place in range(len(report.trials))]


def _score_trial(ticket: Ticket, report: TrialReport, place: int) -> TrialRow:
    result, field = report.trials[place], f"trials.{place}"
    slot = next((slot for slot in ticket.trials if slot.slot == result.slot), None)
    if slot is None:
        raise Rejected(
            f"the ticket has trials 0…{len(ticket.trials) - 1}",
            field=f"{field}.slot",
            limit=len(ticket.trials) - 1,
        )
    by_reward = ticket.metric == "reward"
    stray = result.value if by_reward else result.reward
    if stray is not None:
        path = f"{field}.{'value' if by_reward else 'reward'}"
        raise Rejected(f"the ticket's rewards are in {ticket.metric}", field=path)
    acted = result.reward if by_reward else result.value
    reward = _reward(ticket, acted, result.truth, field)
    without = None
    if result.without is not None:
        brought = result.without.reward if by_reward else result.without.value
        without = _reward(ticket, brought, result.truth, f"{field}.without")
    elif slot.reference is None:
        raise Rejected(
            "nothing is known of this task: report a run without the candidate too",
            field=f"{field}.without",
        )
    raw = _numbers(result)
    text = json.dumps([report.agent, report.metric, raw], sort_keys=True, default=str)
    return TrialRow(result.slot, reward, without, raw, sha256(text.encode()).digest())


def _reward(ticket: Ticket, value: object, truth: object, field: str) -> float:
    try:
        reward = reward_of(ticket.metric, value, truth)
    except Rejected as fault:
        named = "reward" if ticket.metric == "reward" else fault.field
        path = f"{field}.{named}"
        raise Rejected(f"{field}: {fault.detail}", field=path, limit=fault.limit) from fault
    if ticket.reward_kind == "binary" and reward not in (0.0, 1.0):
        raise Rejected("a binary reward is 0 or 1", field=f"{field}.reward", limit=[0, 1])
    return reward


def _numbers(result: TrialResult) -> dict[str, object]:
    """The numbers as they came, for whoever recomputes."""
    parts: Mapping[str, object | None] = {
        "reward": result.reward,
        "value": result.value,
        "truth": result.truth,
        "without": None if result.without is None else result.without.stored(),
    }
    present = {name: part for name, part in parts.items() if part is not None}
    return cleaned_json(present, "trials", ANSWERS_BYTES)


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


def verdict_of(
    namespace: Namespace, ticket: Ticket, trials: Sequence[TrialSlot] | None = None
) -> TrialVerdict:
    """What the trials of a ticket say, as they are, or these of them."""
    trials = ticket.trials if trials is None else trials
    if ticket.rule == "wins":
        return more_wins([RewardPair(_before(slot), slot.reward) for slot in trials])
    tried = [slot for slot in trials if slot.purpose != TrialPurpose.ANCHOR]
    return admission(
        [Trial(s.task_id, s.reward, same_task=s.purpose == TrialPurpose.SOURCE) for s in tried],
        _references(tried),
        ticket.reward_kind,
        [Anchor(s.reference or 0.0, s.reward) for s in trials if s.purpose == TrialPurpose.ANCHOR],
        literal=policy_named(namespace.policy).literal,
    )


def _before(slot: TrialSlot) -> float | None:
    return slot.reference if slot.reference is not None else slot.reward_without


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
    verdict = verdict_of(ending.namespace, ticket)
    if verdict.decision is Decision.UNDECIDED:
        return
    admitted = verdict.decision is Decision.ADMITTED
    to = Status.ACTIVE if admitted else Status.REJECTED
    await end(connection, ending, held, to, reason=verdict.reason, evidence=verdict.evidence)


async def end(
    connection: Connection,
    ending: Ending,
    held: Held,
    status: Status,
    *,
    reason: str,
    evidence: str | None = None,
) -> None:
    """Close the ticket and move its memory; the caller has locked the ticket."""
    ticket = held.ticket
    entering = ticket.rule == "wins" and status is Status.ACTIVE
    if entering and not await can_apply(connection, ending.namespace.id, ticket.id):
        status, reason = Status.REJECTED, "changed_since"
    fewer = -1 if status is Status.REJECTED else 0
    namespaces = NamespaceStore(connection)
    version = await namespaces.bump(ending.namespace, memories=fewer)
    stamp = Stamp(ending.key_id, ending.now, version)
    entering = status is not Status.REJECTED
    move = StatusTransition(
        CANDIDATES,
        status,
        reason,
        # Nobody could have used it before it was let in.
        learned_at=ending.known_at if entering else None,
        trust=Trust.TRUSTED if status is Status.ACTIVE and _independent(ticket.trials) else None,
    )
    moved = await StatusStore(connection, ending.namespace.id).move([ticket.memory_id], move, stamp)
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
    if ticket.rule == "wins":
        applied_at = ending.known_at if moved and status is Status.ACTIVE else None
        await settle(connection, ending.namespace.id, ticket.id, stamp, applied_at)
    if not moved:
        return
    event = AuditEvent(
        f"memory.{DECISIONS[status]}", str(ticket.memory_id), {"ticket": str(ticket.id)}
    )
    await CallStore(connection).record(event, ending.key_id, ending.namespace.id, ending.now)


def _independent(trials: Sequence[TrialSlot]) -> bool:
    """Whether others than the author ran every trial."""
    return all(slot.self_verified is False for slot in trials)
