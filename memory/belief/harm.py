"""Whether memory does harm in one cell, told by single outcomes before ten dates are known.

The intervals are those of `effect`, with the outcome as the unit instead of the feedback date:
outcomes of one day move together, so this is quicker and less sure. Sums halve in 90 days, so that
harm of long ago does not speak against memory for ever.
"""

from math import sqrt
from typing import NamedTuple

from memory.belief.effect import (
    NO_SPREAD,
    SHOWN_FROM,
    TREATED,
    UNTREATED,
    ArmOutcome,
    sequence_reach,
)

OUTCOMES = 30  # no cell is left on the word of fewer


class Weighted(NamedTuple):
    """Rewards y of one arm, each weighted by w = 1/p of that arm."""

    n: float = 0.0
    w: float = 0.0  # sum of w
    wy: float = 0.0  # sum of w y
    ww: float = 0.0  # sum of w²
    wwy: float = 0.0  # sum of w² y
    wwyy: float = 0.0  # sum of w² y²

    def add(self, reward: float, propensity: float) -> "Weighted":
        w = 1.0 / propensity
        wy = w * reward
        more = (1.0, w, wy, w * w, w * wy, wy * wy)
        return Weighted(*(a + b for a, b in zip(self, more, strict=True)))

    @property
    def mean(self) -> float:
        return self.wy / self.w

    @property
    def pulls(self) -> float:
        """Sum of the squares of how each outcome pulls at the mean."""
        mean = self.mean
        return max(0.0, self.wwyy - mean * (2.0 * self.wwy - mean * self.ww)) / self.w**2


class HarmSums(NamedTuple):
    """The numbers of a cell: differences d of its pairs, and what was drawn and what was not."""

    pairs: float = 0.0
    difference: float = 0.0  # sum of d
    square: float = 0.0  # sum of d²
    treated: Weighted = Weighted()
    untreated: Weighted = Weighted()

    @classmethod
    def of(cls, numbers: tuple[float, ...]) -> "HarmSums":
        """From its numbers in a row."""
        pairs, difference, square, *drawn = numbers
        half = len(drawn) // 2
        return cls(pairs, difference, square, Weighted(*drawn[:half]), Weighted(*drawn[half:]))

    @property
    def numbers(self) -> tuple[float, ...]:
        """In a row, as a state keeps them."""
        return (*self[:3], *self.treated, *self.untreated)

    def keep(self, share: float) -> "HarmSums":
        """What is left of every sum."""
        return HarmSums.of(tuple(share * number for number in self.numbers))

    def add(self, outcome: ArmOutcome) -> "HarmSums":
        """With one outcome as the agent acted. What was certain was not drawn, and an arm that is
        neither with memory nor without says nothing.
        """
        sums = self
        if outcome.without is not None:
            d = outcome.reward - outcome.without
            sums = sums._replace(
                pairs=sums.pairs + 1.0, difference=sums.difference + d, square=sums.square + d * d
            )
        if outcome.propensity >= 1.0:
            return sums
        if outcome.arm in TREATED:
            return sums._replace(treated=sums.treated.add(outcome.reward, outcome.propensity))
        if outcome.arm in UNTREATED:
            return sums._replace(untreated=sums.untreated.add(outcome.reward, outcome.propensity))
        return sums

    @property
    def below_zero(self) -> bool:
        """Whether an interval of at least 30 outcomes lies below zero: that of the pairs, or of
        what was drawn (with at least ten outcomes without memory).
        """
        return self._pairs_below_zero or self._drawn_below_zero

    @property
    def _pairs_below_zero(self) -> bool:
        n = self.pairs
        if n < OUTCOMES:
            return False
        mean = self.difference / n
        return _is_below_zero(n, mean, max(0.0, self.square - n * mean * mean) / (n - 1.0))

    @property
    def _drawn_below_zero(self) -> bool:
        on, off = self.treated, self.untreated
        n = on.n + off.n
        if n < OUTCOMES or off.n < SHOWN_FROM or not on.n:
            return False
        return _is_below_zero(n, on.mean - off.mean, n * n * (on.pulls + off.pulls) / (n - 1.0))


def _is_below_zero(n: float, mean: float, variance: float) -> bool:
    """Where no two outcomes differ nothing was seen of how far they may: no interval."""
    spread = sqrt(variance)
    return spread >= NO_SPREAD and mean + spread * sequence_reach(n) < 0.0
