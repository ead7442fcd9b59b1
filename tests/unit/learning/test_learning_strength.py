"""Strength: learnt from answers or from rewards, suspended, resumed."""

from math import inf, nan, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_builders import DAY, NOON

from memory.errors import Rejected
from memory.learning.states import State
from memory.learning.strength import (
    MEMORY,
    Shown,
    feedback_dates,
    initial_strength,
    is_suspended,
    learn_strength,
    strength_of,
)


def an_answer(moved, right, *, now=NOON):
    """Memory moved the answer by `moved`; the truth lay `right` away."""
    return Shown((moved * right, moved * moved), None, now)


def a_reading(value, variance=0.1, *, now=NOON):
    return Shown(None, (value, variance), now)


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

    gain = MEMORY**2 / (MEMORY**2 + 0.1)
    mean, sd = -0.1 * gain, sqrt(MEMORY**2 * (1 - gain))

    assert strength(cell) == pytest.approx(2 * NormalDist().cdf(mean / sd))


def test_with_information_of_its_own_rewards_must_speak_for_memory():
    good, bad = after(a_reading(0.5)), after(a_reading(-0.5))

    assert 0.0 < strength(good, own=True) < 1.0
    assert strength(bad, own=True) == 0.0
    assert strength(good) == 1.0


def test_answers_say_more_than_rewards_where_there_are_both():
    both = Shown((-0.5, 1.0), (0.5, 0.1), NOON)

    assert strength(after(both)) == strength(after(Shown((-0.5, 1.0), None, NOON)))


def test_what_rewards_told_fades_and_what_answers_told_does_not():
    rewards, answers = after(a_reading(-1.0, 0.01)), after(an_answer(1.0, -0.1))
    later = NOON + 90 * DAY

    assert strength(rewards) < strength(rewards, now=later) < 1.0
    assert strength(rewards, now=NOON + 9000 * DAY) == pytest.approx(1.0)
    assert strength(answers, now=later) == strength(answers)


def test_half_of_the_mean_is_gone_in_ninety_days_before_the_next_reading():
    late = after(a_reading(-1.0, 0.01), a_reading(0.0, 1e12, now=NOON + 90 * DAY))
    gain = MEMORY**2 / (MEMORY**2 + 0.01)
    variance = MEMORY**2 * (1 - gain)
    mean, variance = -gain / 2, variance + 0.75 * (MEMORY**2 - variance)

    assert strength(late) == pytest.approx(2 * NormalDist().cdf(mean / sqrt(variance)))


def test_an_outcome_that_shows_nothing_is_no_feedback():
    cell = after(a_reading(-0.1))

    assert after(Shown(None, None, NOON + 5 * DAY), state=cell) == cell


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
    cell = after(Shown((1e6 * right, 1e6), None, NOON + 20 * DAY), state=cell)

    assert strength(cell) == pytest.approx(right, abs=1e-4)
    assert is_suspended(cell) is suspended


def test_strength_that_falls_not_quite_to_a_twentieth_suspends_nothing():
    cell = after(*daily(lambda now: an_answer(1.0, 0.5, now=now), 12))
    cell = after(Shown((1e6 * 0.07, 1e6), None, NOON + 20 * DAY), state=cell)

    assert strength(cell) == pytest.approx(0.07, abs=1e-4)
    assert not is_suspended(cell)


@pytest.mark.parametrize(
    "shown",
    [
        lambda: Shown((nan, 1.0), None, NOON),
        lambda: Shown((0.0, -1.0), None, NOON),
        lambda: Shown(None, (inf, 0.1), NOON),
        lambda: Shown(None, (0.1, 0.0), NOON),
    ],
)
def test_what_would_spoil_a_state_for_good_is_refused(shown):
    with pytest.raises(Rejected):
        shown()


unit = st.floats(0, 1)
shift = st.floats(-1, 1)
numeric = st.builds(lambda d, e: (d * e, d * d), shift, shift)
gains = st.tuples(st.floats(-2, 2), st.floats(1e-4, 2))
moments = st.floats(-100, 4000).map(lambda days: NOON + days * DAY)
events = st.lists(st.builds(Shown, st.none() | numeric, st.none() | gains, moments), max_size=25)
quick = settings(max_examples=40, deadline=None)


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
    rewards = [Shown(None, each.gain, each.now) for each in events]
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


def test_a_state_says_whether_it_is_suspended_by_itself():
    cell = after(*daily(SHAPES["rewards"], 10))

    assert is_suspended(State(cell.values))
