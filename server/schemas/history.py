"""Shapes of what is asked of the ledger: the bank at a moment, differences, what if, undo."""

from uuid import UUID

from pydantic import Field

from memory.insight.entities import (
    MAX_CHANGES,
    Conjecture,
    Conjectured,
    Difference,
    PastWeight,
    Rollback,
    RolledBack,
)
from memory.memories.browse_entities import BankMoment
from server.schemas.base import Flag, In, ListQuery, Moment, Name, Out, Whole, named

MAX_VERSION = 2**62


class MomentQuery(ListQuery):
    """A moment of the bank: what was known by `as_of`, or as recorded in `bank_version`."""

    as_of: Moment | None = None
    bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)

    def to_moment(self) -> BankMoment:
        return BankMoment(self.as_of, self.bank_version)


class PastWeightOut(Out):
    """A memory's weight at that moment, for no agent in particular."""

    memory_id: UUID
    effective_weight: float

    @classmethod
    def of(cls, row: PastWeight) -> "PastWeightOut":
        return cls.model_validate(row)


class DifferenceQuery(In):
    """Two moments, each by time or by version; a moment without either is now."""

    from_as_of: Moment | None = None
    from_bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)
    to_as_of: Moment | None = None
    to_bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)

    def to_moments(self) -> tuple[BankMoment, BankMoment]:
        return (
            BankMoment(self.from_as_of, self.from_bank_version),
            BankMoment(self.to_as_of, self.to_bank_version),
        )


class WeightChangeOut(Out):
    """A memory's weight here and there; null where it did not exist."""

    memory_id: UUID
    before: float | None
    after: float | None


class StrengthChangeOut(Out):
    """A cell's strength here and there."""

    agent: str
    category: str
    before: float
    after: float


class MemoryChangeOut(Out):
    """A memory's status and text version here and there; null where it did not exist."""

    memory_id: UUID
    status_before: str | None
    status_after: str | None
    version_before: int | None
    version_after: int | None


class DifferenceOut(Out):
    """The largest changes first; totals count also those not shown. `memories` came, changed status
    or changed text; they are told between two moments alone.
    """

    total: int
    weights: list[WeightChangeOut]
    strengths: list[StrengthChangeOut]
    total_memories: int
    memories: list[MemoryChangeOut]

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceOut":
        return cls.model_validate(difference)


class ConjectureIn(In):
    """Another policy under which to fold what was recorded; the bank is not touched."""

    policy: str = Field(min_length=1, max_length=64)
    limit: Whole = Field(100, ge=1, le=MAX_CHANGES)

    def to_conjecture(self) -> Conjecture:
        return Conjecture(policy=self.policy, limit=self.limit)


class ConjecturedOut(Out):
    """What the bank would be; `held_fixed` says what the conjecture cannot change."""

    policy: str
    instead_of: str
    outcomes: int
    difference: DifferenceOut
    held_fixed: str

    @classmethod
    def of(cls, found: Conjectured) -> "ConjecturedOut":
        return cls.model_validate(found)


class RollbackIn(In):
    """Whose word to take back; a dry run, the default, only tells what would change."""

    agent: Name | None = None
    key_id: UUID | None = None
    since: Moment | None = None
    until: Moment | None = None
    dry_run: Flag = True

    def to_rollback(self) -> Rollback:
        return Rollback(
            agent=named(self.agent, "agent"),
            key_id=self.key_id,
            since=self.since,
            until=self.until,
            dry_run=self.dry_run,
        )


class RolledBackOut(Out):
    """Outcomes withdrawn, memories retired, and what that changes."""

    dry_run: bool
    outcomes: list[UUID]
    retired: list[UUID]
    difference: DifferenceOut
    bank_version: int

    @classmethod
    def of(cls, done: RolledBack) -> "RolledBackOut":
        return cls.model_validate(done)
