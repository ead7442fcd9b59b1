"""States as storage keeps them, one subject a row, and as learning reads them: there and back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import cast
from uuid import UUID

from memory.learning.fold import Learned
from memory.learning.policy import Policy
from memory.learning.states import State
from memory.storage.ledger import Step
from memory.storage.states import Sheet, Stored, Subject

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
