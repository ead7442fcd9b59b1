"""Outcomes move states: pending outcomes → fold, in order → states, ledger, bank version.

One transaction at a time holds a namespace's state lock, reads what its outcomes touch, folds, and
writes; so each outcome is applied exactly once, in the same order, whatever number of processes
run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learn, Learned, day_of, feedback_date, learn_outcome
from memory.belief.policy import Policy, policy_named
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
from memory.outcomes.precedence import Told, rule
from memory.outcomes.withdrawal import take_back
from memory.receipts.entities import Outcome
from memory.receipts.rebuild import learning_entry
from memory.receipts.store.outcomes import Decision, OutcomeStore, StoredOutcome
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Learning, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

BATCH = 128
"""Outcomes in one transaction: enough to be quick, few enough to let others in between."""


async def apply_now(engine: Engine, call: Call) -> Applied:
    """Apply whatever is pending in this namespace, and say which bank came of it."""
    call.key.require(Act.REPORT)
    applied = await drain(engine, call.namespace.id, call.now, None)
    async with engine.database.transaction(call.namespace.id) as connection:
        namespace = await NamespaceStore(connection).get(call.namespace.id)
        pending = await OutcomeStore(connection, call.namespace.id).count_pending()
    return Applied(namespace.bank_version, applied, pending)


async def drain(
    engine: Engine, namespace_id: UUID, now: datetime, leadership: Leadership | None
) -> int:
    """Apply pending outcomes until none is left; returns how many. A leader's term is checked."""
    applied = 0
    while True:
        withdrawn, done = await _apply_batch(engine, namespace_id, now, leadership)
        applied += done
        if not (withdrawn or done):
            return applied


async def _apply_batch(
    engine: Engine, namespace_id: UUID, now: datetime, leadership: Leadership | None
) -> tuple[int, int]:
    """One transaction: take back what is out of effect, then learn; how many of each."""
    async with engine.database.transaction(namespace_id) as connection:
        if leadership is not None:
            await WorkStore(connection).guard(leadership)
        await StateStore(connection, namespace_id).lock()
        namespace = await NamespaceStore(connection).get(namespace_id)
        withdrawn = await take_back(connection, namespace, now, namespace.newest_known_at or now)
        pending = await OutcomeStore(connection, namespace_id).pending(BATCH)
        if not pending:
            return withdrawn, 0
        bindings = await ReceiptStore(connection, namespace_id).contexts(
            [one.outcome.retrieval_id for one in pending]
        )
        touched = [memory for binding in bindings.values() for memory in binding.cited]
        days = [feedback_date(one.outcome.known_at) for one in pending]
        states = await StateStore(connection, namespace_id).load(touched, days)
        lesson = Lesson(namespace, states, bindings)
        for one in pending:
            lesson.learn(one)
        await _write(connection, lesson, now)
        return withdrawn, len(pending)


