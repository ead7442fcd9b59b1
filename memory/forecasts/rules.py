"""Scores a forecast against what came true: the Brier score in its mean form, and skill.

Brier score: mean of (p - y)² over the outcomes that are not void, y 1 for yes and 0 for no (Brier,
Monthly Weather Review 78, 1950). Skill: the crowd's score less the forecast's, over the same
outcomes; positive is better than the crowd.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

TRUTH = {"yes": 1.0, "no": 0.0}


Probabilities = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Judgement:
    """`names`: the outcomes that count, in order, and `truth` what each came to. `reason` where
    there is nothing to score: `outcomes_missing` (a named outcome was not resolved) or `void`.
    """

    reason: str | None
    names: tuple[str, ...] = ()
    truth: tuple[float, ...] = ()
    brier: float | None = None
    baseline_brier: float | None = None
    skill: float | None = None

    def of(self, probabilities: Probabilities) -> list[float]:
        """The probabilities of the outcomes that count, in their order."""
        return [probabilities[name] for name in self.names]


def judge(
    probabilities: Probabilities,
    baseline: Probabilities | None,
    resolutions: Mapping[str, str],
    crowd: Probabilities | None,
) -> Judgement:
    """What a forecast is worth now that its outcomes are known."""
    if not probabilities.keys() <= resolutions.keys():
        return Judgement("outcomes_missing")
    names = tuple(sorted(name for name in probabilities if resolutions[name] in TRUTH))
    if not names:
        return Judgement("void")
    truth = tuple(TRUTH[resolutions[name]] for name in names)
    brier = brier_score([probabilities[name] for name in names], truth)
    crowds = _brier_of(crowd, names, truth)
    return Judgement(
        None,
        names,
        truth,
        brier,
        _brier_of(baseline, names, truth),
        None if crowds is None else crowds - brier,
    )


def brier_score(forecast: Sequence[float], truth: Sequence[float]) -> float:
    """Mean squared distance, in [0, 1] for probabilities; smaller is better."""
    return fsum((p - y) ** 2 for p, y in zip(forecast, truth, strict=True)) / len(truth)


def _brier_of(
    probabilities: Probabilities | None, names: Sequence[str], truth: Sequence[float]
) -> float | None:
    """Null where it leaves one of these outcomes out."""
    if probabilities is None or not probabilities.keys() >= set(names):
        return None
    return brier_score([probabilities[name] for name in names], truth)


Z95 = 1.959963984540054


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """The 95 % score interval of a share (Wilson, JASA 22, 1927); it stays within [0, 1]."""
    share, square = successes / n, Z95 * Z95
    middle = (share + square / (2 * n)) / (1 + square / n)
    reach = Z95 / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, middle - reach), min(1.0, middle + reach)
