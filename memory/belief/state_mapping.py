"""States as storage keeps them, one subject a row, and as learning reads them: there and back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Protocol, cast
from uuid import UUID

from memory.belief.fold import Cell, Learn, Learned, Operation, Set, fold
from memory.belief.policy import Policy, policy_named
from memory.belief.states import Evidence, State
from memory.belief.store.ledger import LedgerStore, Step
from memory.belief.store.states import Counts, Sheet, StateStore, Stored, Subject
from memory.kernel.postgres.database import Connection
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import Namespace


@dataclass(slots=True)
class Counted:
    """Changes of the counters by memory, and of the control outcomes by cell."""

    memories: dict[UUID, Counts] = field(default_factory=dict[UUID, Counts])
    controls: dict[Cell, int] = field(default_factory=dict[Cell, int])

    def count(self, entry: Learn, by: int = 1) -> None:
        """Count an outcome in, or (`by` = -1) off again; whoever was muted credited nobody."""
        observation = entry.observation
        for memory in set(observation.counted) - observation.author_of:
            self._of(memory).credited += by
        for memory in observation.helpful:
            self._of(memory).helpful += by
        for memory in observation.harmful:
            self._of(memory).harmful += by
        if observation.evidence is Evidence.CONTROL:
            cell = (entry.agent, entry.category)
            self.controls[cell] = self.controls.get(cell, 0) + by

    def _of(self, memory: UUID) -> Counts:
        return self.memories.setdefault(memory, Counts())


PROBATION = 0.5
"""On probation a memory counts half."""


@dataclass(frozen=True, slots=True)
class View:
    """Who asks, in which category and at what time; the raw gate; the place in the receipt."""

    agent_id: UUID
    category: CategoryName
    as_of: datetime
    past: Learned | None
    gate: float
    place: int


class Believed(Protocol):
    """A stored row with its belief, and with how one agent's differs."""

    @property
    def id(self) -> UUID: ...
    @property
    def start_weight(self) -> float: ...
    @property
    def state(self) -> tuple[float, ...]: ...
    @property
    def touched_at(self) -> datetime | None: ...
    @property
    def deviation(self) -> tuple[float, ...] | None: ...
    @property
    def deviation_touched_at(self) -> datetime | None: ...


def states_of(policy: Policy, row: Believed, view: View) -> tuple[State, State | None]:
    """The states of a memory and of this agent's deviation, aged to the time of the retrieval."""
    if view.past is None:
        memory = State(row.state, row.touched_at)
        known = row.deviation
        deviation = None if known is None else State(known, row.deviation_touched_at)
    else:
        memory = view.past.memories.get(row.id) or policy.initial_memory(row.start_weight)
        deviation = view.past.deviations.get((row.id, view.agent_id))
    aged = None if deviation is None else policy.age_deviation(deviation, view.as_of)
    return policy.age_memory(memory, view.as_of), aged


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


KINDS: Mapping[str, tuple[str, ...]] = {
    "memory": ("memory_id",),
    "deviation": ("memory_id", "agent_id"),
    "cell": ("agent_id", "category_id"),
    "noise": ("reward_kind",),
    "strength": ("agent_id", "category_id"),
    "effect": ("agent_id", "category_id", "day"),
    "record": ("category_id",),
}
"""What names a subject of each kind, in the order of `Learned`'s fields."""


_FIELDS = {kind: field.name for kind, field in zip(KINDS, fields(Learned), strict=True)}


@dataclass(frozen=True, slots=True)
class Change:
    """One subject's state before and after; None where it is at its start."""

    subject: Subject
    before: State | None
    after: State | None


@dataclass(frozen=True, slots=True)
class Cause:
    """Why states change: what the ledger says beside them."""

    bank_version: int
    kind: str
    reason: str
    known_at: datetime
    outcome_id: UUID | None = None


def read(sheet: Sheet) -> Learned:
    """Stored states as learning reads them."""
    parts: dict[str, dict[object, State]] = {name: {} for name in _FIELDS.values()}
    for subject, stored in sheet.items():
        parts[_FIELDS[subject.kind]][_key(subject)] = State(
            stored.values, stored.touched_at, stored.by_ranker
        )
    return Learned(**parts)  # pyright: ignore[reportArgumentType] - keys follow the kind, above


def stored(state: State) -> Stored:
    return Stored(state.values, state.touched, state.by_ranker)


def changes(before: Learned, after: Learned) -> list[Change]:
    """What differs, kind by kind, in the order of the keys."""
    found: list[Change] = []
    for kind, name in _FIELDS.items():
        then: Mapping[object, State] = getattr(before, name)
        now: Mapping[object, State] = getattr(after, name)
        if then is now:
            continue
        differing = [key for key in {**then, **now} if then.get(key) != now.get(key)]
        found += [
            Change(_subject(kind, key), then.get(key), now.get(key))
            for key in sorted(differing, key=str)
        ]
    return found


def sheet_of(made: Iterable[Change]) -> dict[Subject, Stored | None]:
    """What to save; where a subject changed more than once, what it came to."""
    return {c.subject: None if c.after is None else stored(c.after) for c in made}


def steps(made: Iterable[Change], policy: Policy, cause: Cause) -> list[Step]:
    """The ledger's entries for changes with one cause."""
    return [
        Step(
            bank_version=cause.bank_version,
            subject=change.subject,
            kind=cause.kind,
            reason=cause.reason,
            before=None if change.before is None else stored(change.before),
            after=None if change.after is None else stored(change.after),
            weights=_weights(policy, change),
            outcome_id=cause.outcome_id,
            known_at=cause.known_at,
        )
        for change in made
    ]


def _weights(policy: Policy, change: Change) -> tuple[float | None, float | None]:
    """The effective weights around a change of a memory's own state; no other has one."""
    if change.subject.kind != "memory":
        return None, None
    then, now = (
        None if state is None else policy.effective_weight(state, None)
        for state in (change.before, change.after)
    )
    return then, now


def _key(subject: Subject) -> object:
    """A tuple of the ids that name the subject; one id stands for itself."""
    named = [getattr(subject, name) for name in KINDS[subject.kind]]
    return tuple(named) if len(named) > 1 else named[0]


def _subject(kind: str, key: object) -> Subject:
    named = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
    ids = dict(zip(KINDS[kind], named, strict=True))
    return Subject(kind, **ids)  # pyright: ignore[reportArgumentType] - a key follows its kind
