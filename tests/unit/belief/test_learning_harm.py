"""Harm told by single outcomes: the sums, the intervals, and the cell that is left early."""

from math import log, sqrt
from random import Random
from statistics import fmean, stdev

import pytest
from learning_builders import DAY, NOON

from memory.belief.effect import ArmOutcome, add_outcome, effect_of, initial_day
from memory.belief.harm import HarmSums
from memory.belief.states import Measurement
from memory.belief.strength import (
    StrengthInput,
    feedback_dates,
    initial_strength,
    is_suspended,
    learn_strength,
)

LIVES = 200


def sums(outcomes):
    found = HarmSums()
    for outcome in outcomes:
        found = found.add(outcome)
    return found


def a_pair(difference):
    return ArmOutcome("paired", 1.0, min(1.0, max(0.0, 0.5 + difference)), 0.5)


def drawn(reward, *, on):
    return ArmOutcome("on" if on else "control", 0.8 if on else 0.2, reward, None)


def by_dates(outcomes):
    """The effect with a date for every outcome: what the sums have to agree with."""
    return effect_of([add_outcome(initial_day(), one, NOON) for one in outcomes])


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_judged_as_the_effect_judges_dates_of_one_outcome(seed):
    chance = Random(seed)
    outcomes = [a_pair(chance.gauss(-0.1, 0.15)) for _ in range(60)]
    high = by_dates(outcomes).paired.high

    assert high is not None
    assert sums(outcomes).below_zero is (high < 0)


@pytest.mark.parametrize("seed", range(20))
def test_what_was_drawn_is_judged_as_the_effect_judges_dates_of_one_outcome(seed):
    chance = Random(seed)
    outcomes = [
        drawn(min(1.0, max(0.0, chance.gauss(0.4 if on else 0.7, 0.2))), on=on)
        for on in (chance.random() < 0.8 for _ in range(120))
    ]
    high = by_dates(outcomes).randomised.high

    assert high is not None
    assert sums(outcomes).below_zero is (high < 0)


def test_thirty_outcomes_are_needed():
    harm = [a_pair(-0.4 if n % 2 else -0.2) for n in range(30)]

    assert not sums(harm[:29]).below_zero
    assert sums(harm).below_zero


def test_ten_of_them_without_memory():
    harm = [drawn(0.2 + 0.1 * (n % 2), on=True) for n in range(40)]
    without = [drawn(0.8 + 0.1 * (n % 2), on=False) for n in range(10)]

    assert not sums([*harm, *without[:9]]).below_zero
    assert sums([*harm, *without]).below_zero


def test_what_was_certain_and_what_is_alike_tells_nothing():
    forced = [ArmOutcome("forced_on", 1.0, 0.1 * (n % 2), None) for n in range(100)]

    assert not sums(forced).below_zero
    assert not sums([a_pair(-0.3)] * 100).below_zero


def test_sums_keep_their_share_and_their_order():
    found = sums([a_pair(-0.2), drawn(0.3, on=True), drawn(0.6, on=False)])

    assert HarmSums.of(found.numbers) == found
    assert found.keep(0.5).numbers == tuple(n / 2 for n in found.numbers)
    assert found.keep(0.5).treated.mean == pytest.approx(found.treated.mean)


def told(difference, now, *, strength=0.0):
    """A pair that moves the reward, with a reading that speaks for memory as far as `strength`."""
    return StrengthInput(None, (Measurement(strength, 1.0, 0.0, 0.1),), now, a_pair(difference))


def after(outcomes, state=None):
    state = state or initial_strength()
    for shown in outcomes:
        state = learn_strength(state, shown, (), own_information=False)
    return state


def test_a_harmful_cell_is_left_on_its_first_date():
    harm = [told(-0.4 if n % 2 else -0.2, NOON) for n in range(30)]

    assert not is_suspended(after(harm[:29]))
    left = after(harm)
    assert (is_suspended(left), feedback_dates(left)) == (True, 1)


def test_it_returns_once_single_outcomes_speak_against_it_no_more():
    left = after([told(-0.4 if n % 2 else -0.2, NOON) for n in range(30)])
    good = [told(0.5, NOON + DAY, strength=0.5)] * 20
    states = [after(good[:n], left) for n in range(21)]

    assert is_suspended(states[1])
    assert not is_suspended(states[-1])


def test_harm_of_long_ago_is_forgotten():
    left = after([told(-0.4 if n % 2 else -0.2, NOON) for n in range(40)])
    late = after([told(-0.3, NOON + 200 * DAY, strength=0.3)], left)

    assert is_suspended(left)
    assert not is_suspended(late)


@pytest.mark.parametrize(("effect", "least", "most"), [(0.0, 0.0, 0.05), (-0.2, 0.8, 1.0)])
def test_how_often_binary_pairs_are_left_within_two_hundred(effect, least, most):
    """On one date; the interval is looked at after every outcome. Nought is left seldom."""
    found = 0
    for seed in range(LIVES):
        chance, known, ever = Random(seed), HarmSums(), False
        for _ in range(200):
            on, off = float(chance.random() < 0.5 + effect), float(chance.random() < 0.5)
            known = known.add(ArmOutcome("paired", 1.0, on, off))
            ever = ever or known.below_zero
        found += ever
    share = found / LIVES
    print(f"effect {effect}: ever {share:.3f}")  # noqa: T201 - a report

    assert least <= share <= most


def test_the_interval_is_that_of_the_formula():
    chance = Random(1)
    values = [chance.gauss(-0.12, 0.2) for _ in range(40)]
    seen = 40 * 0.159 + 1

    reach = stdev(values) * sqrt(2 * seen / (1600 * 0.159) * log(sqrt(seen) / 0.05))

    assert sums(map(a_pair, values)).below_zero is (fmean(values) + reach < 0)
