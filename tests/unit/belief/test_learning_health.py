"""The numbers by which learning is judged healthy."""

from dataclasses import replace
from itertools import accumulate, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.insight.entities import (
    DuplicateTexts,
    ItemVariance,
    LearningHealth,
    OutcomeCoverage,
    WaitingByAge,
    WeightShares,
)
from memory.insight.rules import (
    ENOUGH_PAIRS,
    egl,
    item_variance,
    share,
    summarise_samples,
    weight_shares,
)
from tests.fixtures.engine import NOON

FRESH = LearningHealth(
    known_at=NOON,
    weights=WeightShares(10, 0.1, 0.2, 0.3),
    coverage=OutcomeCoverage(100, 1, 0.01),
    pending_outcomes=WaitingByAge(hour=3, day=2, week=1),
    pending_receipts=WaitingByAge(older=7),
    suspended_cells=1,
    duplicates=DuplicateTexts(8, 2, 0.25),
    evidence={"paired": 5, "none": 1},
    egl={"weather": 600.0, "sport": None},
    item_variance=ItemVariance(200, -0.1, alert=True),
)


def test_egl_is_cumulative_and_falls_when_nothing_more_is_admitted() -> None:
    admitted = accumulate([3, 2, 1, 0, 0])
    retrievals = accumulate([5, 10, 10, 10, 10])

    found = [egl(*pair) for pair in zip(admitted, retrievals, strict=True)]

    assert found == pytest.approx([600, 333.3, 240, 171.4, 133.3], abs=0.05)


def test_without_a_retrieval_there_is_no_egl() -> None:
    assert egl(3, 0) is None


def test_one_answer_of_a_hundred_is_a_coverage_of_one_percent() -> None:
    assert share(1, 100) == 0.01
    assert share(0, 0) is None


def test_weights_at_the_bounds_are_told_from_those_near_them() -> None:
    found = weight_shares([0.1, 0.12, 0.13, 0.29, 0.3, 1.0, 1.94, 1.95, 2.0, 1.0])

    assert found == WeightShares(10, at_lower_bound=0.2, at_upper_bound=0.2, below_floor=0.4)
    assert weight_shares([]) == WeightShares(0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("products", "pairs", "alert"),
    [
        (0.0, ENOUGH_PAIRS, True),
        (-1.0, ENOUGH_PAIRS, True),
        (1.0, ENOUGH_PAIRS, False),
        (-1.0, ENOUGH_PAIRS - 1, False),
        (0.0, 0, False),
    ],
)
def test_the_alert_needs_enough_pairs_and_no_agreement(
    products: float, pairs: int, *, alert: bool
) -> None:
    found = item_variance(products, pairs)

    assert found.alert is alert
    assert found.mean == (products / pairs if pairs else None)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=8))
def test_the_square_of_the_sum_less_the_squares_is_twice_the_pairs(residuals: list[float]) -> None:
    """As the database counts the products of different dates, without forming the pairs."""
    pairs = list(combinations(residuals, 2))

    short = (sum(residuals) ** 2 - sum(r * r for r in residuals)) / 2

    assert short == pytest.approx(sum(a * b for a, b in pairs), abs=1e-9)
    assert (len(residuals) ** 2 - len(residuals)) / 2 == len(pairs)


def test_all_namespaces_together_add_counts_and_show_the_worst_share() -> None:
    other = replace(
        FRESH,
        weights=WeightShares(30, 0.5, 0.0, 0.0),
        coverage=OutcomeCoverage(100, 99, 0.99),
        evidence={"single": 4, "none": 2},
    )

    found = summarise_samples([FRESH, other])

    assert found["living"] == 40
    assert (found["at_lower_bound"], found["at_upper_bound"], found["below_floor"]) == (
        0.5,
        0.2,
        0.3,
    )
    assert found["coverage"] == 0.5
    assert (found["pending_outcomes"], found["pending_outcomes_over_a_day"]) == (12, 2)
    assert found["evidence_none"] == 3
    assert found["egl"] == 600
    assert found["item_variance_alerts"] == 2


def test_nothing_is_shown_of_no_namespace() -> None:
    assert summarise_samples([]) == {}


def test_a_sample_reads_as_it_was_stored() -> None:
    assert LearningHealth.of_numbers(NOON, FRESH.to_numbers()) == FRESH
