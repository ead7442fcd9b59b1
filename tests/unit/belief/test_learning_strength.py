"""Strength: learnt from answers or from rewards, suspended, resumed."""

from dataclasses import replace
from math import inf, isfinite, nan, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON

from memory.belief.states import Measurement, State
from memory.belief.strength import (
    MEMORY,
    StrengthInput,
    feedback_dates,
    initial_strength,
    is_suspended,
    learn_strength,
    strength_of,
)
from memory.kernel.errors import Rejected
from tests.fixtures.profiles import examples

FIRST_NUMBERS = 12  # of a state of the first release


def an_answer(moved, right, *, now=NOON):
    """Memory moved the answer by `moved`; the truth lay `right` away."""
    return StrengthInput((moved * right, moved * moved), (), now)


def a_reading(value, variance=0.1, *, base=0.0, now=NOON):
    """A reading of what memory adds, and of `base` times the baseline; of it alone by default."""
    return StrengthInput(None, (Measurement(value, 1.0, base, variance),), now)


def a_single(reward, variance=0.1, *, now=NOON):
    return a_reading(reward, variance, base=1.0, now=now)


def a_control(reward, variance=0.1, *, now=NOON):
    return StrengthInput(None, (Measurement(reward, 0.0, 1.0, variance),), now)


def alone(readings, start=(0.0, MEMORY**2)):
    """The effect alone, against a certain baseline: mean and variance after (value, noise)."""
    mean, variance = start
    for value, noise in readings:
        gain = variance / (variance + noise)
        mean, variance = mean + gain * (value - mean), (1 - gain) * variance
    return mean, variance


def followed(mean, variance):
    return min(1.0, 2 * NormalDist().cdf(mean / sqrt(variance)))


def after(*events, state=None, others=(), own=False):
    state = state or initial_strength()
    for shown in events:
        state = learn_strength(state, shown, others, own_information=own)
    return state


def daily(shape, n, *, start=NOON):
    return [shape(start + day * DAY) for day in range(n)]


def strength(state, others=(), *, own=False, now=None):
    return strength_of(state, others, own_information=own, now=now)


def test_memory_is_followed_wholly_from_the_start():
    assert strength(initial_strength()) == 1.0


def test_memory_has_to_earn_the_trust_of_an_agent_with_information_of_its_own():
    assert strength(initial_strength(), own=True) == 0.0


def test_answers_are_shrunken_least_squares_of_the_cell_to_its_agent_to_the_start():
    cell = after(an_answer(0.5, 0.1), an_answer(0.2, -0.2))
    other = after(an_answer(0.4, 0.2))

    agent = (0.05 - 0.04 + 0.08 + 1.0) / (0.25 + 0.04 + 0.16 + 1.0)
    expected = (0.05 - 0.04 + agent) / (0.25 + 0.04 + 1.0)

    assert strength(cell, [other]) == pytest.approx(expected)


def test_an_agent_of_its_own_information_is_drawn_ten_times_as_hard_to_zero():
    cell = after(an_answer(1.0, 0.5), an_answer(1.0, 0.5))

    agent = 1.0 / (2.0 + 10.0)
    assert strength(cell, own=True) == pytest.approx((1.0 + 10.0 * agent) / (2.0 + 10.0))


def test_a_cell_without_outcomes_is_followed_as_far_as_its_agents_other_cells():
    harmful = after(*[an_answer(1.0, -0.5)] * 20)

    assert strength(initial_strength(), [harmful]) == 0.0


def test_rewards_move_a_mean_and_a_variance_like_a_kalman_filter():
    cell = after(a_reading(-0.1, 0.1))

    assert strength(cell) == pytest.approx(followed(*alone([(-0.1, 0.1)])))


def test_where_the_baseline_is_certain_a_reading_is_what_is_left_of_the_reward_beside_it():
    certain = (0.0, 0.0, 0.0, 0.0, 0.0, 0.6, MEMORY**2, 0.0, 0.0, 0.0, 0.0, 0.0)
    cell = after(a_reading(0.1, 0.1, base=0.4), state=State(certain))

    assert strength(cell) == pytest.approx(followed(*alone([(0.1 - 0.4 * 0.6, 0.1)])))


