"""The effect by feedback date: arms, pairs, draws, and when an interval is shown."""

from math import log, nan, sqrt
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON

from memory.belief.effect import ARMS, ArmOutcome, add_outcome, effect_of, initial_day
from memory.kernel.errors import Rejected
from tests.fixtures.profiles import examples


def a_day(*outcomes, now=NOON):
    day = initial_day()
    for acted in outcomes:
        day = add_outcome(day, acted, now)
    return day


def a_pair(on, off):
    return ArmOutcome("paired", 1.0, on, off)


def served(reward, propensity=0.8, arm="on"):
    return ArmOutcome(arm, propensity, reward, None)


def unserved(reward, propensity=0.2, arm="control"):
    return ArmOutcome(arm, propensity, reward, None)


def pairs_of(differences):
    return [a_day(a_pair(0.5 + difference, 0.5)) for difference in differences]


def test_a_cell_without_outcomes_says_nothing():
    effect = effect_of([])

    assert effect.arms == {}
    assert effect.paired.mean is None
    assert effect.randomised.mean is None


def test_rewards_are_averaged_by_arm_as_they_were_acted():
    effect = effect_of([a_day(served(0.9), served(0.7)), a_day(unserved(0.4))])

    assert {arm: (m.n, m.mean) for arm, m in effect.arms.items()} == {
        "on": (2, pytest.approx(0.8)),
        "control": (1, 0.4),
    }


@pytest.mark.parametrize("arm", ["empty", "forced_off"])
def test_an_arm_that_is_no_evidence_changes_nothing(arm):
    assert a_day(ArmOutcome(arm, 1.0, 0.5, None)) == initial_day()


def test_every_pair_weighs_the_same_and_the_error_is_that_of_dates():
    busy = a_day(a_pair(0.8, 0.5), a_pair(0.6, 0.5), a_pair(0.7, 0.5))
    quiet = a_day(a_pair(0.4, 0.5))

    paired = effect_of([busy, quiet]).paired

    mean = 0.5 / 4
    pulls = [(0.6 - 3 * mean) / 2, (-0.1 - mean) / 2]
    assert (paired.n, paired.dates) == (4, 2)
    assert paired.mean == pytest.approx(mean)
    assert paired.standard_error == pytest.approx(stdev(pulls) / sqrt(2))


def test_outcomes_that_repeat_within_a_date_make_nothing_surer():
    once = [a_day(a_pair(0.5 + d, 0.5)) for d in (0.1, 0.2, 0.0)]
    often = [a_day(*[a_pair(0.5 + d, 0.5)] * 50) for d in (0.1, 0.2, 0.0)]

    assert effect_of(often).paired.standard_error == pytest.approx(
        effect_of(once).paired.standard_error
    )


def test_pairs_say_nothing_of_draws_and_draws_nothing_of_pairs():
    effect = effect_of([a_day(a_pair(0.8, 0.5), served(0.9), unserved(0.2))])

    assert (effect.paired.n, effect.paired.mean) == (1, pytest.approx(0.3))
    assert (effect.randomised.n, effect.randomised.mean) == (2, pytest.approx(0.7))


def test_draws_are_weighed_by_how_rare_they_were():
    day = a_day(served(1.0, 0.5), served(0.0, 0.9), unserved(0.3, 0.1), unserved(0.6, 0.5))

    on = (1 / 0.5) / (1 / 0.5 + 1 / 0.9)
    off = (0.3 / 0.1 + 0.6 / 0.5) / (1 / 0.1 + 1 / 0.5)
    assert effect_of([day]).randomised.mean == pytest.approx(on - off)


def test_in_a_suspended_cell_the_probe_is_what_was_served():
    day = a_day(served(0.9, 0.05, "retest"), unserved(0.4, 0.95, "suspended"))

    assert effect_of([day]).randomised.mean == pytest.approx(0.5)


@pytest.mark.parametrize("arm", ["forced_on", "paired"])
def test_what_was_not_drawn_is_kept_out_of_the_randomised_estimate(arm):
    day = a_day(served(0.9), unserved(0.4), ArmOutcome(arm, 0.5, 0.0, None), served(0.0, 1.0))

    randomised = effect_of([day]).randomised
    assert (randomised.n, randomised.mean) == (2, pytest.approx(0.5))


def test_without_one_of_both_sides_there_is_no_difference():
    randomised = effect_of([a_day(served(0.9)), a_day(served(0.8))]).randomised

    assert (randomised.n, randomised.dates) == (2, 2)
    assert randomised.mean is None
    assert randomised.standard_error is None


