"""The effect of memory in its simple form: counts, means by arm, and the mean paired difference.

Standard errors are plain: every outcome counts as independent, though outcomes of one day move
together. No interval that may be watched while it grows is claimed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from types import MappingProxyType

LABEL = "simple: plain standard error over outcomes, not clustered by date"


@dataclass(frozen=True, slots=True)
class Tally:
    """Count, sum and sum of squares: all that a mean and its standard error need."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    def counted(self, value: float) -> "Tally":
        return Tally(self.n + 1, self.total + value, self.squares + value * value)

    @property
    def mean(self) -> float | None:
        return self.total / self.n if self.n else None

    @property
    def standard_error(self) -> float | None:
        """None below two values. Rounding may take a sum of squares below zero; it counts as 0."""
        if self.n < 2:  # noqa: PLR2004 - one value has no spread
            return None
        spread = max(0.0, self.squares - self.total * self.total / self.n)
        return sqrt(spread / (self.n - 1) / self.n)


def _no_arms() -> Mapping[str, Tally]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tallies:
    """The effect sums of one cell: rewards as acted by arm, and differences of pairs."""

    arms: Mapping[str, Tally] = field(default_factory=_no_arms)
    pairs: Tally = Tally()

    def counted(self, arm: str, reward: float, without: float | None = None) -> "Tallies":
        """One more outcome: its reward as it was acted, and that of the run without memory."""
        arms = {**self.arms, arm: self.arms.get(arm, Tally()).counted(reward)}
        if without is None:
            return replace(self, arms=arms)
        return Tallies(arms, self.pairs.counted(reward - without))


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of n values; None where there are too few to say."""

    n: int
    mean: float | None
    standard_error: float | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What memory brought in one cell. `paired` is with minus without on the same task."""

    n: int
    arms: Mapping[str, Mean]
    paired: Mean
    label: str = LABEL


def simple_effect(tallies: Tallies) -> Effect:
    """The effect that the sums amount to; arms in alphabetical order."""
    arms = {arm: _mean(tallies.arms[arm]) for arm in sorted(tallies.arms)}
    return Effect(sum(arm.n for arm in arms.values()), arms, _mean(tallies.pairs))


def _mean(tally: Tally) -> Mean:
    return Mean(tally.n, tally.mean, tally.standard_error)
