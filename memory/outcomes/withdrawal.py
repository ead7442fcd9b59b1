"""What was learned from outcomes that are out of effect is withdrawn: withdraw → refold → set.

Steps do not commute, so nothing is subtracted: the states are refolded without the withdrawn,
from the last version of the bank before them, and what comes out differently is set.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learned, fold
from memory.belief.policy import policy_named
from memory.belief.state_mapping import (
    ChangeCause,
    CounterChanges,
    StateChange,
    Subject,
    diff_states,
    ledger_entries,
)
from memory.belief.states import Evidence
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.belief.strength import is_suspended
from memory.kernel.postgres.database import Connection
from memory.outcomes.measures import fix_categories, free_categories
from memory.outcomes.precedence import classify_outcome
from memory.receipts.entities import Outcome, OutcomeStatus
from memory.receipts.rebuild import learning_entry, ledger
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptStore
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore
from memory.webhooks.store import Outbox


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
    without = {one.id for one in withdrawn}
    return Refold(before, await _fold_from(connection, namespace, withdrawn, without))


async def _fold_from(
    connection: Connection,
    namespace: Namespace,
    outcomes: Sequence[Outcome],
    without: Collection[UUID] = frozenset(),
) -> Learned:
    """The ledger refolded, from before the first of these outcomes."""
    store = LedgerStore(connection, namespace.id)
    versions = [one.bank_version for one in outcomes if one.bank_version is not None]
    first = await store.settled_before(min(versions))
    start = await store.at(first - 1)
    entries = await ledger(connection, namespace.id, since=first, without=without)
    policy = policy_named(namespace.policy)
    return await asyncio.to_thread(fold, policy, entries, start=start)


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
    version = await NamespaceStore(connection).bump(namespace)
    states = StateStore(connection, namespace.id)
    await states.save(moved)
    await tell_of_suspensions(connection, namespace.id, moved)
    counters = await _count(connection, namespace.id, withdrawn, by=-1)
    await states.count(counters.memories)
    await states.add_controls(counters.controls)
    policy = policy_named(namespace.policy)
    entries = LedgerStore(connection, namespace.id)
    cause = ChangeCause(version, "set", "correction", known_at)
    await entries.append(ledger_entries(moved, policy, cause), policy.name, now)
    await entries.supersede(ids, version)
    await outcomes.withdraw(ids, version)
    await free_categories(connection, namespace.id, [one.retrieval_id for one in withdrawn])
    return len(withdrawn)


async def reinstate(
    connection: Connection, namespace: Namespace, now: datetime, *, held: set[UUID]
) -> set[UUID]:
    """Put back into effect what was superseded by an outcome that has come to teach nothing before
    it was applied: its memories were edited, say, or learning was frozen. To be called before
    anything is withdrawn; the caller holds the state lock and these outcomes. Returns those held
    then.
    """
    outcomes = OutcomeStore(connection, namespace.id)
    while found := await outcomes.lost_replacements(held):
        ids = [one.retrieval_id for one in found]
        receipts = await ReceiptStore(connection, namespace.id).contexts(ids)
        lapsed: list[Outcome] = []
        for one in found:
            evidence, reason = classify_outcome(namespace, receipts[one.retrieval_id], one)
            if evidence is Evidence.NONE:
                ignored = replace(one, status=OutcomeStatus.IGNORED, reason=reason, applied_at=now)
                lapsed.append(replace(ignored, evidence=evidence))
        if not lapsed:
            break
        await outcomes.decide(lapsed)
        again = [one.supersedes for one in lapsed if one.supersedes is not None]
        await outcomes.reinstate(again)
        held = {*held, *again}
    return held


async def give_back(
    connection: Connection,
    namespace: Namespace,
    now: datetime,
    known_at: datetime,
    outcome_ids: Sequence[UUID],
) -> Refold:
    """What was learned from these outcomes, which had been withdrawn and stand in the ledger again
    where they stood; takes a version of the bank. Those that were never applied wait for it.

    The caller holds the state lock.
    """
    before = await StateStore(connection, namespace.id).load_all()
    some = await OutcomeStore(connection, namespace.id).some(outcome_ids)
    outcomes = [one for one in some if one.bank_version is not None]
    version = await NamespaceStore(connection).bump(namespace)
    if not outcomes:
        return Refold(before, before)
    done = Refold(before, await _fold_from(connection, namespace, outcomes))
    states = StateStore(connection, namespace.id)
    await states.save(done.changes)
    await tell_of_suspensions(connection, namespace.id, done.changes)
    counters = await _count(connection, namespace.id, outcomes, by=1)
    await states.count(counters.memories)
    await states.add_controls(counters.controls)
    policy = policy_named(namespace.policy)
    entries = LedgerStore(connection, namespace.id)
    cause = ChangeCause(version, "set", "correction", known_at)
    await entries.append(ledger_entries(done.changes, policy, cause), policy.name, now)
    await entries.reinstate([one.id for one in outcomes])
    await fix_categories(connection, namespace.id, outcomes)
    return done


async def tell_of_suspensions(
    connection: Connection, namespace_id: UUID, changes: Sequence[StateChange]
) -> None:
    """Tell webhooks which cells these changes, one after another, came to suspend."""
    was: dict[Subject, bool] = {}
    suspended: dict[Subject, bool] = {}
    for change in changes:
        if change.subject.kind == "strength":
            before, after = change.before, change.after
            was.setdefault(change.subject, before is not None and is_suspended(before))
            suspended[change.subject] = after is not None and is_suspended(after)
    for subject, now in suspended.items():
        if now and not was[subject]:
            cell = {"agent_id": subject.agent_id, "category_id": subject.category_id}
            await Outbox(connection, namespace_id).put("cell.suspended", cell)


async def _count(
    connection: Connection, namespace_id: UUID, outcomes: Sequence[Outcome], *, by: int
) -> CounterChanges:
    """What these outcomes are counted as, counted in or off."""
    ids = [outcome.retrieval_id for outcome in outcomes]
    receipts = await ReceiptStore(connection, namespace_id).contexts(ids)
    counters = CounterChanges()
    for outcome in outcomes:
        counters.count(learning_entry(outcome, receipts[outcome.retrieval_id]), by=by)
    return counters
