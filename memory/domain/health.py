"""What is read of the health of learning: whether it is fed, moves, and carries a signal."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, cast


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
