"""Outcomes move states: pending → classified → learned → states, ledger and bank version written.

One transaction at a time holds a namespace's state lock, reads what its outcomes touch, folds, and
writes; so each outcome is applied exactly once, in the same order, whatever number of processes
run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learn, Learned, day_of, feedback_date, learn_outcome
from memory.belief.policy import policy_named
from memory.belief.state_mapping import (
    ChangeCause,
    CounterChanges,
    LedgerEntry,
    StateChange,
    diff_states,
    ledger_entries,
)
from memory.belief.states import Evidence
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import Leadership, WorkStore
from memory.outcomes.entities import Applied
from memory.outcomes.precedence import classify_outcome
from memory.outcomes.withdrawal import take_back
from memory.receipts.entities import Outcome, OutcomeStatus
from memory.receipts.rebuild import learning_entry
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Learning, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

BATCH = 128
"""Outcomes in one transaction: enough to be quick, few enough to let others in between."""


async def apply_now(engine: Engine, call: Call) -> Applied:
    """Apply whatever is pending in this namespace, and say which bank came of it."""
    call.key.require(Act.REPORT)
    applied = await apply_pending(engine, call.namespace.id, call.now, None)
    async with engine.database.transaction(call.namespace.id) as connection:
        namespace = await NamespaceStore(connection).get(call.namespace.id)
        pending = await OutcomeStore(connection, call.namespace.id).count_pending()
    return Applied(namespace.bank_version, applied, pending)


async def apply_pending(
    engine: Engine, namespace_id: UUID, now: datetime, leadership: Leadership | None
) -> int:
    """Apply pending outcomes until none is left; returns how many. A leader's term is checked."""
    applied = 0
    while True:
        async with engine.database.transaction(namespace_id) as connection:
            if leadership is not None:
                await WorkStore(connection).guard(leadership)
            await StateStore(connection, namespace_id).lock()
            namespace = await NamespaceStore(connection).get(namespace_id)
            newest = namespace.newest_known_at or now
            withdrawn = await take_back(connection, namespace, now, newest)
            done = await _apply_batch(connection, namespace, now)
        applied += done
        if not (withdrawn or done):
            return applied


async def _apply_batch(connection: Connection, namespace: Namespace, now: datetime) -> int:
    """Apply the next outcomes in their order; returns how many. The caller holds the lock."""
    pending = await OutcomeStore(connection, namespace.id).pending(BATCH)
    if not pending:
        return 0
    receipts = await ReceiptStore(connection, namespace.id).contexts(
        [outcome.retrieval_id for outcome in pending]
    )
    batch = PendingBatch(namespace, receipts)
    for outcome in pending:
        batch.classify(outcome, now)
    updates = await _learn(connection, namespace, batch.entries)
    await _write(connection, batch, updates, now)
    return len(pending)


@dataclass(frozen=True, slots=True)
class Measure:
    """What a category's first outcome fixes for those that follow."""

    metric: str
    reward_kind: str


@dataclass(frozen=True, slots=True)
class OutcomeEntry:
    """An outcome that is evidence, and what learning is to see of it."""

    outcome: Outcome
    entry: Learn


@dataclass(slots=True)
class PendingBatch:
    """Outcomes in the order of their application, classified as things stand now."""

    namespace: Namespace
    receipts: Mapping[UUID, ReceiptContext]
    entries: list[OutcomeEntry] = field(default_factory=list[OutcomeEntry])
    ignored: list[Outcome] = field(default_factory=list[Outcome])
    measures: dict[UUID, Measure] = field(default_factory=dict[UUID, Measure])

    def classify(self, outcome: Outcome, now: datetime) -> None:
        """Say what it is evidence of, and make that an entry to learn from."""
        receipt = self.receipts[outcome.retrieval_id]
        fixed = self.measures.get(receipt.category_id)
        if fixed is not None:
            receipt = replace(receipt, metric=fixed.metric, reward_kind=fixed.reward_kind)
        evidence, reason = classify_outcome(self.namespace, receipt, outcome)
        if self.namespace.learning is Learning.ON and reason not in ("frozen", "other_metric"):
            measure = Measure(outcome.metric, outcome.reward_kind)
            self.measures.setdefault(receipt.category_id, measure)
        outcome = replace(outcome, evidence=evidence, reason=reason, applied_at=now)
        if evidence is Evidence.NONE:
            self.ignored.append(replace(outcome, status=OutcomeStatus.IGNORED))
            return
        muted = tuple(sorted({*outcome.muted, *(receipt.erased & set(receipt.cited))}))
        outcome = replace(outcome, status=OutcomeStatus.APPLIED, muted=muted)
        self.entries.append(OutcomeEntry(outcome, learning_entry(outcome, receipt)))


