"""A run that was served nothing shows what is reached without memory, whatever its arm."""

from dataclasses import replace

import pytest
from learning_builders import an_observation, fresh_states

from memory.belief.policy import POLICIES
from memory.belief.strength import StrengthInput, initial_strength, learn_strength

RUNS = (an_observation(on=1.0, memories=()), an_observation(on=1.0, off=0.0, memories=()))
POLICY_NAMES = sorted(POLICIES)


@pytest.mark.parametrize("name", POLICY_NAMES)
@pytest.mark.parametrize("run", RUNS, ids=["single", "paired"])
def test_it_measures_nothing_of_what_memory_adds(name, run):
    policy = POLICIES[name]

    seen = policy.measurements(fresh_states(policy), replace(run, nothing_served=True))

    assert all(one.effect == 0 for one in seen)


@pytest.mark.parametrize("run", RUNS, ids=["single", "paired"])
def test_strength_learns_the_baseline_and_counts_no_date(run):
    policy = POLICIES["belief"]
    empty = replace(run, nothing_served=True)
    seen = StrengthInput(None, policy.measurements(fresh_states(policy), empty), empty.now)

    learnt = learn_strength(initial_strength(), seen, (), own_information=False)

    _, _, _, measured, effect, _, _, _, _, dates, *_ = learnt.values
    assert (measured, effect, dates) == (0, 0, 0)


def test_a_single_run_moves_the_baseline_of_a_belief_and_no_memory():
    policy = POLICIES["belief"]
    before = fresh_states(policy)

    after = policy.update(before, replace(RUNS[0], nothing_served=True))

    assert after.memories == before.memories
    assert after.cell.values[0] > before.cell.values[0]


@pytest.mark.parametrize("name", ["steps", "delta"])
def test_policies_that_know_a_baseline_by_runs_without_memory_count_it_among_them(name):
    policy = POLICIES[name]
    before = fresh_states(policy)

    after = policy.update(before, replace(RUNS[0], nothing_served=True))

    assert policy.baseline(before) is None
    assert policy.baseline(after) == pytest.approx(1.0)
