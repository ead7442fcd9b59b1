"""What was learned from outcomes that are out of effect is taken back: withdraw → refold → set.

Steps do not commute, so nothing is subtracted: the states are folded again without the withdrawn,
from the last version of the bank before them, and what comes out differently is set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learned, fold
from memory.belief.policy import policy_named
from memory.belief.state_mapping import (
    ChangeCause,
    CounterChanges,
    StateChange,
    diff_states,
    ledger_entries,
)
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.postgres.database import Connection
from memory.receipts.entities import Outcome
from memory.receipts.rebuild import learning_entry, ledger
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptStore
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore


@dataclass(frozen=True, slots=True)
class Refold:
    """The states as they are, and as they would be without the withdrawn outcomes."""

    before: Learned
    after: Learned

    @property
    def changes(self) -> list[StateChange]:
        return diff_states(self.before, self.after)


async def refold(
    connection: Connection, namespace: Namespace, withdrawn: Sequence[Outcome]
) -> Refold:
    """Fold again without these outcomes; the caller holds the state lock, or only looks."""
    before = await StateStore(connection, namespace.id).load_all()
    versions = [one.bank_version for one in withdrawn if one.bank_version is not None]
    if not versions:
        return Refold(before, before)
    store = LedgerStore(connection, namespace.id)
    first = await store.settled_before(min(versions))
    start = await store.at(first - 1)
    entries = await ledger(
        connection, namespace.id, since=first, without={one.id for one in withdrawn}
    )
    return Refold(before, fold(policy_named(namespace.policy), entries, start=start))


async def take_back(
    connection: Connection, namespace: Namespace, now: datetime, known_at: datetime
) -> int:
    """Withdraw what is out of effect and still stands in the ledger; returns how many.

    The caller holds the state lock.
    """
    outcomes = OutcomeStore(connection, namespace.id)
    withdrawn = await outcomes.to_withdraw()
    if not withdrawn:
        return 0
    moved = (await refold(connection, namespace, withdrawn)).changes
    ids = [one.id for one in withdrawn]
    version = await NamespaceStore(connection).bump(namespace.id)
    states = StateStore(connection, namespace.id)
    await states.save(moved)
    counters = await _count_off(connection, namespace.id, withdrawn)
    await states.count(counters.memories)
    await states.add_controls(counters.controls)
    policy = policy_named(namespace.policy)
    entries = LedgerStore(connection, namespace.id)
    cause = ChangeCause(version, "set", "correction", known_at)
    await entries.append(ledger_entries(moved, policy, cause), policy.name, now)
    await entries.supersede(ids, version)
    await outcomes.withdraw(ids, version)
    return len(withdrawn)


async def _count_off(
    connection: Connection, namespace_id: UUID, withdrawn: Sequence[Outcome]
) -> CounterChanges:
    """What the withdrawn outcomes had been counted as, counted off."""
    ids = [outcome.retrieval_id for outcome in withdrawn]
    receipts = await ReceiptStore(connection, namespace_id).contexts(ids)
    counters = CounterChanges()
    for outcome in withdrawn:
        counters.count(learning_entry(outcome, receipts[outcome.retrieval_id]), by=-1)
    return counters
