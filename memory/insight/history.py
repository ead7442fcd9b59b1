"""The ledger read backwards: the bank at a moment, the difference of two, and what if."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learn, Learned, fold
from memory.belief.policy import Policy, policy_named
from memory.belief.state_mapping import Subject, diff_states
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.insight.entities import (
    MAX_CHANGES,
    Conjecture,
    Conjectured,
    Difference,
    MemoryChange,
    PastWeight,
    Rebuilt,
    StrengthChange,
    WeightChange,
)
from memory.insight.weights import present
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.memories.browse_entities import BankMoment
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.memories.store.snapshots import Snapshot, SnapshotStore
from memory.receipts.rebuild import ledger, past_states, rebuilt
from memory.retrieval.ranking import strength_in
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Clock, Namespace

log = logging.getLogger(__name__)


REBUILD = "rebuild"
"""The job that holds the live states against the ledger."""


@dataclass(frozen=True, slots=True)
class Bank:
    """States at a moment, and the time to which they are aged when weights are read."""

    states: Learned
    at: datetime


async def bank_at(engine: Engine, call: Call, moment: BankMoment, page: Page) -> Listed[PastWeight]:
    """Every memory the caller may see, with the weight it had at that moment, in id order."""
    async with engine.database.transaction(call.namespace.id) as connection:
        bank = await bank_of(connection, call, moment)
        shown = await _shown(connection, call)
    policy = policy_named(call.namespace.policy)
    weights = _weights(bank, policy)
    ids = sorted(memory_id for memory_id in weights if memory_id in shown)
    after = None if page.after is None else UUID(str(page.after[0]))
    part = [memory_id for memory_id in ids if after is None or memory_id > after]
    rows = [PastWeight(memory_id, weights[memory_id]) for memory_id in part[: page.limit + 1]]
    return listed(rows, page, len(ids), lambda row: (str(row.memory_id),))


async def difference(
    engine: Engine, call: Call, moments: tuple[BankMoment, BankMoment]
) -> Difference:
    """What changed from the first moment to the second."""
    async with engine.database.transaction(call.namespace.id) as connection:
        first = await bank_of(connection, call, moments[0])
        second = await bank_of(connection, call, moments[1])
        shown = await _shown(connection, call)
        names = await names_of(connection, call.namespace)
        changed = memory_changes(*[await standing(connection, call, one) for one in moments])
    policy = policy_named(call.namespace.policy)
    found = compared((first, policy), (second, policy), names, shown)
    return replace(found, total_memories=len(changed), memories=tuple(changed[:MAX_CHANGES]))


async def what_if(engine: Engine, call: Call, conjecture: Conjecture) -> Conjectured:
    """Fold what was recorded under another policy, beside the bank as it is."""
    call.key.require(Act.READ)
    policies = policy_named(call.namespace.policy), policy_named(conjecture.policy)
    async with engine.database.transaction(call.namespace.id) as connection:
        entries = await ledger(connection, call.namespace.id)
        shown = await _shown(connection, call)
        names = await names_of(connection, call.namespace)
    at = present(call)
    here, there = (Bank(fold(policy, entries), at) for policy in policies)
    found = compared((here, policies[0]), (there, policies[1]), names, shown)
    return Conjectured(
        policy=conjecture.policy,
        instead_of=call.namespace.policy,
        outcomes=sum(isinstance(entry, Learn) for entry in entries),
        difference=Difference(
            found.total, found.weights[: conjecture.limit], found.strengths[: conjecture.limit]
        ),
    )


async def verify(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],  # noqa: ARG001 - every job is given its times
    *,
    dry: bool,  # noqa: ARG001 - it changes nothing either way
) -> Rebuilt:
    """Fold the whole ledger and hold it against the live states, bit for bit."""
    await StateStore(connection, namespace.id).lock()
    counted, differing = await _differing(connection, namespace)
    if differing:
        # A memory that came between the reading of states and that of the ledger, for which nobody
        # waits, differs once; what is wrong differs again.
        differing &= (await _differing(connection, namespace))[1]
    if differing:
        log.error("%s: %s states are not what the ledger folds to", namespace.slug, len(differing))
    return Rebuilt(counted, tuple(sorted(map(str, differing))))


async def _differing(connection: Connection, namespace: Namespace) -> tuple[int, set[Subject]]:
    """How many states there are, and of what the ledger makes something else."""
    live = await StateStore(connection, namespace.id).load_all()
    found = {change.subject for change in diff_states(live, await rebuilt(connection, namespace))}
    return sum(map(len, live.by_kind.values())), found


def compared(
    first: tuple[Bank, Policy],
    second: tuple[Bank, Policy],
    names: Mapping[UUID, tuple[str, bool]],
    shown: frozenset[UUID],
) -> Difference:
    """The weights and strengths that differ, the largest changes first."""
    before, after = _weights(*first), _weights(*second)
    weights = [
        WeightChange(memory_id, before.get(memory_id), after.get(memory_id))
        for memory_id in sorted({*before, *after} & shown)
        if before.get(memory_id) != after.get(memory_id)
    ]
    weights.sort(key=lambda change: -change.size)
    strengths = _strengths(first[0], second[0], names)
    return Difference(len(weights), tuple(weights[:MAX_CHANGES]), tuple(strengths[:MAX_CHANGES]))


def memory_changes(
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


async def standing(connection: Connection, call: Call, moment: BankMoment) -> dict[UUID, Snapshot]:
    """Which memories stood in the bank at that moment, with text version and status."""
    store = SnapshotStore(connection, call.namespace.id, await viewer(connection, call))
    return await store.take(moment, replay=call.namespace.clock is Clock.REPLAY)


def _weights(bank: Bank, policy: Policy) -> dict[UUID, float]:
    return {
        memory_id: policy.effective_weight(policy.age_memory(state, bank.at), None)
        for memory_id, state in bank.states.memories.items()
    }


def _strengths(
    first: Bank, second: Bank, names: Mapping[UUID, tuple[str, bool]]
) -> list[StrengthChange]:
    found: list[StrengthChange] = []
    for agent, category in sorted({*first.states.strengths, *second.states.strengths}):
        name, own = names[agent]
        before, after = (_strength(bank, (agent, category), own=own) for bank in (first, second))
        if before != after:
            found.append(StrengthChange(name, names[category][0], before, after))
    return sorted(found, key=lambda change: -abs(change.after - change.before))


def _strength(bank: Bank, cell: tuple[UUID, UUID], *, own: bool) -> float:
    if cell not in bank.states.strengths:
        return 0.0 if own else 1.0
    return strength_in(bank.states, cell, bank.at, own=own).value


async def bank_of(connection: Connection, call: Call, moment: BankMoment) -> Bank:
    """The states as they were at that moment."""
    namespace = call.namespace
    if moment.as_of is not None:
        return Bank(await past_states(connection, namespace, moment.as_of), moment.as_of)
    if moment.bank_version is not None:
        book = LedgerStore(connection, namespace.id)
        at = await book.known_at(moment.bank_version)
        return Bank(await book.at(moment.bank_version), at or present(call))
    states = await StateStore(connection, namespace.id).load_all()
    return Bank(states, present(call))


async def _shown(connection: Connection, call: Call) -> frozenset[UUID]:
    """Memories the caller may see, the retired among them: they had weights."""
    seen = await viewer(connection, call)
    return frozenset(await MemoryReader(connection, call.namespace.id, seen).list_ever())


async def names_of(connection: Connection, namespace: Namespace) -> dict[UUID, tuple[str, bool]]:
    """Names of agents and categories, and whether an agent has information of its own."""
    actors = ActorStore(connection, namespace.id)
    agents = {a.id: (a.name, a.own_information) for a in await actors.every_agent()}
    return agents | {key: (name, False) for key, name in (await actors.names()).items()}