def test_readings_against_a_baseline_made_certain_move_the_effect_alone():
    runs = [(0.4, 0.05), (0.7, 0.2), (0.1, 0.1)]
    known = after(a_control(0.5, 1e-12))
    cell = after(*(a_single(*run) for run in runs), state=known)

    expected = alone([(reward - 0.5, noise) for reward, noise in runs])
    # The baseline drifts a little at each outcome, and is that much less than certain.
    assert strength(cell) == pytest.approx(followed(*expected), abs=1e-3)


def test_a_baseline_guessed_wrongly_is_not_held_against_memory():
    """However many runs with memory fail: without a run without it, that is the agent's doing."""
    cell = after(*[a_single(0.2, 0.02)] * 1000)

    assert strength(cell) > 0.5


def test_runs_without_memory_tell_what_the_runs_with_it_meant():
    runs = after(*[a_single(0.2, 0.02)] * 100)
    poor, good = after(*[a_control(0.2, 0.02)] * 30), after(*[a_control(0.5, 0.02)] * 30)

    assert strength(poor) == strength(good) == 1.0
    assert strength(after(*[a_control(0.2, 0.02)] * 30, state=runs)) > 0.5
    assert strength(after(*[a_control(0.5, 0.02)] * 30, state=runs)) < 0.01


def test_a_cell_starts_at_the_baseline_its_policy_expects():
    low = after(*[a_single(0.2, 0.02)] * 20, state=initial_strength(0.2))

    assert strength(low) == 1.0
    assert strength(after(*[a_single(0.2, 0.02)] * 20)) < 1.0


def test_a_run_without_memory_counts_no_feedback_date_and_suspends_nothing():
    runs = after(*daily(lambda now: a_single(0.2, 0.01, now=now), 10))
    dated = NOON + 20 * DAY
    told = after(*[a_control(0.9, 0.001, now=dated)] * 200, state=runs)

    assert (feedback_dates(runs), is_suspended(runs)) == (10, False)
    assert strength(told) < 0.05
    assert (feedback_dates(told), is_suspended(told)) == (10, False)
    assert is_suspended(after(a_single(0.2, 0.01, now=dated), state=told))


def test_a_run_without_memory_resumes_nothing():
    cell = after(*daily(SHAPES["rewards"], 10), *[a_single(0.5, 0.01, now=NOON + 10 * DAY)] * 50)
    told = after(*[a_control(0.0, 0.001, now=NOON + 11 * DAY)] * 200, state=cell)

    assert is_suspended(cell)
    assert strength(told) > 0.1
    assert is_suspended(told)
    assert not is_suspended(after(a_single(0.5, now=NOON + 11 * DAY), state=told))


def test_a_cell_that_only_ran_without_memory_is_followed_as_its_agents_other_cells():
    harmful = after(*[an_answer(1.0, -0.5)] * 20)

    assert strength(after(a_control(0.9)), [harmful]) == 0.0


def test_with_information_of_its_own_rewards_must_speak_for_memory():
    good, bad = after(a_reading(0.5)), after(a_reading(-0.5))

    assert 0.0 < strength(good, own=True) < 1.0
    assert strength(bad, own=True) == 0.0
    assert strength(good) == 1.0


def test_answers_say_more_than_rewards_where_there_are_both():
    both = StrengthInput((-0.5, 1.0), a_reading(0.5).measurements, NOON)

    assert strength(after(both)) == strength(after(StrengthInput((-0.5, 1.0), (), NOON)))


def test_what_rewards_and_answers_told_fades():
    rewards, answers = after(a_reading(-1.0, 0.01)), after(an_answer(1.0, -0.1))
    later = NOON + 90 * DAY

    assert strength(rewards) < strength(rewards, now=later) < 1.0
    assert strength(rewards, now=NOON + 9000 * DAY) == pytest.approx(1.0)
    assert strength(answers) == pytest.approx(agents_and_cells([(-0.1, 1.0)]))
    assert strength(answers, now=later) == pytest.approx(agents_and_cells([(-0.05, 0.5)]))
    assert strength(answers, now=NOON + 9000 * DAY) == pytest.approx(1.0)


