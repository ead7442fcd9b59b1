"""Constraints that contradict each other: seen when one is admitted, decided by what stands behind
either, or by a person.

The side with more support stays, the other is suspended; with equal support both stay in use and
the contradiction stays open. Evidence may turn a decision of its own, never a person's.
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
from memory.constraints.store.constraints import Peer
from memory.constraints.store.contradictions import (
    ContradictionStore,
    Found,
    Quarrel,
    Side,
    Verdict,
)
from memory.constraints.store.support import SupportStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.memories.entities import Status, Trust, Viewer
from memory.memories.store.memories import MemoryStore, Stamp
from memory.memories.store.queries import MemoryReader
from memory.tenancy.entities import Act, AuditEvent, Call, Clock, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore

CONTRADICTED = "contradicted"
"""Why a constraint is suspended that lost."""


NO_SUPPORT = "no_support"
"""Why a constraint waits."""


EVIDENCE = "evidence"
"""Why a contradiction is resolved that no person decided."""


IN_USE = frozenset({Status.ACTIVE, Status.PROBATION})


CONTENDING = IN_USE | {Status.PROPOSED}


@dataclass(frozen=True, slots=True)
class Desk:
    """Where constraints are changed: in whose transaction, by which key, and when."""

    connection: Connection
    namespace: Namespace
    key_id: UUID | None
    now: datetime

    async def stamp(self, memories: int = 0) -> Stamp:
        """A version of the bank for the next change, so that caches hear of each."""
        version = await NamespaceStore(self.connection).bump(self.namespace.id, memories=memories)
        return Stamp(self.key_id, self.now, version)


async def detect(desk: Desk, what: tuple[UUID, UUID, Wording], peers: Sequence[Peer]) -> None:
    """Link the constraint (id, category, wording) with those it contradicts, and decide."""
    memory_id, category_id, wording = what
    store = ContradictionStore(desk.connection, desk.namespace.id)
    for peer in peers:
        reason = _against(wording, peer)
        if reason is not None:
            found = Found((memory_id, peer.id), category_id, reason, min(1.0, peer.trigger))
            await store.link(found, desk.now)
    await settle(desk, memory_id)


def _against(wording: Wording, peer: Peer) -> str | None:
    """How the peer contradicts it, where the peer is one to contend with."""
    theirs = wording_of(peer.detail)
    stands = _contends(Side(peer.id, peer.status, peer.status_reason))
    if not stands or theirs is None or peer.trust == Trust.QUARANTINED:
        return None
    return opposed(wording, theirs, nearness(peer))


def nearness(peer: Peer) -> Nearness:
    crossed = (peer.enforce_avoid, peer.avoid_enforce)
    return Nearness(peer.trigger, peer.lesson, peer.enforce, peer.avoid, crossed)


async def settle(desk: Desk, memory_id: UUID) -> None:
    """Decide by evidence what this constraint takes part in; what is decided so stays so."""
    store = ContradictionStore(desk.connection, desk.namespace.id)
    quarrels = [q for q in await store.quarrels(memory_id) if _contends(q.first, q.second)]
    if not quarrels:
        return
    ids = sorted({side.id for q in quarrels for side in (q.first, q.second)})
    strengths = await _strengths(desk, ids)
    for quarrel in quarrels:
        keep = stronger(strengths[quarrel.first.id], strengths[quarrel.second.id])
        if keep is None:
            await _leave_open(store, quarrel)
        elif keep != quarrel.resolution:
            verdict = Verdict(keep, EVIDENCE, None, desk.now)
            await store.decide(quarrel.id, verdict)
            await _carry_out(desk, quarrel.id, quarrel.first, keep in ("first", "both"))
            await _carry_out(desk, quarrel.id, quarrel.second, keep in ("second", "both"))


async def weaken(desk: Desk, memory_ids: Sequence[UUID]) -> None:
    """These lost support: what all agents see and nothing counts for any more waits for new."""
    counts = await SupportStore(desk.connection, desk.namespace.id).counts(memory_ids)
    store = MemoryStore(desk.connection, desk.namespace.id)
    for memory_id, status in (await _shared(desk, memory_ids)).items():
        if status in IN_USE and counts[memory_id].tasks == 0:
            step = (status, Status.PROPOSED)
            await store.set_status(memory_id, step, NO_SUPPORT, await desk.stamp())
        await settle(desk, memory_id)


async def _shared(desk: Desk, memory_ids: Sequence[UUID]) -> dict[UUID, Status]:
    reader = MemoryReader(desk.connection, desk.namespace.id, Viewer())
    return {memory.id: memory.status for memory in await reader.some(memory_ids)}


def _contends(*sides: Side) -> bool:
    """Whether none of them was stopped by someone; what lost to another may yet come back."""
    return all(side.status in CONTENDING or side.reason == CONTRADICTED for side in sides)


async def _leave_open(store: ContradictionStore, quarrel: Quarrel) -> None:
    """Equal again while both are in use: nothing is decided any more."""
    if quarrel.resolution and {quarrel.first.status, quarrel.second.status} <= IN_USE:
        await store.reopen(quarrel.id)


async def _strengths(desk: Desk, ids: Sequence[UUID]) -> dict[UUID, Strength]:
    supports = await SupportStore(desk.connection, desk.namespace.id).counts(ids)
    states = (await StateStore(desk.connection, desk.namespace.id).load(ids)).memories
    policy = policy_named(desk.namespace.policy)
    replay = desk.namespace.clock is Clock.REPLAY
    at = desk.namespace.newest_known_at if replay else desk.now

    def strength(memory_id: UUID) -> Strength:
        counts = supports.get(memory_id, SupportCounts())
        state = states[memory_id]
        aged = policy.age_memory(state, at) if at else state
        return Strength(counts.tasks, counts.families, policy.effective_weight(aged, None))

    return {memory_id: strength(memory_id) for memory_id in ids}


async def _carry_out(desk: Desk, contradiction_id: UUID, side: Side, stays: bool) -> None:  # noqa: FBT001 - the one thing decided
    """What stays comes back if it was suspended as a loser; what does not is suspended."""
    status = Status(side.status)
    store = MemoryStore(desk.connection, desk.namespace.id)
    if not stays and status in IN_USE:
        step = (status, Status.SUSPENDED)
        await store.set_status(side.id, step, CONTRADICTED, await desk.stamp())
    lost = status is Status.SUSPENDED and side.reason == CONTRADICTED
    if not stays or not lost:
        return
    contradictions = ContradictionStore(desk.connection, desk.namespace.id)
    if not await contradictions.lost(side.id, contradiction_id):
        counts = await SupportStore(desk.connection, desk.namespace.id).counts([side.id])
        supported = counts[side.id].tasks > 0
        step = (Status.SUSPENDED, Status.ACTIVE if supported else Status.PROPOSED)
        reason = None if supported else NO_SUPPORT
        await store.set_status(side.id, step, reason, await desk.stamp())


async def list_contradictions(
    engine: Engine, call: Call, state: str | None, page: Page
) -> Listed[Contradiction]:
    """Oldest first; None lists the open and the resolved ones."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ContradictionStore(connection, call.namespace.id).browse(state, page)


