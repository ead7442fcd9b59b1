"""States are set beside outcomes: memories → fold of one operation → states, ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Operation, Set, fold
from memory.belief.policy import policy_named
from memory.belief.state_mapping import (
    ChangeCause,
    StateChange,
    Subject,
    diff_states,
    ledger_entries,
)
from memory.belief.states import State
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.postgres.database import Connection
from memory.tenancy.entities import Namespace


@dataclass(frozen=True, slots=True)
class LedgerMoment:
    """The version of the bank, when the cause was known, and the server's clock."""

    bank_version: int
    known_at: datetime
    recorded_at: datetime


async def set_states(
    connection: Connection,
    namespace: Namespace,
    operation: Operation,
    memory_ids: Sequence[UUID],
    moment: LedgerMoment,
) -> None:
    """Apply `operation` to these memories and their deviations; the caller holds the state lock."""
    policy = policy_named(namespace.policy)
    store = StateStore(connection, namespace.id)
    before = await store.load(memory_ids)
    entries = [Set(memory_id, operation, moment.known_at) for memory_id in memory_ids]
    changes = diff_states(before, fold(policy, entries, start=before))
    changes += _unmoved(before.memories, memory_ids, changes)
    await store.save(changes)
    cause = ChangeCause(moment.bank_version, "set", operation.value, moment.known_at)
    await LedgerStore(connection, namespace.id).append(
        ledger_entries(changes, policy, cause), policy.name, moment.recorded_at
    )


def _unmoved(
    states: Mapping[UUID, State], memory_ids: Sequence[UUID], changes: Sequence[StateChange]
) -> list[StateChange]:
    """A memory's event is written even where nothing moved: the fold replays it."""
    moved = {change.subject for change in changes}
    return [
        StateChange(subject, states[memory_id], states[memory_id])
        for memory_id in memory_ids
        if (subject := Subject("memory", memory_id=memory_id)) not in moved
    ]