def test_half_of_the_sums_is_gone_in_ninety_days_before_the_next_answer():
    late = after(an_answer(1.0, -1.0), an_answer(1.0, 1.0, now=NOON + 90 * DAY))

    assert strength(late) == pytest.approx(agents_and_cells([(1.0, 1.0), (-0.5, 0.5)]))


def test_what_the_agents_other_cells_told_fades_too():
    other, later = after(*[an_answer(1.0, 0.0)] * 9), NOON + 90 * DAY

    assert strength(initial_strength(), [other]) == pytest.approx(1 / 10)
    assert strength(initial_strength(), [other], now=later) == pytest.approx(1 / 5.5)


def test_an_outcome_of_the_first_release_is_folded_as_it_was_then():
    """Twelve numbers, whatever time went by; the first outcome of today makes them forget."""
    old = [replace(an_answer(1.0, 1.0, now=NOON + n * DAY), forgets=False) for n in (0, 900)]
    kept = after(*old)
    day = NOON + 990 * DAY
    today = after(an_answer(1.0, 0.0, now=day), state=kept)

    assert len(kept.values) == FIRST_NUMBERS
    assert strength(kept) == strength(kept, now=day) == 1.0
    assert strength(today) == pytest.approx(agents_and_cells([(1.0, 1.0), (0.0, 1.0)]))


def agents_and_cells(sums):
    """The cell drawn to its agent, the agent to 1; this cell is all that the agent has."""
    right, moved = (sum(column) for column in zip(*sums, strict=True))
    agent = (right + 1) / (moved + 1)
    return (right + agent) / (moved + 1)


def test_half_of_the_mean_is_gone_in_ninety_days_before_the_next_reading():
    late = after(a_reading(-1.0, 0.01), a_reading(0.0, 1e12, now=NOON + 90 * DAY))
    mean, variance = alone([(-1.0, 0.01)])

    aged = mean / 2, variance + 0.75 * (MEMORY**2 - variance)
    assert strength(late) == pytest.approx(followed(*aged))


def test_what_effect_and_baseline_share_fades_with_the_effect():
    """After a long time runs of old mean nothing to memory, whatever a later control shows."""
    runs = after(*[a_single(0.2, 0.02)] * 100)
    late = NOON + 9000 * DAY

    assert strength(after(*[a_control(0.5, 0.02, now=late)] * 30, state=runs)) == pytest.approx(1.0)


def test_an_outcome_that_shows_nothing_is_no_feedback():
    cell = after(a_reading(-0.1))

    assert after(StrengthInput(None, (), NOON + 5 * DAY), state=cell) == cell


def test_a_feedback_date_counts_once_and_never_backwards():
    moments = (NOON, NOON, NOON + 2 * DAY, NOON + DAY, NOON + 2 * DAY)
    cell = after(*(a_reading(0.0, now=moment) for moment in moments))

    assert feedback_dates(cell) == 2
    assert cell.touched == NOON + 2 * DAY


SHAPES = {
    "answers": lambda now: an_answer(1.0, -1.0, now=now),
    "rewards": lambda now: a_reading(-0.5, 0.01, now=now),
}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@shapes
def test_a_harmful_cell_is_suspended_on_its_tenth_feedback_date(shape):
    nine = after(*daily(shape, 9))
    ten = after(*daily(shape, 10))

    assert strength(nine) < 0.05
    assert not is_suspended(nine)
    assert is_suspended(ten)


def test_many_outcomes_of_few_days_suspend_nothing():
    assert not is_suspended(after(*[an_answer(1.0, -1.0)] * 500))


@pytest.mark.parametrize(("right", "suspended"), [(0.07, True), (0.13, False)])
def test_a_suspended_cell_returns_at_a_tenth_not_before(right, suspended):
    cell = after(*daily(lambda now: an_answer(1.0, -0.1, now=now), 12))
    assert is_suspended(cell)

    # So many answers at once that strength becomes what they say.
    cell = after(StrengthInput((1e6 * right, 1e6), (), NOON + 20 * DAY), state=cell)

    assert strength(cell) == pytest.approx(right, abs=1e-4)
    assert is_suspended(cell) is suspended


def test_strength_that_falls_not_quite_to_a_twentieth_suspends_nothing():
    cell = after(*daily(lambda now: an_answer(1.0, 0.5, now=now), 12))
    cell = after(StrengthInput((1e6 * 0.07, 1e6), (), NOON + 20 * DAY), state=cell)

    assert strength(cell) == pytest.approx(0.07, abs=1e-4)
    assert not is_suspended(cell)


