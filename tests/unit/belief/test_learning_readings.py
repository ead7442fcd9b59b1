"""What rewards tell of memory and of the baseline, and that the fold passes it to strength."""

from uuid import UUID

import pytest
from learning_builders import NOON, A, an_observation, fresh_states, learned

from memory.belief.effect import ArmOutcome
from memory.belief.fold import Auxiliary, Learn, Learned, fold
from memory.belief.policy import POLICIES
from memory.belief.states import Measurement, State
from memory.belief.strength import StrengthInput, feedback_dates, initial_strength, learn_strength

belief, paper = POLICIES["belief"], POLICIES["paper"]
ANNE, BOB, SPORT = UUID(int=10), UUID(int=11), UUID(int=20)


def a_learn(*rewards, agent=ANNE):
    beside = Auxiliary(ArmOutcome("on", 1.0, 0.5, None))
    return Learn(agent, SPORT, "continuous", an_observation(*rewards), beside)


def test_a_run_alone_shows_its_baseline_and_with_memory_what_that_adds():
    states = fresh_states(belief)

    assert belief.measurements(states, an_observation(0.9)) == (Measurement(0.9, 1.0, 1.0, 0.1),)
    assert belief.measurements(states, an_observation(None, 0.4)) == (
        Measurement(0.4, 0.0, 1.0, 0.1),
    )
    assert belief.measurements(states, an_observation()) == ()


def test_a_pair_shows_the_baseline_and_what_its_off_run_does_not_foretell():
    pairs = [an_observation(0.8, 0.6), an_observation(0.9, 0.1), an_observation(0.3, 0.2)]
    states = learned(belief, fresh_states(belief), *pairs)
    r_single, _, r_paired, _, cov, var, _ = states.noise.values
    rho = cov / var

    off, left = belief.measurements(states, an_observation(0.7, 0.4))

    assert 0.0 < rho < 1.0
    assert off == Measurement(0.4, 0.0, 1.0, r_single)
    assert left == Measurement(0.7 - rho * 0.4, 1.0, 1.0 - rho, r_paired)


def test_the_paper_reads_pairs_alone_and_needs_no_baseline():
    states = fresh_states(paper)

    assert paper.measurements(states, an_observation(0.75, 0.5)) == (
        Measurement(0.25, 1.0, 0.0, 0.2),
    )
    assert paper.measurements(states, an_observation(0.75)) == ()
    assert paper.measurements(states, an_observation(None, 0.75)) == ()
    assert paper.baseline(states) is None


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_strength_learns_from_the_readings_of_the_states_before_the_outcome(policy):
    first, second = a_learn(0.8, 0.6), a_learn(0.3, 0.5)
    before = fold(policy, [first])
    states = learned(policy, fresh_states(policy, (A,)), first.observation)

    after = fold(policy, [second], start=before)

    shown = StrengthInput(None, policy.measurements(states, second.observation), NOON)
    cell = (ANNE, SPORT)
    expected = learn_strength(before.strengths[cell], shown, (), own_information=False)
    assert after.strengths[cell] == expected


def test_a_new_cell_of_strength_starts_at_the_baseline_of_its_siblings():
    known = Learned(cells={(BOB, SPORT): State((0.9, 0.001), NOON)})
    shown = StrengthInput(None, (Measurement(0.9, 1.0, 1.0, 0.1),), NOON)

    strengths = fold(belief, [a_learn(0.9)], start=known).strengths

    expected = learn_strength(initial_strength(0.9), shown, (), own_information=False)
    assert strengths[ANNE, SPORT] == expected


def test_a_control_run_moves_strength_and_counts_no_feedback_date():
    before = fold(belief, [a_learn(0.2)])
    after = fold(belief, [a_learn(None, 0.9)], start=before)
    cell = (ANNE, SPORT)

    assert after.strengths[cell] != before.strengths[cell]
    assert feedback_dates(after.strengths[cell]) == feedback_dates(before.strengths[cell]) == 1
