"""The released step rule: up .3, down .2, and nothing for a tie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON, A, B, an_observation, fresh_states, learned

from memory.belief.policy import POLICIES
from memory.belief.states import Measurement, State

steps = POLICIES["steps"]


@pytest.mark.parametrize(
    ("before", "helped", "hurt"), [(1.0, 1.3, 0.8), (1.9, 2.0, 1.7), (0.2, 0.5, 0.1)]
)
def test_a_pair_moves_a_weight_by_its_sign_alone(before, helped, hurt):
    states = fresh_states(steps, (A,), start_weight=before)

    up = steps.update(states, an_observation(0.53, 0.50)).memories[A]
    down = steps.update(states, an_observation(0.0, 1.0)).memories[A]

    assert steps.effective_weight(up, None) == pytest.approx(helped)
    assert steps.ranking_weight(down, None) == pytest.approx(hurt)


@pytest.mark.parametrize(("rewards", "reached"), [((1.0, 0.0), 2.0), ((0.0, 1.0), 0.2)])
def test_four_outcomes_of_one_sign_reach_a_bound_or_nearly(rewards, reached):
    states = learned(steps, fresh_states(steps, (A,)), *[an_observation(*rewards)] * 4)

    assert steps.effective_weight(states.memories[A], None) == pytest.approx(reached)


@pytest.mark.parametrize("rewards", [(1.0, 1.0), (0.0, 0.0), (0.515, 0.5), (0.5, 0.515)])
def test_a_tie_moves_no_weight(rewards):
    before = fresh_states(steps)

    assert steps.update(before, an_observation(*rewards)).memories == before.memories


def test_a_single_run_without_any_baseline_moves_nothing():
    before = fresh_states(steps)

    assert steps.update(before, an_observation(1.0)) == before
    assert steps.baseline(before) is None


@pytest.mark.parametrize(("reward", "weight"), [(0.8, 1.3), (0.61, 1.0), (0.4, 0.8)])
def test_a_single_run_is_compared_with_the_off_runs(reward, weight):
    states = steps.update(fresh_states(steps), an_observation(None, 0.6, ()))

    moved = steps.update(states, an_observation(reward))

    assert steps.effective_weight(moved.memories[A], None) == pytest.approx(weight)


def test_a_baseline_is_drawn_toward_all_off_runs_as_if_seen_five_times():
    states = steps.update(fresh_states(steps), an_observation(None, 0.2, ()))
    states = states.__class__(states.memories, {}, steps.initial_cell(()), states.noise)
    states = learned(steps, states, *[an_observation(None, 0.8, ())] * 5)

    everywhere = (0.2 + 5 * 0.8) / 6
    assert steps.baseline(states) == pytest.approx((5 * 0.8 + 5 * everywhere) / 10)


def test_a_new_cell_starts_from_the_off_runs_of_its_siblings():
    beside = learned(steps, fresh_states(steps), *[an_observation(None, 0.9, ())] * 5).cell
    states = fresh_states(steps, siblings=(beside, steps.initial_cell(())))

    assert steps.baseline(states) == pytest.approx(0.9)


def test_a_pair_shows_its_difference_with_the_noise_of_two_rewards():
    [reading] = steps.measurements(fresh_states(steps), an_observation(0.9, 0.4))

    assert reading == Measurement(0.5, 1.0, 0.0, 0.2)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ((0.9, None), (Measurement(0.9, 1.0, 1.0, 0.1),)),
        ((None, 0.4), (Measurement(0.4, 0.0, 1.0, 0.1),)),
        ((None, None), ()),
    ],
)
def test_a_lone_reward_shows_its_run_whether_or_not_there_is_a_baseline(rewards, expected):
    assert steps.measurements(fresh_states(steps), an_observation(*rewards)) == expected


def test_nothing_ages_and_nothing_is_kept_by_agent():
    state = State((1.7,), NOON)

    assert steps.age_memory(state, NOON + 900 * DAY) is state
    assert steps.age_deviation(state, NOON + 900 * DAY) is state
    assert steps.edited_deviation(state, NOON) is state
    assert steps.initial_deviation() is None


def test_an_edit_keeps_half_of_what_was_earned():
    assert steps.edited_memory(State((1.6,), NOON), NOON + DAY) == State(
        (pytest.approx(1.3),), NOON + DAY
    )


@given(on=st.floats(0, 1), off=st.none() | st.floats(0, 1), weight=st.floats(0.1, 2.0))
def test_a_weight_moves_by_one_step_at_most_and_what_was_not_served_not_at_all(on, off, weight):
    before = fresh_states(steps, start_weight=weight)

    after = steps.update(before, an_observation(on, off, (A,)))

    change = after.memories[A].values[0] - before.memories[A].values[0]
    assert -0.2 - 1e-12 <= change <= 0.3 + 1e-12
    assert after.memories[B] is before.memories[B]
    assert before == fresh_states(steps, start_weight=weight)
