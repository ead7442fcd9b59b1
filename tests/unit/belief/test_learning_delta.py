"""The delta rule: a fixed share of what the served set left unexplained."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON, A, B, C, an_observation, fresh_states, learned

from memory.belief.policy import POLICIES
from memory.belief.states import State

delta = POLICIES["delta"]


def test_a_pair_moves_what_it_served_by_a_twentieth_of_its_difference():
    moved = delta.update(fresh_states(delta), an_observation(0.8, 0.5, (A, B)))

    assert [moved.memories[m].values for m in (A, B)] == [pytest.approx((0.015,))] * 2
    assert delta.effective_weight(moved.memories[A], None) == pytest.approx(1.15)
    assert delta.ranking_weight(moved.memories[A], None) == pytest.approx(1.15)
    assert moved.memories[A].touched == NOON


def test_what_the_set_was_expected_to_add_moves_nothing():
    states = fresh_states(delta, (A, B), start_weight=1.5)

    moved = delta.update(states, an_observation(0.6, 0.5, (A, B)))

    assert moved.memories[A].values == pytest.approx((0.05,))


def test_a_passenger_loses_what_its_companion_explains():
    states = fresh_states(delta, (A, B))
    alone = [an_observation(0.7, 0.5, (A,))] * 400
    both = [an_observation(0.7, 0.5, (A, B))] * 400

    after = learned(delta, states, *(o for pair in zip(alone, both, strict=True) for o in pair))

    assert after.memories[A].values[0] == pytest.approx(0.2, abs=0.02)
    assert after.memories[B].values[0] == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize(("rewards", "mu"), [((1.0, 0.0), 0.025), ((0.0, 1.0), -0.025)])
def test_a_residual_is_clipped_at_one_half(rewards, mu):
    moved = delta.update(fresh_states(delta), an_observation(*rewards))

    assert moved.memories[A].values == pytest.approx((mu,))


def test_a_single_run_counts_half_and_needs_a_baseline():
    fresh = fresh_states(delta)
    known = delta.update(fresh, an_observation(None, 0.4, ()))

    assert delta.update(fresh, an_observation(0.8)) == fresh
    assert delta.baseline(fresh) is None
    assert delta.update(known, an_observation(0.8)).memories[A].values == pytest.approx((0.01,))
    assert delta.baseline(known) == pytest.approx(0.4)


def test_an_authors_word_leaves_its_own_memory_where_it_was():
    before = fresh_states(delta)

    moved = delta.update(before, an_observation(0.9, 0.5, (A, B), author_of=(A,)))

    assert moved.memories[A] is before.memories[A]
    assert moved.memories[B].values == pytest.approx((0.02,))


def test_nothing_ages_and_nothing_is_kept_by_agent():
    state = State((0.07,), NOON)

    assert delta.age_memory(state, NOON + 900 * DAY) is state
    assert delta.age_deviation(state, NOON + 900 * DAY) is state
    assert delta.edited_deviation(state, NOON) is state
    assert delta.initial_deviation() is None


def test_an_edit_keeps_half_of_what_was_earned():
    assert delta.edited_memory(State((0.06,), NOON), NOON + DAY) == State((0.03,), NOON + DAY)


@given(
    on=st.floats(0, 1),
    off=st.none() | st.floats(0, 1),
    weights=st.tuples(st.floats(0.1, 2), st.floats(0.1, 2)),
)
def test_one_outcome_moves_a_belief_a_little_and_what_was_not_served_not_at_all(on, off, weights):
    states = fresh_states(delta, (A, B, C))
    states.memories.update(
        {m: delta.initial_memory(w) for m, w in zip((A, B), weights, strict=True)}
    )

    after = delta.update(states, an_observation(on, off, (A, B)))

    for memory in (A, B):
        change = after.memories[memory].values[0] - states.memories[memory].values[0]
        assert abs(change) <= 0.025 + 1e-12
    assert after.memories[C] is states.memories[C]
