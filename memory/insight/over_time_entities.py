"""What an operator sees from day to day: lift, outcomes, what was served and left out."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from memory.belief.effect import Estimate

EvidenceOfLift = Literal["paired", "randomised"]


@dataclass(frozen=True, slots=True)
class LiftPoint:
    """What memory added over the feedback dates up to one of them, with an interval."""

    day: date
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class LiftOverTime:
    """Lift by one kind of evidence where rewards are measured alike, the oldest date first."""

    measure: str
    """Metric and kind of reward."""
    evidence: EvidenceOfLift
    points: tuple[LiftPoint, ...]
    """From the first date on that has an interval; one at least."""


@dataclass(frozen=True, slots=True)
class DayCounts:
    """What happened on one day (UTC)."""

    day: date
    with_memory: int = 0
    """Receipts of the arms that get what was selected."""
    without_memory: int = 0
    """Receipts answered without memory: drawn so, asked for so, or nothing to serve."""
    left_out: int = 0
    """Memories that a coin left out though they would have had a place."""
    counted: int = 0
    """Outcomes that are applied, or wait for it."""
    ignored: int = 0
    """Outcomes that move nothing."""
