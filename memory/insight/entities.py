"""What people read of learning: weights, effects, the bank at a moment, its health."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.memories.entities import Kind
from memory.tenancy.entities import utc


@dataclass(frozen=True, slots=True)
class Ages:
    """How many wait, by how long: under an hour, a day, a week, 30 days, and longer."""

    hour: int = 0
    day: int = 0
    week: int = 0
    month: int = 0
    older: int = 0

    @property
    def total(self) -> int:
        return self.hour + self.day + self.week + self.month + self.older


@dataclass(frozen=True, slots=True)
class WeightShares:
    """Shares of the living memories by effective weight: at either bound, and below .3."""

    living: int
    at_lower_bound: float
    at_upper_bound: float
    below_floor: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many receipts of the last 30 days an effective outcome came for."""

    receipts: int
    answered: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Duplicates:
    """How many of the texts that came in were there already, or were merged as near-twins."""

    remembered: int
    duplicates: int
    share: float | None


@dataclass(frozen=True, slots=True)
class ItemVariance:
    """Mean product of one memory's residuals on two different dates, over so many pairs.

    `alert`: at or below zero on enough pairs; weights carry no signal here.
    """

    pairs: int
    mean: float | None
    alert: bool


@dataclass(frozen=True, slots=True)
class Health:
    """The health of learning in one namespace at `known_at`.

    `evidence` counts the effective outcomes of the last 30 days by kind. `egl` is a thousand times
    the memories admitted for each retrieval, by category (None: no retrieval yet); it falls while
    the bank suffices, and rises when tasks drift.
    """

    known_at: datetime
    weights: WeightShares
    coverage: Coverage
    pending_outcomes: Ages
    pending_receipts: Ages
    suspended_cells: int
    duplicates: Duplicates
    evidence: Mapping[str, int]
    egl: Mapping[str, float | None]
    item_variance: ItemVariance

    def stored(self) -> dict[str, object]:
        """The numbers, without their time."""
        numbers = asdict(self)
        del numbers["known_at"]
        return numbers

    @classmethod
    def read(cls, known_at: datetime, numbers: Mapping[str, object]) -> "Health":
        """The health that was `stored`."""
        known = cast("Mapping[str, Any]", numbers)
        return cls(
            known_at=known_at,
            weights=WeightShares(**known["weights"]),
            coverage=Coverage(**known["coverage"]),
            pending_outcomes=Ages(**known["pending_outcomes"]),
            pending_receipts=Ages(**known["pending_receipts"]),
            suspended_cells=known["suspended_cells"],
            duplicates=Duplicates(**known["duplicates"]),
            evidence=known["evidence"],
            egl=known["egl"],
            item_variance=ItemVariance(**known["item_variance"]),
        )


MAX_CHANGES = 500


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


@dataclass(frozen=True, slots=True)
class WeightView:
    """A memory's weight for one agent (None: for none in particular), aged to the time of
    reading.
    """

    memory_id: UUID
    agent: str | None
    effective_weight: float
    ranking_weight: float
    state: Mapping[str, float]
    deviation: Mapping[str, float] | None
    served: int
    credited: int
    helpful: int
    harmful: int
    touched_at: datetime | None


@dataclass(frozen=True, slots=True)
class WeightOrder:
    """strongest or weakest first, as one agent's deviations have it (None: without deviations)."""

    agent: str | None = None
    order: str = "strongest"

    def __post_init__(self) -> None:
        if self.order not in ("strongest", "weakest"):
            raise Rejected("order must be strongest or weakest", field="order")


@dataclass(frozen=True, slots=True)
class WeightRow:
    """A line in the list of weights."""

    memory_id: UUID
    situation: str
    lesson: str
    category: str
    effective_weight: float
    served: int
    credited: int
    touched_at: datetime | None
    kind: Kind = Kind.EXPERIENCE


@dataclass(frozen=True, slots=True)
class ArmMean:
    n: int
    mean: float


@dataclass(frozen=True, slots=True)
class EstimateView:
    """What memory added to the reward: n outcomes on so many feedback dates.

    The error is clustered by date; `low` and `high` bound it at every look, None while too little
    is known to say.
    """

    n: int
    dates: int
    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, slots=True)
class EffectView:
    """What memory did for one agent in one category, and how far it is followed there.

    Pairs and randomised outcomes are never mixed. `strength` lies in [0, 1]; a suspended cell is
    served without memory, but for probes.
    """

    agent: str
    category: str
    n: int
    arms: Mapping[str, ArmMean]
    paired: EstimateView
    randomised: EstimateView
    strength: float
    suspended: bool
    feedback_dates: int


@dataclass(frozen=True, slots=True)
class RankersView:
    """The guard's record of one category (None: of the whole namespace).

    `probabilities` say how far each ranker is believed now, `losses` what each has lost, a date
    counting once and old dates less.
    """

    category: str | None
    feedback_dates: int
    probabilities: Mapping[str, float]
    losses: Mapping[str, float]
