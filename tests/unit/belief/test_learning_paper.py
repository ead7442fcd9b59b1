"""Live-Evo's rule: the full difference to every served memory, and nothing else."""

import pytest
from learning_builders import DAY, NOON, A, B, an_observation, fresh_states

from memory.belief.policy import POLICIES
from memory.belief.states import State

paper = POLICIES["paper"]


@pytest.mark.parametrize(("before", "after"), [(1.45, 1.7329), (1.32, 1.6029), (1.90, 2.0)])
def test_a_weight_moves_by_the_difference_of_two_brier_scores(before, after):
    states = fresh_states(paper, (A,), start_weight=before)

    moved = paper.update(states, an_observation(1 - 0.2500, 1 - 0.5329))

    assert paper.effective_weight(moved.memories[A], None) == pytest.approx(after)
    assert paper.ranking_weight(moved.memories[A], None) == pytest.approx(after)


def test_every_served_memory_gets_the_full_difference_even_its_authors():
    observation = an_observation(0.2, 0.5, (A, B), author_of=(A,), helpful=(B,))

    moved = paper.update(fresh_states(paper), observation)

    assert {m: s.values for m, s in moved.memories.items()} == {
        A: pytest.approx((0.7,)),
        B: pytest.approx((0.7,)),
    }
    assert moved.memories[A].touched == NOON


def test_a_weight_stops_at_the_floor():
    moved = paper.update(fresh_states(paper), an_observation(0.0, 1.0))

    assert paper.effective_weight(moved.memories[A], None) == 0.1


@pytest.mark.parametrize("rewards", [(0.9, None), (None, 0.9), (None, None)])
def test_only_a_pair_moves_a_weight(rewards):
    before = fresh_states(paper)

    assert paper.update(before, an_observation(*rewards)) is before


def test_nothing_ages_and_nothing_is_kept_by_agent_or_cell():
    state = State((1.7,), NOON)

    assert paper.age_memory(state, NOON + 900 * DAY) is state
    assert paper.age_deviation(state, NOON + 900 * DAY) is state
    assert paper.edited_deviation(state, NOON) is state
    assert paper.initial_deviation() is None
    assert paper.initial_cell([]) == paper.initial_noise() == State(())


def test_an_edit_keeps_half_of_what_was_earned():
    assert paper.edited_memory(State((1.6,), NOON), NOON + DAY) == State(
        (pytest.approx(1.3),), NOON + DAY
    )
