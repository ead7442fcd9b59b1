"""Constraints that contradict each other: seen when one is admitted, decided by what stands behind
either, or by a person.

What is proven stays before what is not; then the side with more support stays, and the other is
suspended. With equal support both stay in use and the contradiction stays open: a proposal turns
nobody out. Evidence may turn a decision of its own, never a person's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.constraints.entities import (
    Contradiction,
    Resolution,
    SupportCounts,
    Wording,
    wording_of,
)
from memory.constraints.merging import Nearness, Strength, opposed, stronger
from memory.constraints.proof import reason_to_wait
from memory.constraints.store.constraints import Peer
from memory.constraints.store.contradictions import (
    ContradictionDecision,
    ContradictionSide,
    ContradictionStore,
    NewContradiction,
    UndecidedContradiction,
)
from memory.constraints.store.examined import ExaminedRunStore
from memory.constraints.store.support import SupportStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.memories.entities import Status, Trust, Viewer
from memory.memories.service import hide_private
from memory.memories.store.memories import MemoryStore, Stamp
from memory.memories.store.queries import MemoryReader
from memory.tenancy.entities import Act, AuditEvent, Call, Clock, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore

CONTRADICTED = "contradicted"
"""Why a constraint is suspended that lost."""


EVIDENCE = "evidence"
"""Why a contradiction is resolved that no person decided."""


IN_USE = frozenset({Status.ACTIVE, Status.PROBATION})


CONTENDING = IN_USE | {Status.PROPOSED}


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """Where constraints are changed: in whose transaction, by which key, and when."""

    connection: Connection
    namespace: Namespace
    key_id: UUID | None
    now: datetime

    async def stamp(self, memories: int = 0) -> Stamp:
        """A version of the bank for the next change, so that caches hear of each."""
        version = await NamespaceStore(self.connection).bump(self.namespace, memories=memories)
        return Stamp(self.key_id, self.now, version)


@dataclass(frozen=True, slots=True)
class Contender:
    """A constraint that may contradict others of its category."""

    memory_id: UUID
    category_id: UUID
    wording: Wording


async def detect_contradictions(
    context: ChangeContext, contender: Contender, peers: Sequence[Peer]
) -> None:
    """Link the constraint with those it contradicts, and decide."""
    store = ContradictionStore(context.connection, context.namespace.id)
    for peer in peers:
        reason = _conflict(contender.wording, peer)
        if reason is not None:
            ids = (contender.memory_id, peer.id)
            likeness = min(1.0, peer.trigger)
            found = NewContradiction(ids, contender.category_id, reason, likeness)
            await store.link(found, context.now)
    await decide_by_evidence(context, contender.memory_id)


def _conflict(wording: Wording, peer: Peer) -> str | None:
    """How the peer contradicts it, where the peer is one to contend with."""
    theirs = wording_of(peer.detail)
    contends = _contends(ContradictionSide(peer.id, peer.status, peer.status_reason))
    if not contends or theirs is None or peer.trust == Trust.QUARANTINED:
        return None
    return opposed(wording, theirs, nearness(peer))


def nearness(peer: Peer) -> Nearness:
    crossed = (peer.enforce_avoid, peer.avoid_enforce)
    return Nearness(peer.trigger, peer.lesson, peer.enforce, peer.avoid, crossed)


async def decide_by_evidence(context: ChangeContext, memory_id: UUID) -> None:
    """Decide what this constraint takes part in; what is decided so stays so."""
    store = ContradictionStore(context.connection, context.namespace.id)
    undecided = await store.undecided(memory_id)
    contradictions = [one for one in undecided if _contends(one.first, one.second)]
    if not contradictions:
        return
    ids = sorted({side.id for one in contradictions for side in (one.first, one.second)})
    strengths = await _load_strengths(context, ids)
    for one in contradictions:
        keep = stronger(strengths[one.first.id], strengths[one.second.id])
        if keep is None:
            await _leave_open(store, one)
        else:
            if keep != one.resolution:
                await store.decide(one.id, ContradictionDecision(keep, EVIDENCE, None, context.now))
            # Also where it was decided before: the loser may have come into use since.
            await _apply_decision(context, one.id, one.first, stays=keep in ("first", "both"))
            await _apply_decision(context, one.id, one.second, stays=keep in ("second", "both"))


async def settle(context: ChangeContext, memory_ids: Sequence[UUID]) -> None:
    """Their support changed: what all agents see comes into use where it is proven, and else waits
    for more.
    """
    reasons = await reasons_to_wait(context, memory_ids)
    reader = MemoryReader(context.connection, context.namespace.id, Viewer())
    for one in await reader.some(memory_ids):
        reason = reasons[one.id]
        if one.status is Status.PROPOSED and one.trust is not Trust.QUARANTINED:
            if reason is None:
                step = (Status.PROPOSED, Status.ACTIVE)
                store = MemoryStore(context.connection, context.namespace.id)
                await store.set_status(one.id, step, None, await context.stamp())
            elif reason != one.status_reason:
                await make_wait(context, one.id, one.status, reason)
        elif one.status in IN_USE and reason is not None:
            await make_wait(context, one.id, one.status, reason)
        await decide_by_evidence(context, one.id)


async def make_wait(context: ChangeContext, memory_id: UUID, status: Status, reason: str) -> None:
    """It is a proposal from now on, and says why."""
    store = MemoryStore(context.connection, context.namespace.id)
    step = (status, Status.PROPOSED)
    await store.set_status(memory_id, step, reason, await context.stamp())


async def reasons_to_wait(
    context: ChangeContext, memory_ids: Sequence[UUID]
) -> dict[UUID, str | None]:
    """Why each waits, or would; None where it is proven, and the test of checks lets it in where it
    was tried. The word of who manages the bank goes before the test.
    """
    pieces = await SupportStore(context.connection, context.namespace.id).pieces(memory_ids)
    store = ExaminedRunStore(context.connection, context.namespace.id)
    tested = await store.reasons(memory_ids)
    found: dict[UUID, str | None] = {}
    for memory_id in memory_ids:
        support = pieces.get(memory_id, ())
        found[memory_id] = reason_to_wait(support)
        if found[memory_id] is None and all(piece.verdicts is not None for piece in support):
            found[memory_id] = tested.get(memory_id)
    return found


def _contends(*sides: ContradictionSide) -> bool:
    """Whether none of them was stopped by someone; what lost to another may yet come back."""
    return all(side.status in CONTENDING or side.reason == CONTRADICTED for side in sides)


async def _leave_open(store: ContradictionStore, contradiction: UndecidedContradiction) -> None:
    """Equal again while both are in use: nothing is decided any more."""
    statuses = {contradiction.first.status, contradiction.second.status}
    if contradiction.resolution and statuses <= IN_USE:
        await store.reopen(contradiction.id)


async def _load_strengths(context: ChangeContext, ids: Sequence[UUID]) -> dict[UUID, Strength]:
    supports = await SupportStore(context.connection, context.namespace.id).counts(ids)
    reasons = await reasons_to_wait(context, ids)
    states = (await StateStore(context.connection, context.namespace.id).load(ids)).memories
    policy = policy_named(context.namespace.policy)
    replay = context.namespace.clock is Clock.REPLAY
    at = context.namespace.newest_known_at if replay else context.now

    def strength(memory_id: UUID) -> Strength:
        counts = supports.get(memory_id, SupportCounts())
        state = states[memory_id]
        aged = policy.age_memory(state, at) if at else state
        weight = policy.effective_weight(aged, None)
        return Strength(reasons[memory_id] is None, counts.tasks, counts.families, weight)

    return {memory_id: strength(memory_id) for memory_id in ids}


async def _apply_decision(
    context: ChangeContext, contradiction_id: UUID, side: ContradictionSide, *, stays: bool
) -> None:
    """What stays comes back if it was suspended as a loser; what does not is suspended."""
    status = Status(side.status)
    store = MemoryStore(context.connection, context.namespace.id)
    if not stays and status in IN_USE:
        step = (status, Status.SUSPENDED)
        await store.set_status(side.id, step, CONTRADICTED, await context.stamp())
    lost = status is Status.SUSPENDED and side.reason == CONTRADICTED
    if not stays or not lost:
        return
    contradictions = ContradictionStore(context.connection, context.namespace.id)
    if not await contradictions.has_lost(side.id, contradiction_id):
        reason = (await reasons_to_wait(context, [side.id]))[side.id]
        step = (Status.SUSPENDED, Status.ACTIVE if reason is None else Status.PROPOSED)
        await store.set_status(side.id, step, reason, await context.stamp())


async def list_contradictions(
    engine: Engine, call: Call, state: str | None, page: Page
) -> Listed[Contradiction]:
    """Oldest first; None lists the open and the resolved ones."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await ContradictionStore(connection, call.namespace.id).browse(state, page)
        return await hide_private(connection, call, found)


