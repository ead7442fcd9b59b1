"""The simple effect: counts, means by arm, and the paired difference with a plain error."""

import pytest

from memory.learning.effect import LABEL, Tallies, Tally, simple_effect


def test_pairs_give_a_mean_difference_with_its_plain_standard_error():
    tallies = Tallies().counted("paired", 0.8, 0.5).counted("paired", 0.6, 0.5)

    effect = simple_effect(tallies)

    assert effect.paired.n == 2
    assert effect.paired.mean == pytest.approx(0.2)
    assert effect.paired.standard_error == pytest.approx(0.1)


def test_arms_are_told_apart_and_unpaired_outcomes_stay_out_of_the_difference():
    tallies = Tallies().counted("on", 0.9).counted("control", 0.4).counted("on", 0.7)

    effect = simple_effect(tallies)

    assert effect.n == 3
    assert {arm: mean.n for arm, mean in effect.arms.items()} == {"control": 1, "on": 2}
    assert effect.arms["on"].mean == pytest.approx(0.8)
    assert effect.paired.mean is None


def test_one_outcome_has_a_mean_but_no_error():
    effect = simple_effect(Tallies().counted("on", 0.9, 0.4))

    assert effect.paired.mean == pytest.approx(0.5)
    assert effect.paired.standard_error is None


def test_equal_values_have_no_error_whatever_rounding_says():
    tally = Tally()
    for _ in range(7):
        tally = tally.counted(0.1)

    assert tally.standard_error == pytest.approx(0.0, abs=1e-8)
    assert Tally(3, 0.3, 0.0299999).standard_error == 0.0


def test_the_effect_says_that_its_error_is_plain():
    assert simple_effect(Tallies()).label == LABEL
    assert "plain standard error" in LABEL