@dataclass(frozen=True, slots=True)
class Move:
    """One outcome that moved something: what it was as evidence, and the states it changed."""

    outcome: Outcome
    entry: Learn
    residual: float | None
    changes: list[StateChange]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What an outcome came to."""

    outcome: Outcome
    evidence: Evidence
    reason: str | None


@dataclass(slots=True)
class Lesson:
    """The batch as it grows: states after each outcome, moves, rulings, counts."""

    namespace: Namespace
    states: Learned
    bindings: Mapping[UUID, ReceiptContext]
    moves: list[Move] = field(default_factory=list[Move])
    rulings: list[Ruling] = field(default_factory=list[Ruling])
    metrics: dict[UUID, tuple[str, str]] = field(default_factory=dict[UUID, tuple[str, str]])
    counted: CounterChanges = field(default_factory=CounterChanges)

    def learn(self, stored: StoredOutcome) -> None:
        """Rule on the outcome as things stand now, and fold it in if it is evidence."""
        outcome = stored.outcome
        binding = self.bindings[outcome.retrieval_id]
        evidence, reason = self._rule(outcome, binding)
        self.rulings.append(Ruling(outcome, evidence, reason))
        if self.namespace.learning is Learning.ON and reason not in ("frozen", "other_metric"):
            self.metrics.setdefault(binding.category_id, (outcome.metric, outcome.reward_kind))
        if evidence is Evidence.NONE:
            return
        muted = tuple(sorted({*outcome.muted, *(binding.erased & set(binding.cited))}))
        ruled = replace(stored, outcome=replace(outcome, evidence=evidence.value, muted=muted))
        entry = learning_entry(ruled, binding)
        before = self._around(entry)
        after, residual = learn_outcome(self.policy, before, entry)
        self.moves.append(Move(ruled.outcome, entry, residual, diff_states(before, after)))
        self._take(after)
        self.counted.count(entry)

    @property
    def policy(self) -> Policy:
        return policy_named(self.namespace.policy)

    def _rule(self, outcome: Outcome, binding: ReceiptContext) -> tuple[Evidence, str | None]:
        fixed = self.metrics.get(binding.category_id)
        if fixed is not None:
            binding = replace(binding, metric=fixed[0], reward_kind=fixed[1])
        told = Told(
            metric=outcome.metric,
            reward_kind=outcome.reward_kind,
            known_at=outcome.known_at,
            without=outcome.reward_without is not None,
            has_partner=outcome.partner_id is not None,
        )
        return rule(self.namespace, binding, told)

    def _around(self, entry: Learn) -> Learned:
        """Only the states this outcome can touch, so that a fold costs what it touches."""
        served, today = entry.observation.counted, day_of(entry)
        memories, deviations = self.states.memories, self.states.deviations
        effects = self.states.effects
        pairs = [(memory, entry.agent) for memory in served]
        return Learned(
            memories={memory: memories[memory] for memory in served},
            deviations={pair: deviations[pair] for pair in pairs if pair in deviations},
            cells=self.states.cells,
            noises=self.states.noises,
            strengths=self.states.strengths,
            effects={today: effects[today]} if today in effects else {},
            records=self.states.records,
        )

    def _take(self, after: Learned) -> None:
        self.states = Learned(
            memories={**self.states.memories, **after.memories},
            deviations={**self.states.deviations, **after.deviations},
            cells=after.cells,
            noises=after.noises,
            strengths=after.strengths,
            effects={**self.states.effects, **after.effects},
            records=after.records,
        )


async def _write(connection: Connection, lesson: Lesson, now: datetime) -> None:
    """States, counts, rulings and ledger, all or none; the version is taken as late as possible."""
    namespace_id = lesson.namespace.id
    states = StateStore(connection, namespace_id)
    actors = ActorStore(connection, namespace_id)
    for category_id, (metric, kind) in sorted(lesson.metrics.items()):
        await actors.fix_metric(category_id, metric, kind)
    first = 0
    if lesson.moves:
        last = await NamespaceStore(connection).bump(namespace_id, steps=len(lesson.moves))
        first = last - len(lesson.moves) + 1
        await states.save(change for move in lesson.moves for change in move.changes)
        await states.add_controls(lesson.counted.controls)
        await states.count(lesson.counted.memories)
    versions = {move.outcome.id: first + i for i, move in enumerate(lesson.moves)}
    entries = [step for move in lesson.moves for step in _steps(lesson, move, versions)]
    await LedgerStore(connection, namespace_id).append(entries, lesson.policy.name, now)
    muted = {move.outcome.id: move.outcome.muted for move in lesson.moves}
    residuals = {move.outcome.id: move.residual for move in lesson.moves}
    await OutcomeStore(connection, namespace_id).decide(
        [
            Decision(
                outcome_id=ruling.outcome.id,
                status="ignored" if ruling.evidence is Evidence.NONE else "applied",
                evidence=ruling.evidence.value,
                reason=ruling.reason,
                bank_version=versions.get(ruling.outcome.id),
                residual=residuals.get(ruling.outcome.id),
                muted=muted.get(ruling.outcome.id, ruling.outcome.muted),
            )
            for ruling in lesson.rulings
        ],
        now,
    )
    newest = max(ruling.outcome.known_at for ruling in lesson.rulings)
    await NamespaceStore(connection).saw(namespace_id, newest)


def _steps(lesson: Lesson, move: Move, versions: Mapping[UUID, int]) -> list[LedgerEntry]:
    outcome = move.outcome
    evidence = move.entry.observation.evidence.value
    cause = ChangeCause(versions[outcome.id], "learn", evidence, outcome.known_at, outcome.id)
    return ledger_entries(move.changes, lesson.policy, cause)