async def get_contradiction(engine: Engine, call: Call, contradiction_id: UUID) -> Contradiction:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ContradictionStore(connection, call.namespace.id).get(contradiction_id)


async def resolve(
    engine: Engine, call: Call, contradiction_id: UUID, resolution: Resolution
) -> Contradiction:
    """A person decides, over what evidence said; once."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ContradictionStore(connection, call.namespace.id)
        # Whoever settles by evidence holds the version, so nothing is decided beside this.
        await NamespaceStore(connection).bump(call.namespace.id, steps=0)
        known = await store.get(contradiction_id)
        if known.state == "resolved" and known.resolution_reason != EVIDENCE:
            raise Conflict("it was decided", code="contradiction_resolved", field="id")
        keep = resolution.keep
        reason = resolution.reason or "decided"
        await store.decide(contradiction_id, Verdict(keep, reason, call.key.id, call.now))
        desk = Desk(connection, call.namespace, call.key.id, call.now)
        sides = await store.sides([known.first_id, known.second_id])
        for name, memory_id in (("first", known.first_id), ("second", known.second_id)):
            if memory_id in sides:
                await _carry_out(desk, known.id, sides[memory_id], keep in (name, "both"))
        detail = {"keep": keep, "reason": resolution.reason}
        event = AuditEvent("contradiction.resolve", str(contradiction_id), detail)
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return await get_contradiction(engine, call, contradiction_id)
