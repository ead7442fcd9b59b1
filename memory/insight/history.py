"""The ledger read backwards: the bank at a moment, the difference of two, what if, and rebuild."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Cell, Entry, Learn, Learned, fold
from memory.belief.policy import Policy, policy_named
from memory.belief.state_mapping import Subject, diff_states
from memory.belief.store.ledger import OPEN, LedgerStore
from memory.belief.store.states import StateStore
from memory.insight.entities import (
    MAX_CHANGES,
    BankDifference,
    MemoryChange,
    PastWeight,
    RebuildResult,
    StrengthChange,
    WeightChange,
)
from memory.insight.foresight import WeightRecorder, compare_foresight
from memory.insight.service import ActorNames, load_names, present
from memory.insight.what_if_entities import (
    FloorChange,
    Foresight,
    WeightMoves,
    WhatIf,
    WhatIfResult,
)
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.memories.browse_entities import BankMoment
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.memories.store.snapshots import Snapshot, SnapshotStore
from memory.receipts.rebuild import (
    NO_LONGER_KEPT,
    ledger,
    past_states,
    rebuilt,
    require_whole,
)
from memory.retrieval.ranking import gates, strength_in
from memory.tenancy.entities import POLICIES, Act, Call, Clock, Namespace
from memory.tenancy.namespace_settings import change_preset, settle
from memory.tenancy.store.namespaces import NamespaceStore

log = logging.getLogger(__name__)

REBUILD = "rebuild"
"""The job that compares the live states with the ledger."""


@dataclass(frozen=True, slots=True)
class Bank:
    """States at a moment, and by which policy and aged to which time weights are read."""

    states: Learned
    policy: Policy
    at: datetime

    def weights(self) -> dict[UUID, float]:
        """Effective weights, for no agent in particular."""
        return {
            memory_id: self.policy.effective_weight(self.policy.age_memory(state, self.at), None)
            for memory_id, state in self.states.memories.items()
        }

    def strength(self, cell: Cell, *, own_information: bool) -> float:
        if cell not in self.states.strengths:
            return 0.0 if own_information else 1.0
        return strength_in(self.states, cell, self.at, own=own_information).value


async def list_past_weights(
    engine: Engine, call: Call, moment: BankMoment, page: Page
) -> Listed[PastWeight]:
    """Every memory the caller may see, with the weight it had at that moment, in id order."""
    moment.require_reached(call.namespace, call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        bank = await load_bank(connection, call, moment)
        visible = await _visible_ids(connection, call)
    weights = bank.weights()
    ids = sorted(memory_id for memory_id in weights if memory_id in visible)
    after = None if page.after is None else UUID(str(page.after[0]))
    part = [memory_id for memory_id in ids if after is None or memory_id > after]
    rows = [PastWeight(memory_id, weights[memory_id]) for memory_id in part[: page.limit + 1]]
    return listed(rows, page, len(ids), lambda row: (str(row.memory_id),))


async def compare_moments(
    engine: Engine, call: Call, first: BankMoment, second: BankMoment
) -> BankDifference:
    """What changed from the first moment to the second."""
    for name, moment in (("from", first), ("to", second)):
        try:
            moment.require_reached(call.namespace, call.now)
        except Rejected as fault:
            raise fault.under(f"{name}_{fault.field}") from None
    async with engine.database.transaction(call.namespace.id) as connection:
        before = await load_bank(connection, call, first)
        after = await load_bank(connection, call, second)
        visible = await _visible_ids(connection, call)
        names = await load_names(connection, call)
        changes = diff_memories(
            await load_snapshots(connection, call, first),
            await load_snapshots(connection, call, second),
        )
    difference = compare_banks(before, after, names, visible)
    return replace(difference, total_memories=len(changes), memories=tuple(changes[:MAX_CHANGES]))


async def what_if(engine: Engine, call: Call, asked: WhatIf) -> WhatIfResult:
    """Refold what was recorded under another policy, beside the bank as it is. Raises Rejected for
    the policy in force, and where a setting of the namespace would keep the policy from being
    changed to the one asked for.
    """
    call.key.require(Act.READ)
    policy, other = policy_named(call.namespace.policy), policy_named(asked.policy)
    if policy is other:
        raise Rejected(
            f"{asked.policy} is the policy in force; name another to compare it with",
            field="policy",
            limit=[one for one in POLICIES if one != asked.policy],
        )
    async with engine.database.transaction(call.namespace.id) as connection:
        await require_whole(LedgerStore(connection, call.namespace.id), asked.policy)
        beneath = await NamespaceStore(connection).settings_beneath(call.namespace.id)
        entries = await ledger(connection, call.namespace.id)
        seen_by = await viewer(connection, call)
        reader = MemoryReader(connection, call.namespace.id, seen_by)
        visible = frozenset(await reader.list_ever())
        living = visible & set(await reader.list_living())
        names = await load_names(connection, call)
    at = present(call)
    settled = change_preset(policy.name, other.name, call.namespace.settings, beneath)
    settle(other.name, settled.settings)
    moved = replace(call, namespace=replace(call.namespace, settings=settled.settings))
    foresight, states = await asyncio.to_thread(_refold_both, policy, other, entries)
    here, there = (Bank(one, by, at) for one, by in zip(states, (policy, other), strict=True))
    difference = compare_banks(here, there, names, visible)
    return WhatIfResult(
        policy=asked.policy,
        instead_of=call.namespace.policy,
        outcomes=sum(isinstance(entry, Learn) for entry in entries),
        foresight=foresight,
        moves=_count_moves(
            {one: weight for one, weight in here.weights().items() if one in living},
            there.weights(),
            FloorChange(gates(engine, call, policy).score, gates(engine, moved, other).score),
        ),
        difference=replace(
            difference,
            weights=difference.weights[: asked.limit],
            strengths=difference.strengths[: asked.limit],
        ),
    )


def _refold_both(
    policy: Policy, other: Policy, entries: Sequence[Entry]
) -> tuple[Foresight, Sequence[Learned]]:
    """Whose weights told outcomes better, and the states by either."""
    here, there = WeightRecorder(policy), WeightRecorder(other)
    states = [fold(one.policy, entries, watch=one.note) for one in (here, there)]
    outcomes = [entry for entry in entries if isinstance(entry, Learn)]
    return compare_foresight(outcomes, here, there), states


def _count_moves(
    before: Mapping[UUID, float], after: Mapping[UUID, float], floor: FloorChange
) -> WeightMoves:
    """Of these memories, how many the change moves, and how many it takes below the floor."""
    pairs = [(weight, after[one]) for one, weight in before.items() if one in after]
    return WeightMoves(
        rising=sum(later > earlier for earlier, later in pairs),
        falling=sum(later < earlier for earlier, later in pairs),
        below_floor=sum(
            earlier >= floor.before and later < floor.after for earlier, later in pairs
        ),
        returning=sum(earlier < floor.before and later >= floor.after for earlier, later in pairs),
        floor=floor,
    )


async def verify_rebuild(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],  # noqa: ARG001 - every job is given its times
    *,
    dry: bool,  # noqa: ARG001 - it changes nothing either way
) -> RebuildResult:
    """Fold the whole ledger and compare it with the live states, bit for bit."""
    await StateStore(connection, namespace.id).lock()
    states, differing = await _compare_with_ledger(connection, namespace)
    if differing:
        # A memory that came between the reading of states and that of the ledger, for which nobody
        # waits, differs once; what is wrong differs again.
        differing &= (await _compare_with_ledger(connection, namespace))[1]
    if differing:
        log.error("%s: %s states are not what the ledger folds to", namespace.slug, len(differing))
    return RebuildResult(states, tuple(sorted(map(str, differing))))


async def _compare_with_ledger(
    connection: Connection, namespace: Namespace
) -> tuple[int, set[Subject]]:
    """How many states there are, and of what the ledger makes something else."""
    live = await StateStore(connection, namespace.id).load_all()
    changes = diff_states(live, await rebuilt(connection, namespace))
    return sum(map(len, live.by_kind.values())), {change.subject for change in changes}


def compare_banks(
    first: Bank, second: Bank, names: ActorNames, visible: frozenset[UUID]
) -> BankDifference:
    """The weights and strengths that differ, the largest changes first."""
    before, after = first.weights(), second.weights()
    weights = [
        WeightChange(memory_id, before.get(memory_id), after.get(memory_id))
        for memory_id in sorted({*before, *after} & visible)
        if before.get(memory_id) != after.get(memory_id)
    ]
    weights.sort(key=lambda change: -change.size)
    strengths = _diff_strengths(first, second, names)
    return BankDifference(
        len(weights), tuple(weights[:MAX_CHANGES]), tuple(strengths[:MAX_CHANGES])
    )


def diff_memories(
    before: Mapping[UUID, Snapshot], after: Mapping[UUID, Snapshot]
) -> list[MemoryChange]:
    """The memories that came, changed status or changed text, by id."""
    return [
        MemoryChange(
            memory_id,
            None if first is None else first.status,
            None if second is None else second.status,
            None if first is None else first.version,
            None if second is None else second.version,
        )
        for memory_id in sorted({*before, *after})
        if (first := before.get(memory_id)) != (second := after.get(memory_id))
    ]


async def load_snapshots(
    connection: Connection, call: Call, moment: BankMoment
) -> dict[UUID, Snapshot]:
    """Which memories stood in the bank at that moment, with text version and status."""
    store = SnapshotStore(connection, call.namespace.id, await viewer(connection, call))
    return await store.take(moment, replay=call.namespace.clock is Clock.REPLAY)


async def load_bank(connection: Connection, call: Call, moment: BankMoment) -> Bank:
    """The states as they were at that moment."""
    namespace, policy = call.namespace, policy_named(call.namespace.policy)
    if moment.as_of is not None:
        states = await past_states(connection, namespace, moment.as_of)
        return Bank(states, policy, moment.as_of)
    if moment.bank_version is not None:
        store = LedgerStore(connection, namespace.id)
        await _require_open(store, moment.bank_version)
        at = await store.known_at(moment.bank_version)
        policy = policy_named(await store.policy_at(moment.bank_version) or policy.name)
        return Bank(await store.at(moment.bank_version), policy, at or present(call))
    states = await StateStore(connection, namespace.id).load_all()
    return Bank(states, policy, present(call))


async def _require_open(store: LedgerStore, bank_version: int) -> None:
    """Raises Rejected for a version of which the ledger tells no more."""
    await store.hold()
    closing = await store.closing()
    if closing is None:
        return
    # Where the closing came after a change of the policy, its states are those of the new one.
    first = max(closing.bank_version, await store.policy_change() or OPEN)
    if bank_version < first:
        raise Rejected(
            f"bank_version is at least {first}: what was learned before is kept as its result"
            " alone",
            code=NO_LONGER_KEPT,
            field="bank_version",
            limit=first,
        )


def _diff_strengths(first: Bank, second: Bank, names: ActorNames) -> list[StrengthChange]:
    changes: list[StrengthChange] = []
    for cell in sorted({*first.states.strengths, *second.states.strengths}):
        agent, category = names.agents[cell[0]], names.categories[cell[1]]
        before = first.strength(cell, own_information=agent.own_information)
        after = second.strength(cell, own_information=agent.own_information)
        if before != after:
            changes.append(StrengthChange(agent.name, category, before, after))
    return sorted(changes, key=lambda change: -abs(change.after - change.before))


async def _visible_ids(connection: Connection, call: Call) -> frozenset[UUID]:
    """Memories the caller may see, the retired among them: they had weights."""
    seen_by = await viewer(connection, call)
    return frozenset(await MemoryReader(connection, call.namespace.id, seen_by).list_ever())
