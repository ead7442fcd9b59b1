"""Worth of its place, computed by hand and by what must hold of any runs."""

from dataclasses import replace
from datetime import timedelta
from math import sqrt
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON, A, an_observation

from memory.belief.fold import Learn, Learned, learn_outcome
from memory.belief.policy import policy_named
from memory.belief.states import Evidence
from memory.belief.worth import CoinRun, above_baseline, place_effect, student

AGENT, CATEGORY = UUID(int=11), UUID(int=12)


def a_run(value=0.0, *, p=0.5, left_out=False, vacant=False, day=0, group="g"):
    return CoinRun(p, left_out, vacant, value, NOON + day * DAY, group)


def a_comparison(n=20, *, p=0.5, gap=0.2):
    """On each of `n` days one run with and one without; without is `gap` worse."""
    noise = [0.1 * (-1) ** day for day in range(n)]
    kept = [a_run(noise[day] + gap, p=p, day=day) for day in range(n)]
    return kept + [a_run(-noise[day], p=p, left_out=True, day=day) for day in range(n)]


def last(runs):
    return max(run.known_at for run in runs)


def an_entry(observation):
    return Learn(AGENT, CATEGORY, "continuous", observation)


def test_the_effect_is_the_difference_of_overlap_weighted_means():
    kept = [a_run(0.4, p=0.8, day=day) for day in range(10)]
    kept += [a_run(0.1, p=0.2, day=day) for day in range(10)]
    without = [a_run(0.3, p=0.8, left_out=True, day=day) for day in range(10)]
    without += [a_run(-0.2, p=0.2, left_out=True, day=day) for day in range(10)]
    # Nothing ages: all is known at once, and only the groups differ.
    runs = [replace(run, known_at=NOON, group=str(run.known_at)) for run in kept + without]

    found = place_effect(runs, NOON)

    with_it = (0.2 * 0.4 + 0.8 * 0.1) / (0.2 + 0.8)
    beside = (0.8 * 0.3 + 0.2 * -0.2) / (0.8 + 0.2)
    assert found.effect == pytest.approx(with_it - beside)
    assert (found.kept, found.left_out, found.unit, found.units) == (20, 20, "group", 10)
    assert found.information == pytest.approx(40 * 0.16)


def test_the_error_is_made_of_the_sums_of_dates():
    runs = a_comparison(12)
    known = last(runs)

    found = place_effect(runs, known)

    ages = [0.5 ** ((known - run.known_at) / timedelta(days=90)) for run in runs]
    sides = (False, True)
    whole = [sum(a for a, run in zip(ages, runs, strict=True) if run.left_out is s) for s in sides]
    means = [
        sum(a * run.value for a, run in zip(ages, runs, strict=True) if run.left_out is s) / w
        for s, w in zip(sides, whole, strict=True)
    ]
    sums = [0.0] * 12
    for a, run in zip(ages, runs, strict=True):
        side = int(run.left_out)
        pull = a * (run.value - means[side]) / whole[side]
        sums[(run.known_at - NOON).days] += -pull if side else pull
    error = sqrt(12 / 11 * sum(one * one for one in sums))
    assert (found.unit, found.units) == ("date", 12)
    assert found.effect == pytest.approx(means[0] - means[1])
    assert found.standard_error == pytest.approx(error)
    reach = 2.200985 * error  # Student's with 11 degrees of freedom
    assert found.low == pytest.approx(found.effect - reach, abs=1e-5)
    assert found.high == pytest.approx(found.effect + reach, abs=1e-5)


def test_below_ten_dates_groups_of_tasks_are_the_unit():
    runs = [replace(run, known_at=NOON, group=str(i % 7)) for i, run in enumerate(a_comparison(12))]

    found = place_effect(runs, NOON)

    assert (found.unit, found.units) == ("group", 7)
    assert found.low is not None


def test_one_group_has_no_spread_and_so_no_interval():
    found = place_effect([replace(run, known_at=NOON) for run in a_comparison(12)], NOON)

    assert found.effect is not None
    assert (found.units, found.standard_error, found.low, found.high) == (1, None, None, None)


