"""Shapes of the health of learning."""

from memory.insight.entities import Health
from server.schemas.base import Out, UtcTime


class AgesOut(Out):
    """How many wait, by how long: under an hour, a day, a week, 30 days, and longer."""

    hour: int
    day: int
    week: int
    month: int
    older: int


class WeightSharesOut(Out):
    """Shares of the living memories by effective weight: at most .12, at least 1.95, below .3."""

    living: int
    at_lower_bound: float
    at_upper_bound: float
    below_floor: float


class CoverageOut(Out):
    """How many receipts of the last 30 days an effective outcome came for."""

    receipts: int
    answered: int
    share: float | None


class DuplicatesOut(Out):
    """How many of the texts that came in were there already, or were merged as near-twins."""

    remembered: int
    duplicates: int
    share: float | None


class ItemVarianceOut(Out):
    """Mean product of one memory's residuals on two different dates, over the last 180 days.

    `alert`: at or below zero over at least 200 pairs; weights carry no signal here.
    """

    pairs: int
    mean: float | None
    alert: bool


class HealthOut(Out):
    """The health of learning. `evidence`: outcomes of the last 30 days by kind. `egl`: memories
    admitted for a thousand retrievals, by category; null before the first retrieval.
    """

    known_at: UtcTime
    weights: WeightSharesOut
    coverage: CoverageOut
    pending_outcomes: AgesOut
    pending_receipts: AgesOut
    suspended_cells: int
    duplicates: DuplicatesOut
    evidence: dict[str, int]
    egl: dict[str, float | None]
    item_variance: ItemVarianceOut

    @classmethod
    def of(cls, health: Health) -> "HealthOut":
        return cls.model_validate(health)
