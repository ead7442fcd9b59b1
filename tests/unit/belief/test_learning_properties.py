"""What holds of learning under any sequence of outcomes."""

from dataclasses import replace
from math import isfinite
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON, A, B, C, an_observation, fresh_states, learned

from memory.belief.policy import POLICIES
from memory.belief.states import State
from tests.fixtures.profiles import examples

belief = POLICIES["belief"]

reward = st.floats(0, 1) | st.sampled_from((0.0, 1.0))
moment = st.floats(-10, 4000).map(lambda days: NOON + days * DAY)
some = st.lists(st.sampled_from((A, B, C)), max_size=4)
observations = st.builds(
    an_observation,
    st.none() | reward,
    st.none() | reward,
    some,
    author_of=some,
    helpful=some,
    harmful=some,
    now=moment,
)
sequences = st.lists(observations, max_size=15)
policies = pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda p: p.name)
quick = examples(40)


@policies
@quick
@given(sequence=sequences, start=st.floats(0.1, 2.0))
def test_a_weight_stays_between_floor_and_ceiling(policy, sequence, start):
    states = learned(policy, fresh_states(policy, (A, B, C), start_weight=start), *sequence)

    for memory, state in states.memories.items():
        deviation = states.deviations.get(memory)
        assert 0.1 <= policy.effective_weight(state, deviation) <= 2.0
        assert 0.1 <= policy.ranking_weight(state, deviation) <= 2.0


@policies
@quick
@given(sequence=sequences)
def test_every_number_stays_a_number(policy, sequence):
    states = learned(policy, fresh_states(policy, (A, B, C)), *sequence)

    kept = [*states.memories.values(), *states.deviations.values(), states.cell, states.noise]
    assert all(isfinite(value) for state in kept for value in state.values)


@quick
@given(sequence=sequences)
def test_doubt_never_vanishes_and_never_exceeds_the_prior(sequence):
    states = learned(belief, fresh_states(belief, (A, B, C)), *sequence)

    assert all(0 < state.values[1] <= 0.01 for state in states.memories.values())
    assert all(0 < state.values[1] <= 0.0025 for state in states.deviations.values())
    assert 0 < states.cell.values[1] <= 0.0225
    assert states.noise.values[0] > 0
    assert states.noise.values[2] > 0


def test_doubt_stays_positive_however_often_the_same_thing_is_seen():
    states = fresh_states(belief)
    for _ in range(2000):
        states = belief.update(states, an_observation(1.0, None, (A, B)))

    assert states.memories[A].values[1] > 0
    assert states.noise.values[0] > 0


@policies
@quick
@given(
    sequence=sequences,
    served=st.permutations((A, B, C)),
    named=st.permutations((A, B, C)),
    rewards=st.tuples(reward, st.none() | reward),
)
def test_the_order_of_memories_in_an_outcome_changes_no_bit(
    policy, sequence, served, named, rewards
):
    before = learned(policy, fresh_states(policy, (A, B, C)), *sequence)
    sorted_first = an_observation(*rewards, (A, B, C), helpful=(A, B))
    permuted = an_observation(*rewards, served, helpful=[m for m in named if m != C])

    assert policy.update(before, sorted_first) == policy.update(before, permuted)


@quick
@given(sequence=sequences, rewards=st.tuples(reward, st.none() | reward))
def test_an_update_reads_only_the_states_before_it(sequence, rewards):
    states = learned(belief, fresh_states(belief, (A, B, C)), *sequence)
    belief_of_a = states.memories[A]
    deviation_of_a = states.deviations.get(A) or belief.initial_deviation()
    before = replace(
        states,
        memories=dict.fromkeys((A, B), belief_of_a),
        deviations=dict.fromkeys((A, B), deviation_of_a),
    )

    after = belief.update(before, an_observation(*rewards, (A, B), now=NOON + 4001 * DAY))

    assert after.memories[A] == after.memories[B]
    assert after.deviations[A] == after.deviations[B]


@quick
@given(
    mean=st.floats(-0.5, 0.5),
    share=st.floats(0.01, 1.0),
    days=st.tuples(st.floats(0, 2000), st.floats(0, 2000)),
)
def test_ageing_twice_is_ageing_once(mean, share, days):
    state = State((mean, share * 0.01), NOON)
    between, end = NOON + days[0] * DAY, NOON + (days[0] + days[1]) * DAY

    twice = belief.age_memory(belief.age_memory(state, between), end)

    once = belief.age_memory(state, end)
    assert twice.values == pytest.approx(once.values, rel=1e-9, abs=1e-12)
    assert 0 < twice.values[1] <= 0.01


BANK = [UUID(int=n) for n in range(100, 112)]
SEEDS = range(8)


def mean_weight_of_useless_memories(base, seed, *, control, siblings=()):
    """Twelve memories that add nothing, three served at a time to an agent of one success rate."""
    chance = Random(seed)
    states = fresh_states(belief, BANK, siblings=siblings)
    for step in range(150):
        served = chance.sample(BANK, 3)
        on, off = float(chance.random() < base), float(chance.random() < base)
        if control is not None:
            on, off = (None, off) if chance.random() < control else (on, None)
        now = NOON + step * DAY / 24
        states = belief.update(states, an_observation(on, off, served, now=now))
    weights = [belief.effective_weight(states.memories[m], states.deviations.get(m)) for m in BANK]
    return sum(weights) / len(weights)


@pytest.mark.parametrize("base", [0.05, 0.5, 0.95])
def test_pairs_leave_a_memory_that_adds_nothing_at_neutral_whatever_the_agents_success(base):
    weights = [mean_weight_of_useless_memories(base, seed, control=None) for seed in SEEDS]

    assert 0.9 <= sum(weights) / len(weights) <= 1.1


@pytest.mark.parametrize("base", [0.05, 0.5, 0.95])
def test_single_runs_leave_it_there_once_the_baseline_of_the_category_is_known(base):
    known = (State((base, 0.001), NOON),)

    weights = [
        mean_weight_of_useless_memories(base, seed, control=0.05, siblings=known) for seed in SEEDS
    ]

    assert 0.9 <= sum(weights) / len(weights) <= 1.1
