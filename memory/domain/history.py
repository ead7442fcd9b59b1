"""What people ask of the ledger: the bank at a moment, what changed between two, what if, undo."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.namespace import utc
from memory.errors import Rejected

MAX_CHANGES = 500


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the bank: by what was known (`as_of`), or as it was recorded (`bank_version`).

    With neither: now. By `as_of` what was withdrawn since is left out; by `bank_version` the bank
    is what a guideline of that version was compiled from.
    """

    as_of: datetime | None = None
    bank_version: int | None = None

    def __post_init__(self) -> None:
        if self.as_of is not None:
            object.__setattr__(self, "as_of", utc(self.as_of, "as_of"))
        if self.as_of is not None and self.bank_version is not None:
            raise Rejected("give as_of or bank_version, not both", field="bank_version")
        if self.bank_version is not None and self.bank_version < 0:
            raise Rejected("bank_version is at least 0", field="bank_version", limit=0)

    @property
    def now(self) -> bool:
        return self.as_of is None and self.bank_version is None


@dataclass(frozen=True, slots=True)
class PastWeight:
    """A memory's effective weight at a moment, for no agent in particular."""

    memory_id: UUID
    effective_weight: float


@dataclass(frozen=True, slots=True)
class WeightChange:
    """A memory's weight here and there; None where it did not exist."""

    memory_id: UUID
    before: float | None
    after: float | None

    @property
    def size(self) -> float:
        return abs((self.after or 0.0) - (self.before or 0.0))


@dataclass(frozen=True, slots=True)
class StrengthChange:
    """How far memory is followed in a cell, here and there."""

    agent: str
    category: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A memory's status and text version here and there; None where it did not exist."""

    memory_id: UUID
    status_before: str | None
    status_after: str | None
    version_before: int | None
    version_after: int | None


@dataclass(frozen=True, slots=True)
class Difference:
    """What two states of the bank differ in: the largest changes first, `total` counts them all.

    `memories` came, changed status or changed text, `total_memories` counts them all; both are
    empty where only weights were compared.
    """

    total: int
    weights: tuple[WeightChange, ...]
    strengths: tuple[StrengthChange, ...]
    total_memories: int = 0
    memories: tuple[MemoryChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Conjecture:
    """The recorded outcomes folded under another policy; nothing in the bank is touched.

    Which memories were served is taken as it was: another policy would have served others, and
    what would have come of that nobody knows.
    """

    policy: str
    limit: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_CHANGES:
            raise Rejected(f"limit lies in 1…{MAX_CHANGES}", field="limit", limit=[1, MAX_CHANGES])


@dataclass(frozen=True, slots=True)
class Conjectured:
    """What the bank would be under the other policy."""

    policy: str
    instead_of: str
    outcomes: int
    difference: Difference
    held_fixed: str = "the memories served, and the evidence that each outcome was ruled to be"


@dataclass(frozen=True, slots=True)
class Rollback:
    """Whose word is taken back: of an agent, of a key, or of both, recorded since and until.

    Outcomes of their retrievals or reports leave the ledger, memories they wrote retire.
    """

    agent: str | None = None
    key_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    dry_run: bool = True

    def __post_init__(self) -> None:
        if self.agent is None and self.key_id is None:
            raise Rejected("name an agent or a key", field="agent")
        for name in ("since", "until"):
            given: datetime | None = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, utc(given, name))


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What a rollback does, or did: outcomes withdrawn, memories retired, and what it changes."""

    dry_run: bool
    outcomes: tuple[UUID, ...]
    retired: tuple[UUID, ...]
    difference: Difference
    bank_version: int


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Whether the live states are what the ledger folds to, and which are not."""

    states: int
    differing: tuple[str, ...]

    def result(self) -> Mapping[str, object]:
        return {
            "examined": self.states,
            "changes": [],
            "exact": not self.differing,
            "differing": list(self.differing),
        }