def test_the_randomised_error_is_that_of_each_dates_pull():
    days = [
        a_day(served(0.9), served(0.6), unserved(0.5)),
        a_day(served(0.7), unserved(0.4), unserved(0.1)),
        a_day(served(0.8)),
    ]
    on, off = 3.0 / 4, 1.0 / 3
    pulls = [
        3 * ((1.5 - 2 * on) / 4 - (0.5 - off) / 3),
        3 * ((0.7 - on) / 4 - (0.5 - 2 * off) / 3),
        3 * ((0.8 - on) / 4),
    ]

    randomised = effect_of(days).randomised

    assert randomised.mean == pytest.approx(on - off)
    assert randomised.standard_error == pytest.approx(stdev(pulls) / sqrt(3))


def test_an_interval_is_shown_from_the_tenth_date():
    differences = [0.1, -0.1, 0.2, 0.0, 0.3, 0.1, 0.0, 0.1, 0.2, 0.1]

    nine, ten = effect_of(pairs_of(differences[:9])), effect_of(pairs_of(differences))

    assert nine.paired.low is None
    assert nine.paired.standard_error is not None
    seen = 10 * 0.159 + 1
    reach = stdev(differences) * sqrt(2 * seen / (100 * 0.159) * log(sqrt(seen) / 0.05))
    assert ten.paired.low == pytest.approx(fmean(differences) - reach)
    assert ten.paired.high == pytest.approx(fmean(differences) + reach)
    assert ten.paired.label.startswith("asymptotic")


def test_a_randomised_interval_waits_for_ten_controls_as_well():
    days = [a_day(served(0.5 + day / 50), served(0.6)) for day in range(20)]
    controls = [a_day(unserved(0.4 + day / 50)) for day in range(10)]

    assert effect_of(days + controls[:9]).randomised.low is None
    assert effect_of(days + controls).randomised.low is not None


def test_dates_that_are_all_alike_have_no_interval():
    """Ten equal differences do not make the eleventh certain."""
    paired = effect_of(pairs_of([0.1] * 12)).paired

    assert paired.mean == pytest.approx(0.1)
    assert paired.standard_error == pytest.approx(0.0, abs=1e-12)
    assert paired.low is None


@pytest.mark.parametrize(
    ("propensity", "reward", "without"),
    [(0.0, 0.5, None), (1.1, 0.5, None), (nan, 0.5, None), (0.5, nan, None), (0.5, 0.5, 1.1)],
)
def test_what_is_no_outcome_is_refused(propensity, reward, without):
    with pytest.raises(Rejected):
        ArmOutcome("on", propensity, reward, without)


def test_a_date_remembers_its_newest_outcome():
    day = add_outcome(a_day(served(0.5), now=NOON + DAY / 4), served(0.5), NOON)

    assert day.touched == NOON + DAY / 4


rewards = st.floats(0, 1) | st.sampled_from((0.0, 1.0))
outcomes = st.builds(
    ArmOutcome, st.sampled_from(ARMS), st.floats(0.01, 1.0), rewards, st.none() | rewards
)
days = st.lists(st.lists(outcomes, min_size=1, max_size=4).map(lambda o: a_day(*o)), max_size=14)
quick = examples(60)


@quick
@given(days=days, data=st.data())
def test_the_order_of_dates_carries_no_meaning(days, data):
    effect, shuffled = effect_of(days), effect_of(data.draw(st.permutations(days)))

    assert (effect.paired, effect.randomised) == (shuffled.paired, shuffled.randomised)
    assert effect.arms == shuffled.arms


@quick
@given(days=days)
def test_no_estimate_leaves_the_range_of_rewards_and_each_lies_in_its_interval(days):
    effect = effect_of(days)

    for estimate in (effect.paired, effect.randomised):
        assert estimate.mean is None or -1 - 1e-9 <= estimate.mean <= 1 + 1e-9
        assert estimate.standard_error is None or estimate.standard_error >= 0.0
        assert estimate.low is None or estimate.low < estimate.mean < estimate.high
        assert estimate.low is None or estimate.dates >= 10


@quick
@given(differences=st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=20))
def test_one_pair_a_date_is_the_textbook(differences):
    paired = effect_of(pairs_of(differences)).paired

    assert paired.mean == pytest.approx(fmean(differences), abs=1e-12)
    assert paired.standard_error == pytest.approx(
        stdev(differences) / sqrt(len(differences)), abs=1e-9
    )
