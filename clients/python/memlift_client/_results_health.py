"""What the server answers about the health of learning, frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Ages:
    """How many wait, by how long: under an hour, a day, a week, 30 days, and longer."""

    hour: int
    day: int
    week: int
    month: int
    older: int


@dataclass(frozen=True, slots=True)
class WeightShares:
    """Shares of the living memories by effective weight: at either bound, and below .3."""

    living: int
    at_lower_bound: float
    at_upper_bound: float
    below_floor: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many receipts of the last 30 days an outcome came for."""

    receipts: int
    answered: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Duplicates:
    """How many of the texts that came in were there already, or were merged."""

    remembered: int
    duplicates: int
    share: float | None


@dataclass(frozen=True, slots=True)
class ItemVariance:
    """Whether one memory's residuals agree between dates; `alert` where they do not."""

    pairs: int
    mean: float | None
    alert: bool


@dataclass(frozen=True, slots=True)
class Health:
    """The health of learning at `known_at`."""

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
