"""Whether forecasts come true as often as they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from memory.forecasts.rules import wilson_interval


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Forecasts whose probabilities lie near each other, and how often they came true."""

    lowest: float
    """Probabilities from here up to a tenth more; the last one includes 1."""
    n: int
    """How many forecasts."""
    probability: float
    """Their mean probability."""
    came_true: int
    """How many of them came true."""

    @property
    def frequency(self) -> float:
        return self.came_true / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true frequency lies with 95 % confidence, were forecasts independent."""
        return wilson_interval(self.came_true, self.n)


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """How well one agent forecast, over its scored predictions; smaller Brier scores are better."""

    agent: str
    n: int
    """Scored predictions."""
    brier: float
    """Their mean Brier score."""
    n_baseline: int
    """Those of them that have a forecast without the guideline."""
    baseline_brier: float | None
    """The mean Brier score of these forecasts without it."""
    guided_brier: float | None
    """The mean Brier score of the same predictions, as they were acted on."""
    n_skill: int
    """Those that could be compared with a crowd."""
    skill: float | None
    """The crowd's Brier score less the agent's, on average; positive is better than the crowd."""


@dataclass(frozen=True, slots=True)
class ForecastCalibration:
    """Forecasts by their probability, and scores by agent."""

    bins: tuple[CalibrationBin, ...]
    scores: tuple[ForecastScore, ...]

    @property
    def n(self) -> int:
        """Forecasts of single outcomes; of two that exclude each other one counts."""
        return sum(one.n for one in self.bins)

    @property
    def error(self) -> float | None:
        """By how much probability and frequency differ, on average over forecasts."""
        apart = [abs(one.probability - one.frequency) for one in self.bins]
        return _weighted_mean([one.n for one in self.bins], apart)

    @property
    def predictions(self) -> int:
        return sum(one.n for one in self.scores)

    @property
    def brier(self) -> float | None:
        return _weighted_mean([one.n for one in self.scores], [one.brier for one in self.scores])

    @property
    def skill(self) -> float | None:
        skills = [one.skill or 0.0 for one in self.scores]
        return _weighted_mean([one.n_skill for one in self.scores], skills)


def _weighted_mean(counts: Sequence[int], values: Sequence[float]) -> float | None:
    total = sum(counts)
    return fsum(n * one for n, one in zip(counts, values, strict=True)) / total if total else None
