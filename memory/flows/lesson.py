"""A batch of outcomes folded into the states that were read for it. No I/O."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import UUID

from memory.domain.loop import Outcome
from memory.domain.namespace import Learning, Namespace
from memory.flows.feedback import other_metric
from memory.flows.rebuild import learning_entry
from memory.learning.evidence import Circumstances, classify
from memory.learning.fold import Learn, Learned, fold
from memory.learning.policy import Policy, policy_named
from memory.learning.states import Evidence, State
from memory.storage.ledger import Step, Subject
from memory.storage.outcomes import StoredOutcome
from memory.storage.receipts import Binding
from memory.storage.states import Counts, StateSheet, Stored


@dataclass(frozen=True, slots=True)
class Move:
    """One outcome that moved something: what it was as evidence, and the states around it."""

    outcome: Outcome
    entry: Learn
    before: Learned
    after: Learned


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
    counts: dict[UUID, Counts] = field(default_factory=dict[UUID, Counts])
    controls: dict[tuple[UUID, UUID], int] = field(default_factory=dict[tuple[UUID, UUID], int])

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
        ruled = replace(stored, outcome=replace(outcome, evidence=evidence.value))
        entry = learning_entry(ruled, binding)
        before = self._around(entry)
        after = fold(self.policy, [entry], start=before)
        self.moves.append(Move(outcome, entry, before, after))
        self._take(after)
        self._count(entry)

    @property
    def policy(self) -> Policy:
        return policy_named(self.namespace.policy)

    def _rule(self, outcome: Outcome, binding: Binding) -> tuple[Evidence, str | None]:
        fixed = self.metrics.get(binding.category_id)
        if fixed is not None:
            binding = replace(binding, metric=fixed[0], reward_kind=fixed[1])
        return classify(
            Circumstances(
                arm=binding.arm,
                purpose=binding.purpose,
                without=outcome.reward_without is not None,
                current=binding.current,
                expired=outcome.known_at > binding.expires_at,
                other_metric=other_metric(binding, outcome.metric, outcome.reward_kind),
                frozen=self.namespace.learning is Learning.FROZEN,
            )
        )

    def _around(self, entry: Learn) -> Learned:
        """Only the states this outcome can touch, so that a fold costs what it touches."""
        served = entry.observation.counted
        memories, deviations = self.states.memories, self.states.deviations
        pairs = [(memory, entry.agent) for memory in served]
        return Learned(
            memories={memory: memories[memory] for memory in served},
            deviations={pair: deviations[pair] for pair in pairs if pair in deviations},
            cells=self.states.cells,
            noises=self.states.noises,
        )

    def _take(self, after: Learned) -> None:
        self.states = Learned(
            memories={**self.states.memories, **after.memories},
            deviations={**self.states.deviations, **after.deviations},
            cells=after.cells,
            noises=after.noises,
        )

    def _count(self, entry: Learn) -> None:
        observation = entry.observation
        for memory in observation.counted:
            self._counts(memory).credited += 1
        for memory in observation.helpful:
            self._counts(memory).helpful += 1
        for memory in observation.harmful:
            self._counts(memory).harmful += 1
        if observation.evidence is Evidence.CONTROL:
            cell = (entry.agent, entry.category)
            self.controls[cell] = self.controls.get(cell, 0) + 1

    def _counts(self, memory: UUID) -> Counts:
        return self.counts.setdefault(memory, Counts())


def steps_of(move: Move, policy: Policy, bank_version: int) -> list[Step]:
    """The ledger's entries for one outcome: each state it changed, in a fixed order."""
    changed = [
        *_changes(move.before.memories, move.after.memories, _memory),
        *_changes(move.before.deviations, move.after.deviations, _deviation),
        *_changes(move.before.cells, move.after.cells, _cell),
        *_changes(move.before.noises, move.after.noises, _noise),
    ]
    return [
        Step(
            bank_version=bank_version,
            subject=subject,
            kind="learn",
            reason=move.entry.observation.evidence.value,
            before=None if before is None else stored(before),
            after=stored(after),
            weights=_weights(policy, subject, before, after),
            outcome_id=move.outcome.id,
            known_at=move.outcome.known_at,
        )
        for subject, before, after in changed
    ]


Key = TypeVar("Key", UUID, tuple[UUID, UUID], str)


def _changes(
    before: Mapping[Key, State], after: Mapping[Key, State], subject: Callable[[Key], Subject]
) -> list[tuple[Subject, State | None, State]]:
    """What differs, in the order of the keys."""
    return [
        (subject(key), before.get(key), after[key])
        for key in sorted(after)
        if after[key] != before.get(key)
    ]


def _memory(key: UUID) -> Subject:
    return Subject("memory", memory_id=key)


def _deviation(key: tuple[UUID, UUID]) -> Subject:
    return Subject("deviation", memory_id=key[0], agent_id=key[1])


def _cell(key: tuple[UUID, UUID]) -> Subject:
    return Subject("cell", agent_id=key[0], category_id=key[1])


def _noise(key: str) -> Subject:
    return Subject("noise", reward_kind=key)


def _weights(
    policy: Policy, subject: Subject, before: State | None, after: State
) -> tuple[float | None, float | None]:
    """The effective weights around a change of a memory's own state; no other has one."""
    if subject.kind != "memory":
        return None, None
    then = None if before is None else policy.effective_weight(before, None)
    return then, policy.effective_weight(after, None)


def stored(state: State) -> Stored:
    return Stored(state.values, state.touched)


def read(sheet: StateSheet) -> Learned:
    """Stored states as learning reads them."""
    return Learned(
        memories={key: _state(value) for key, value in sheet.memories.items()},
        deviations={key: _state(value) for key, value in sheet.deviations.items()},
        cells={key: _state(value) for key, value in sheet.cells.items()},
        noises={key: _state(value) for key, value in sheet.noise.items()},
    )


def _state(value: Stored) -> State:
    return State(value.values, value.touched_at)