@pytest.mark.parametrize(
    ("kept", "left_out", "p"),
    [(9, 30, 0.5), (30, 9, 0.5), (20, 20, 0.9), (0, 40, 0.5), (40, 0, 0.5), (0, 0, 0.5)],
)
def test_no_effect_is_told_of_too_few_runs_or_of_coins_that_were_nearly_certain(kept, left_out, p):
    runs = [a_run(0.1, p=p, day=day) for day in range(kept)]
    runs += [a_run(0.0, p=p, left_out=True, day=day) for day in range(left_out)]

    found = place_effect(runs, NOON + 40 * DAY)

    assert (found.kept, found.left_out) == (kept, left_out)
    assert (found.effect, found.standard_error, found.low, found.high) == (None,) * 4


def test_a_coin_that_is_as_good_as_certain_is_no_trial():
    certain = [a_run(9.0, p=p, left_out=out) for p in (0.0, 0.005, 0.995, 1.0) for out in (0, 1)]
    runs = a_comparison()

    assert place_effect([*runs, *certain], last(runs)) == place_effect(runs, last(runs))


def test_what_is_missing_is_counted_on_its_side_and_what_took_no_place_on_the_other():
    runs = [a_run(None), a_run(None), a_run(None, left_out=True), a_run(0.0, left_out=True)]
    runs.append(a_run(0.0, left_out=True, vacant=True))

    found = place_effect(runs, NOON)

    assert (found.kept_missing, found.left_out_missing) == (2, 1)
    assert (found.kept, found.left_out, found.vacant) == (0, 2, 1)


def test_what_was_seen_long_ago_is_told_no_more():
    runs = a_comparison(20)

    soon, late = place_effect(runs, last(runs)), place_effect(runs, last(runs) + 360 * DAY)

    assert late.information == pytest.approx(soon.information / 16)
    assert soon.effect is not None
    assert late.effect is None


@pytest.mark.parametrize(
    ("freedom", "width"),
    # The .975 quantiles of any table of the distribution.
    [(1, 12.7062), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423), (9999, 1.9602)],
)
def test_the_width_is_students(freedom, width):
    assert student(freedom) == pytest.approx(width, abs=1e-2)


values = st.floats(-1.0, 1.0, allow_nan=False)
some_runs = st.lists(
    st.builds(
        a_run,
        values,
        p=st.floats(0.02, 0.98),
        left_out=st.booleans(),
        day=st.integers(0, 30),
        group=st.sampled_from("abcdef"),
    ),
    max_size=80,
)


@given(some_runs, st.randoms(use_true_random=False))
def test_the_order_of_runs_changes_no_bit(runs, chance):
    shuffled = list(runs)
    chance.shuffle(shuffled)

    assert place_effect(shuffled, NOON + 31 * DAY) == place_effect(runs, NOON + 31 * DAY)


@given(some_runs, values)
def test_a_level_that_all_runs_share_changes_nothing(runs, level):
    raised = [replace(run, value=run.value + level) for run in runs]

    before, after = (place_effect(some, NOON + 31 * DAY) for some in (runs, raised))

    for name in ("effect", "standard_error"):
        known = getattr(before, name)
        assert getattr(after, name) == (known if known is None else pytest.approx(known, abs=1e-9))


def test_the_value_of_a_run_reads_the_baseline_before_it():
    policy, chance = policy_named("belief"), Random(5)
    states = Learned()
    for day in range(40):
        on, off = chance.random(), chance.random()
        pair, single = day % 3 == 0, day % 3 == 1
        memories = () if not (pair or single) else (A,)
        now = NOON + day * DAY
        kind = Evidence.PAIRED if pair else Evidence.SINGLE if single else Evidence.CONTROL
        entry = an_entry(
            an_observation(
                on if pair or single else None,
                off if kind is not Evidence.SINGLE else None,
                memories,
                now=now,
            )
        )
        b = states.cells[AGENT, CATEGORY].values[0] if states.cells else 0.5
        noise = states.noises.get("continuous", policy.initial_noise()).values
        rho = min(1.0, max(0.0, noise[4] / noise[5]))
        expected = {
            Evidence.PAIRED: on - rho * off - (1.0 - rho) * b,
            Evidence.SINGLE: on - b,
            Evidence.CONTROL: off - b,
        }[kind]

        assert above_baseline(policy, states, entry) == pytest.approx(expected, abs=1e-12)
        states, _ = learn_outcome(policy, states, entry)


def test_where_no_baseline_is_known_a_single_run_has_no_value():
    entry = an_entry(an_observation(0.7))
    pair = an_entry(an_observation(0.7, 0.2))

    assert above_baseline(policy_named("delta"), Learned(), entry) is None
    assert above_baseline(policy_named("paper"), Learned(), pair) == pytest.approx(0.5)