@dataclass(frozen=True, slots=True)
class Update:
    """What learning from one outcome came to; versions in its ledger entries count from 1."""

    learned: OutcomeEntry
    residual: float | None
    changes: list[StateChange]
    ledger_entries: list[LedgerEntry]


async def _learn(
    connection: Connection, namespace: Namespace, entries: Sequence[OutcomeEntry]
) -> list[Update]:
    """Fold the outcomes into the states that they touch, one after another."""
    if not entries:
        return []
    touched = [memory for one in entries for memory in one.entry.observation.counted]
    days = [feedback_date(one.entry.now) for one in entries]
    states = await StateStore(connection, namespace.id).load(touched, days)
    policy = policy_named(namespace.policy)
    updates: list[Update] = []
    for version, one in enumerate(entries, start=1):
        before = _touched_by(one.entry, states)
        after, residual = learn_outcome(policy, before, one.entry)
        moved = diff_states(before, after)
        cause = ChangeCause(
            version, "learn", one.outcome.evidence, one.outcome.known_at, one.outcome.id
        )
        updates.append(Update(one, residual, moved, ledger_entries(moved, policy, cause)))
        states = _merge(states, after)
    return updates


def _touched_by(entry: Learn, states: Learned) -> Learned:
    """Only the states this outcome can touch, so that a fold costs what it touches."""
    served, today = entry.observation.counted, day_of(entry)
    pairs = [(memory, entry.agent) for memory in served]
    deviations, effects = states.deviations, states.effects
    return Learned(
        memories={memory: states.memories[memory] for memory in served},
        deviations={pair: deviations[pair] for pair in pairs if pair in deviations},
        cells=states.cells,
        noises=states.noises,
        strengths=states.strengths,
        effects={today: effects[today]} if today in effects else {},
        records=states.records,
    )


def _merge(states: Learned, after: Learned) -> Learned:
    return Learned(
        memories={**states.memories, **after.memories},
        deviations={**states.deviations, **after.deviations},
        cells=after.cells,
        noises=after.noises,
        strengths=after.strengths,
        effects={**states.effects, **after.effects},
        records=after.records,
    )


async def _write(
    connection: Connection, batch: PendingBatch, updates: Sequence[Update], now: datetime
) -> None:
    """States, counters, outcomes and ledger, all or none; the version is taken as late as it can
    be.
    """
    namespace = batch.namespace
    actors = ActorStore(connection, namespace.id)
    for category_id, measure in sorted(batch.measures.items(), key=lambda item: item[0]):
        await actors.fix_metric(category_id, measure.metric, measure.reward_kind)
    states, base = StateStore(connection, namespace.id), 0
    if updates:
        last = await NamespaceStore(connection).bump(namespace.id, steps=len(updates))
        base = last - len(updates)
        counters = CounterChanges()
        for update in updates:
            counters.count(update.learned.entry)
        await states.save(change for update in updates for change in update.changes)
        await states.add_controls(counters.controls)
        await states.count(counters.memories)
    await LedgerStore(connection, namespace.id).append(
        [
            replace(entry, cause=replace(entry.cause, bank_version=base + number))
            for number, update in enumerate(updates, start=1)
            for entry in update.ledger_entries
        ],
        namespace.policy,
        now,
    )
    applied = [
        replace(update.learned.outcome, bank_version=base + number, residual=update.residual)
        for number, update in enumerate(updates, start=1)
    ]
    outcomes = [*batch.ignored, *applied]
    await OutcomeStore(connection, namespace.id).decide(outcomes)
    newest = max(outcome.known_at for outcome in outcomes)
    await NamespaceStore(connection).saw(namespace.id, newest)
