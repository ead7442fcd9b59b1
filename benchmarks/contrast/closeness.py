"""Whether texts are closer to one run than to another: scores of cases, tasks as the unit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
import numpy.typing as npt

from benchmarks.contrast.transfer import Case

DRAWS = 2_000
TAIL = 0.025

Vector = npt.NDArray[np.float32]
Texts = Callable[[Case], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks with its 95 % bootstrap interval (tasks drawn); n tasks."""

    mean: float
    low: float
    high: float
    n: int


def share_closer(case: Case, texts: Sequence[str], vectors: Mapping[str, Vector]) -> float | None:
    """The share of `texts` with a larger cosine to the failing run than to the winning one; a tie
    is half. None without texts.
    """
    if not texts:
        return None
    failing, winning = vectors[case.failing], vectors[case.winning]
    gaps = [float(vectors[text] @ failing - vectors[text] @ winning) for text in texts]
    return fsum(1.0 if gap > 0 else 0.5 if gap == 0 else 0.0 for gap in gaps) / len(gaps)


def by_task(cases: Sequence[Case], texts: Texts, vectors: Mapping[str, Vector]) -> dict[str, float]:
    """Each task's mean share over its cases with texts."""
    told: dict[str, list[float]] = {}
    for case in cases:
        share = share_closer(case, texts(case), vectors)
        if share is not None:
            told.setdefault(case.task, []).append(share)
    return {task: fsum(some) / len(some) for task, some in told.items()}


def estimate(values: Sequence[float], seed: int) -> Estimate | None:
    """The mean and its bootstrap interval; None of nothing."""
    if not values:
        return None
    chance = np.random.default_rng(seed)
    numbers = np.asarray(values, dtype=np.float64)
    drawn = numbers[chance.integers(0, len(numbers), size=(DRAWS, len(numbers)))].mean(axis=1)
    low, high = np.quantile(drawn, [TAIL, 1 - TAIL])
    return Estimate(float(numbers.mean()), float(low), float(high), len(numbers))


def gain(one: Mapping[str, float], other: Mapping[str, float], seed: int) -> Estimate | None:
    """How much larger the first is than the second, on the tasks that both have."""
    both = sorted(one.keys() & other.keys())
    return estimate([one[task] - other[task] for task in both], seed)
