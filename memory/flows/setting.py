"""States are set by something other than an outcome: an edit, or the writing down of age."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memory.domain.namespace import Namespace
from memory.flows.sheets import Cause, Change, changes, read, sheet_of, steps
from memory.learning.fold import Operation, Set, fold
from memory.learning.policy import policy_named
from memory.storage.database import Connection
from memory.storage.ledger import LedgerStore
from memory.storage.states import StateStore, Subject

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
    made = changes(before, after)
    # A memory's event is written even where nothing moved: the fold replays it.
    named = {change.subject for change in made}
    made += [
        Change(subject, before.memories[m], after.memories[m])
        for m in memory_ids
        if (subject := Subject("memory", memory_id=m)) not in named
    ]
    await store.save(sheet_of(made))
    cause = Cause(version, "set", operation.value, known_at)
    entries = steps(made, policy, cause)
    await LedgerStore(connection, namespace.id).append(entries, policy.name, now)
