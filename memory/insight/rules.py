"""The numbers by which learning is judged healthy. Pure."""

from collections.abc import Sequence

from memory.insight.entities import ItemVariance, LearningHealth, WeightShares

NEAR_LOWER, NEAR_UPPER = 0.12, 1.95
"""Weights up to here, or from here on, are at their bounds of .1 and 2."""


FLOOR = 0.3
"""Below this a memory is hardly served."""


ENOUGH_PAIRS = 200
"""Pairs of residuals below which the item variance says nothing."""


def share(part: int, whole: int) -> float | None:
    """None of nothing."""
    return part / whole if whole else None


def weight_shares(weights: Sequence[float]) -> WeightShares:
    """How the effective weights of living memories lie."""
    whole = len(weights)
    return WeightShares(
        living=whole,
        at_lower_bound=share(sum(weight <= NEAR_LOWER for weight in weights), whole) or 0.0,
        at_upper_bound=share(sum(weight >= NEAR_UPPER for weight in weights), whole) or 0.0,
        below_floor=share(sum(weight < FLOOR for weight in weights), whole) or 0.0,
    )


def egl(admitted: int, retrievals: int) -> float | None:
    """Memories admitted for a thousand retrievals (Yunjue Agent, arXiv 2601.18226: created over
    invoked, cumulative).
    """
    return 1000 * admitted / retrievals if retrievals else None


def item_variance(products: float, pairs: int) -> ItemVariance:
    """From the sum of products of one memory's residuals on two different dates, over `pairs`.

    What a memory adds shows on every date alike, so its residuals would agree; where they do not,
    weights follow noise.
    """
    mean = products / pairs if pairs else None
    return ItemVariance(pairs, mean, mean is not None and mean <= 0 and pairs >= ENOUGH_PAIRS)


def summarise_samples(samples: Sequence[LearningHealth]) -> dict[str, float]:
    """All namespaces together: counts add up, shares of weights are those of the worst."""
    if not samples:
        return {}
    numbers = {
        "living": sum(one.weights.living for one in samples),
        "at_lower_bound": max(one.weights.at_lower_bound for one in samples),
        "at_upper_bound": max(one.weights.at_upper_bound for one in samples),
        "below_floor": max(one.weights.below_floor for one in samples),
        "pending_outcomes": sum(one.pending_outcomes.total for one in samples),
        "pending_receipts": sum(one.pending_receipts.total for one in samples),
        "expired_receipts": sum(one.expired_receipts for one in samples),
        "suspended_cells": sum(one.suspended_cells for one in samples),
        "lone_parties": sum(one.lone_parties for one in samples),
        "item_variance_alerts": sum(one.item_variance.alert for one in samples),
        "egl": max((n for one in samples for n in one.egl.values() if n is not None), default=0.0),
        **_overdue(samples),
        **_evidence_mix(samples),
        **_shares(samples),
    }
    return {name: float(number) for name, number in numbers.items()}


def _overdue(samples: Sequence[LearningHealth]) -> dict[str, float]:
    """What has waited longer than a day, which no applier should let happen."""
    return {
        "pending_outcomes_over_a_day": sum(
            one.pending_outcomes.total - one.pending_outcomes.hour - one.pending_outcomes.day
            for one in samples
        )
    }


def _evidence_mix(samples: Sequence[LearningHealth]) -> dict[str, float]:
    kinds = sorted({kind for one in samples for kind in one.evidence})
    return {f"evidence_{kind}": sum(s.evidence.get(kind, 0) for s in samples) for kind in kinds}


def _shares(samples: Sequence[LearningHealth]) -> dict[str, float]:
    """Shares of everything taken together; none where there is nothing to share."""
    coverage = share(
        sum(one.coverage.answered for one in samples), sum(one.coverage.receipts for one in samples)
    )
    duplicates = share(
        sum(one.duplicates.duplicates for one in samples),
        sum(one.duplicates.remembered for one in samples),
    )
    named = {"coverage": coverage, "duplicate_share": duplicates}
    return {name: number for name, number in named.items() if number is not None}
