"""States by subject, as storage and the ledger name them: what changed, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import cast
from uuid import UUID

from memory.belief.fold import Cell, Learn, Learned
from memory.belief.policy import Policy
from memory.belief.states import Evidence, State

SUBJECT_KEYS: Mapping[str, tuple[str, ...]] = {
    "memory": ("memory_id",),
    "deviation": ("memory_id", "agent_id"),
    "influence": ("memory_id", "party_id"),
    "cell": ("agent_id", "category_id"),
    "noise": ("reward_kind",),
    "strength": ("agent_id", "category_id"),
    "effect": ("agent_id", "category_id", "day"),
    "record": ("category_id",),
    "usage": ("agent_id", "category_id"),
}
"""What names a subject of each kind, in the order of its key in `Learned`."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose state it is: exactly the ids that name it are set; no id names the whole namespace."""

    kind: str
    memory_id: UUID | None = None
    agent_id: UUID | None = None
    party_id: UUID | None = None
    category_id: UUID | None = None
    reward_kind: str | None = None
    day: date | None = None

    @property
    def columns(self) -> dict[str, object]:
        """All ids by name, those that are not set among them."""
        return {
            "memory_id": self.memory_id,
            "agent_id": self.agent_id,
            "party_id": self.party_id,
            "category_id": self.category_id,
            "reward_kind": self.reward_kind,
            "day": self.day,
        }

    @property
    def key(self) -> object:
        """As `Learned` has it: a tuple of the ids that name the subject; one stands for itself."""
        columns = self.columns
        ids = [columns[name] for name in SUBJECT_KEYS[self.kind]]
        return tuple(ids) if len(ids) > 1 else ids[0]

    @classmethod
    def of_key(cls, kind: str, key: object) -> "Subject":
        """The subject that has this key among those of its kind."""
        ids = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
        named = dict(zip(SUBJECT_KEYS[kind], ids, strict=True))
        return cls(kind, **named)  # pyright: ignore[reportArgumentType] - a key follows its kind


@dataclass(frozen=True, slots=True)
class StateChange:
    """One subject's state before and after; None where it is at its start."""

    subject: Subject
    before: State | None
    after: State | None


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """Why states change: what the ledger says beside them."""

    bank_version: int
    kind: str
    reason: str
    known_at: datetime
    outcome_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A change as the ledger has it; weights are those of a memory's own state."""

    change: StateChange
    cause: ChangeCause
    weight_before: float | None
    weight_after: float | None


def collect_states(states: Mapping[Subject, State]) -> Learned:
    """States of single subjects as learning reads them."""
    kinds: dict[str, dict[object, State]] = {kind: {} for kind in SUBJECT_KEYS}
    for subject, state in states.items():
        kinds[subject.kind][subject.key] = state
    return Learned.of_kinds(kinds)


def diff_states(before: Learned, after: Learned) -> list[StateChange]:
    """What differs, kind by kind, in the order of the keys."""
    found: list[StateChange] = []
    earlier, later = before.by_kind, after.by_kind
    for kind in SUBJECT_KEYS:
        then, now = earlier[kind], later[kind]
        if then is now:
            continue
        differing = [key for key in {**then, **now} if then.get(key) != now.get(key)]
        found += [
            StateChange(Subject.of_key(kind, key), then.get(key), now.get(key))
            for key in sorted(differing, key=str)
        ]
    return found


def ledger_entries(
    changes: Iterable[StateChange], policy: Policy, cause: ChangeCause, before: Policy | None = None
) -> list[LedgerEntry]:
    """The ledger's entries for changes with one cause; `before`: the policy by which the states
    before are read, where that is another.
    """
    return [
        LedgerEntry(
            change,
            cause,
            _weight(before or policy, change, change.before),
            _weight(policy, change, change.after),
        )
        for change in changes
    ]


def _weight(policy: Policy, change: StateChange, state: State | None) -> float | None:
    """The effective weight of a memory's own state; no other has one."""
    if state is None or change.subject.kind != "memory":
        return None
    return policy.effective_weight(state, None)


@dataclass(slots=True)
class MemoryCounters:
    """What is counted of a memory, beside its state."""

    credited: int = 0
    helpful: int = 0
    harmful: int = 0
    served: int = 0
    absent: int = 0


@dataclass(slots=True)
class CounterChanges:
    """Changes of the counters by memory, and of the control outcomes by cell."""

    memories: dict[UUID, MemoryCounters] = field(default_factory=dict[UUID, MemoryCounters])
    controls: dict[Cell, int] = field(default_factory=dict[Cell, int])

    def count(self, entry: Learn, by: int = 1) -> None:
        """Count an outcome in, or (`by` = -1) off again; whoever was muted credited nobody, and
        what could not have acted was not credited.

        Verdicts are counted where they are nobody's alone: a guideline tells of them.
        """
        observation = entry.observation
        acted = {memory for memory, exposure in observation.exposed.items() if exposure > 0.0}
        for memory in acted - observation.author_of:
            self._of(memory).credited += by
        for memory in entry.absent:
            self._of(memory).absent += by
        if observation.party is None:
            for memory in set(observation.helpful) - observation.author_of:
                self._of(memory).helpful += by
            for memory in set(observation.harmful) - observation.author_of:
                self._of(memory).harmful += by
        if observation.evidence is Evidence.CONTROL:
            cell = (entry.agent, entry.category)
            self.controls[cell] = self.controls.get(cell, 0) + by

    def _of(self, memory: UUID) -> MemoryCounters:
        return self.memories.setdefault(memory, MemoryCounters())