@pytest.mark.parametrize(
    "shown",
    [
        lambda: StrengthInput((nan, 1.0), (), NOON),
        lambda: StrengthInput((0.0, -1.0), (), NOON),
        lambda: Measurement(inf, 1.0, 1.0, 0.1),
        lambda: Measurement(0.1, 1.0, nan, 0.1),
        lambda: Measurement(0.1, 1.0, 1.0, 0.0),
    ],
)
def test_what_would_spoil_a_state_for_good_is_refused(shown):
    with pytest.raises(Rejected):
        shown()


unit = st.floats(0, 1)
shift = st.floats(-1, 1)
numeric = st.builds(lambda d, e: (d * e, d * d), shift, shift)
shares = st.sampled_from((0.0, 1.0)) | unit
readings = st.lists(
    st.builds(Measurement, st.floats(-1, 1), shares, shares, st.floats(1e-9, 2)), max_size=2
).map(tuple)
moments = st.floats(-100, 4000).map(lambda days: NOON + days * DAY)
events = st.lists(st.builds(StrengthInput, st.none() | numeric, readings, moments), max_size=25)
quick = examples(40)


@quick
@given(events=events, others=st.lists(events, max_size=3), own=st.booleans(), now=moments)
def test_strength_is_a_share_whatever_comes(events, others, own, now):
    siblings = [after(*each, own=own) for each in others]
    cell = after(*events, others=siblings, own=own)

    assert 0.0 <= strength(cell, siblings, own=own) <= 1.0
    assert 0.0 <= strength(cell, siblings, own=own, now=now) <= 1.0
    assert feedback_dates(cell) <= len(events)
    assert not (is_suspended(cell) and feedback_dates(cell) < 10)


@quick
@given(events=events, others=st.lists(events, max_size=4))
def test_the_order_of_the_agents_other_cells_changes_no_bit(events, others):
    siblings = [after(*each) for each in others]
    cell = after(*events, others=siblings)

    assert cell == after(*events, others=siblings[::-1])
    assert strength(cell, siblings) == strength(cell, siblings[::-1])


@quick
@given(events=events, moment=moments, worse=st.floats(0.01, 1))
def test_a_worse_reward_never_makes_memory_stronger(events, moment, worse):
    rewards = [StrengthInput(None, each.measurements, each.now) for each in events]
    good = after(*rewards, a_reading(0.2, now=moment))
    bad = after(*rewards, a_reading(0.2 - worse, now=moment))

    assert strength(bad) <= strength(good)


@quick
@given(mean=shift, share=unit, days=st.tuples(st.floats(0, 900), st.floats(0, 900)))
def test_reading_strength_late_is_what_ageing_in_two_steps_gives(mean, share, days):
    cell = after(a_reading(mean, 0.001 + share))
    end = NOON + (days[0] + days[1]) * DAY
    # A reading of no weight only ages.
    between = after(a_reading(0.0, 1e30, now=NOON + days[0] * DAY), state=cell)

    assert strength(between, now=end) == pytest.approx(strength(cell, now=end), abs=1e-9)


@quick
@given(events=events)
def test_every_number_of_a_cell_stays_a_number_and_its_variances_positive(events):
    values = after(*events).values
    variance, shared, doubt = values[6:9]

    assert all(map(isfinite, values))
    assert 0.0 < variance <= MEMORY**2
    assert 0.0 < doubt <= 0.15**2
    assert shared * shared <= variance * doubt * (1 + 1e-6)


@quick
@given(events=events)
def test_with_a_run_before_it_a_better_baseline_never_makes_memory_stronger(events):
    singles = [
        StrengthInput(None, (Measurement(each.value, 1.0, 1.0, each.noise),), NOON)
        for event in events
        for each in event.measurements
    ]

    worse, better = (after(*singles, a_control(reward)) for reward in (0.2, 0.8))
    assert strength(better) <= strength(worse)


def test_a_state_says_whether_it_is_suspended_by_itself():
    cell = after(*daily(SHAPES["rewards"], 10))

    assert is_suspended(State(cell.values))
