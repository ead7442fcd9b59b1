"""A batch of outcomes folded into the states that were read for it. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from memory.domain.loop import Outcome
from memory.domain.namespace import Learning, Namespace
from memory.flows.counting import Counted
from memory.flows.rebuild import learning_entry
from memory.flows.ruling import Told, rule
from memory.flows.sheets import Change, changes
from memory.learning.fold import Learn, Learned, day_of, learned
from memory.learning.policy import Policy, policy_named
from memory.learning.states import Evidence
from memory.storage.outcomes import StoredOutcome
from memory.storage.receipts import Binding


@dataclass(frozen=True, slots=True)
class Move:
    """One outcome that moved something: what it was as evidence, and the states it changed."""

    outcome: Outcome
    entry: Learn
    residual: float | None
    changes: list[Change]


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
    bindings: Mapping[UUID, Binding]
    moves: list[Move] = field(default_factory=list[Move])
    rulings: list[Ruling] = field(default_factory=list[Ruling])
    metrics: dict[UUID, tuple[str, str]] = field(default_factory=dict[UUID, tuple[str, str]])
    counted: Counted = field(default_factory=Counted)

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
        after, residual = learned(self.policy, before, entry)
        self.moves.append(Move(ruled.outcome, entry, residual, changes(before, after)))
        self._take(after)
        self.counted.count(entry)

    @property
    def policy(self) -> Policy:
        return policy_named(self.namespace.policy)

    def _rule(self, outcome: Outcome, binding: Binding) -> tuple[Evidence, str | None]:
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
