"""States are set by something other than an outcome: an edit, or the writing down of age."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memory.domain.namespace import Namespace
from memory.flows.lesson import read, stored
from memory.learning.fold import Operation, Set, fold
from memory.learning.policy import policy_named
from memory.storage.database import Connection
from memory.storage.ledger import LedgerStore, Step, Subject
from memory.storage.states import StateStore, Stored

When = tuple[int, datetime, datetime]
"""The version of the bank, when the cause was known, and the server's clock."""


async def set_states(
    connection: Connection,
    namespace: Namespace,
    operation: Operation,
    memory_ids: Sequence[UUID],
    when: When,
) -> None:
    """Apply `operation` to these memories and their deviations; the caller holds the state lock."""
    version, known_at, now = when
    policy = policy_named(namespace.policy)
    store = StateStore(connection, namespace.id)
    before = read(await store.load(memory_ids))
    after = fold(policy, [Set(m, operation, known_at) for m in memory_ids], start=before)
    steps: list[Step] = []
    for memory_id in memory_ids:
        then, now_state = before.memories[memory_id], after.memories[memory_id]
        weights = (policy.effective_weight(then, None), policy.effective_weight(now_state, None))
        subject = Subject("memory", memory_id=memory_id)
        steps.append(
            _step(
                subject, (stored(then), stored(now_state)), weights, (operation, version, known_at)
            )
        )
    for pair in sorted(after.deviations):
        if after.deviations[pair] != before.deviations.get(pair):
            subject = Subject("deviation", memory_id=pair[0], agent_id=pair[1])
            states = (stored(before.deviations[pair]), stored(after.deviations[pair]))
            steps.append(_step(subject, states, (None, None), (operation, version, known_at)))
    await store.save_memories({m: stored(after.memories[m]) for m in memory_ids})
    await store.save_deviations({d: stored(after.deviations[d]) for d in after.deviations})
    await LedgerStore(connection, namespace.id).append(steps, policy.name, now)


def _step(
    subject: Subject,
    states: tuple[Stored, Stored],
    weights: tuple[float | None, float | None],
    cause: tuple[Operation, int, datetime],
) -> Step:
    operation, version, known_at = cause
    return Step(
        bank_version=version,
        subject=subject,
        kind="set",
        reason=operation.value,
        before=states[0],
        after=states[1],
        weights=weights,
        outcome_id=None,
        known_at=known_at,
    )