async def get_contradiction(engine: Engine, call: Call, contradiction_id: UUID) -> Contradiction:
    async with engine.database.transaction(call.namespace.id) as connection:
        known = await ContradictionStore(connection, call.namespace.id).get(contradiction_id)
        return await hide_private(connection, call, known)


async def resolve_contradiction(
    engine: Engine, call: Call, contradiction_id: UUID, resolution: Resolution
) -> Contradiction:
    """A person decides, over what evidence said; once."""
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        store = ContradictionStore(connection, call.namespace.id)
        # Whoever decides by evidence holds the version, so nothing is decided beside this.
        await NamespaceStore(connection).bump(call.namespace, steps=0)
        known = await store.get(contradiction_id)
        if known.state == "resolved" and known.resolution_reason != EVIDENCE:
            raise Conflict(
                "somebody has decided this contradiction already",
                code="contradiction_resolved",
                field="id",
            )
        keep = resolution.keep
        reason = resolution.reason or "decided"
        await store.decide(
            contradiction_id, ContradictionDecision(keep, reason, call.key.id, call.now)
        )
        context = ChangeContext(connection, call.namespace, call.key.id, call.now)
        sides = await store.sides([known.first_id, known.second_id])
        for name, memory_id in (("first", known.first_id), ("second", known.second_id)):
            if memory_id in sides:
                stays = keep in (name, "both")
                await _apply_decision(context, known.id, sides[memory_id], stays=stays)
        detail = {"keep": keep, "reason": resolution.reason}
        event = AuditEvent("contradiction.resolve", str(contradiction_id), detail)
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        return await store.get(contradiction_id)
