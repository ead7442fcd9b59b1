"""Every state rebuilds from the ledger, bit for bit."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON, A, B, C, an_observation

from memory.belief.fold import Learn, Learned, Operation, Set, fold
from memory.belief.policy import POLICIES
from memory.belief.states import State
from tests.fixtures.profiles import examples

belief, paper = POLICIES["belief"], POLICIES["paper"]
ANNE, BOB, CARL = UUID(int=10), UUID(int=11), UUID(int=12)
SPORT = UUID(int=20)


def a_learn(*rewards, agent=ANNE, category=SPORT, **observed):
    return Learn(agent, category, "continuous", an_observation(*rewards, **observed))


def test_a_created_memory_starts_at_its_weight():
    states = fold(paper, [Set(A, Operation.CREATED, NOON, start_weight=0.8)])

    assert states == Learned(memories={A: State((0.8,))})


def test_a_step_moves_the_four_subjects_of_its_outcome():
    states = fold(belief, [a_learn(0.9, memories=(A, B))])

    assert set(states.memories) == {A, B}
    assert set(states.deviations) == {(A, ANNE), (B, ANNE)}
    assert set(states.cells) == {(ANNE, SPORT)}
    assert set(states.noises) == {"continuous"}


def test_a_new_cell_starts_from_the_other_agents_of_its_category():
    warm = Learned(cells={(ANNE, SPORT): State((0.9, 0.001), NOON)})

    states = fold(belief, [a_learn(None, 0.9, agent=BOB)], start=warm)

    assert states.cells[BOB, SPORT].values[0] == pytest.approx(0.9)


def test_an_edit_reaches_every_agents_deviation_of_that_memory_alone():
    before = fold(belief, [a_learn(0.9, memories=(A, B)), a_learn(0.2, agent=BOB)])

    after = fold(belief, [Set(A, Operation.EDIT, NOON)], start=before)

    for agent in (ANNE, BOB):
        expected = before.deviations[A, agent].values[0] / 2
        assert after.deviations[A, agent].values[0] == expected
    assert after.deviations[B, ANNE] is before.deviations[B, ANNE]
    assert after.memories[A].values[0] == before.memories[A].values[0] / 2


def test_decay_writes_down_what_ageing_would_read():
    before = fold(belief, [a_learn(0.9)])
    now = NOON + 30 * DAY

    after = fold(belief, [Set(A, Operation.DECAY, now)], start=before)

    assert after.memories[A] == belief.age_memory(before.memories[A], now)
    assert after.deviations[A, ANNE] == belief.age_deviation(before.deviations[A, ANNE], now)


def test_an_outcome_without_evidence_leaves_no_state_behind():
    assert fold(belief, [a_learn()]) == Learned()


def test_what_a_policy_leaves_alone_is_not_written():
    assert fold(paper, [a_learn(0.9)]) == Learned()


def test_the_states_as_of_a_moment_know_nothing_that_came_later():
    entries = [a_learn(0.9), a_learn(0.1, now=NOON + DAY)]

    assert fold(belief, entries, until=NOON) == fold(belief, entries[:1])


def test_a_fold_leaves_its_start_alone():
    start = fold(belief, [a_learn(0.9)])
    copy = fold(belief, [a_learn(0.9)])

    fold(belief, [a_learn(0.1), Set(A, Operation.EDIT, NOON)], start=start)

    assert start == copy


reward = st.floats(0, 1)
moment = st.integers(-(10**6), 10**7).map(lambda s: NOON + s * DAY / 86_400)
memories = st.lists(st.sampled_from((A, B, C)), max_size=4).map(tuple)
learns = st.builds(
    a_learn,
    st.none() | reward,
    st.none() | reward,
    agent=st.sampled_from((ANNE, BOB, CARL)),
    memories=memories,
    helpful=memories,
    harmful=memories,
    author_of=memories,
    now=moment,
)
sets = st.builds(
    Set,
    st.sampled_from((A, B, C)),
    st.sampled_from(Operation),
    moment,
    st.floats(0.1, 2.0),
)


@examples(50)
@given(st.sampled_from([belief, paper]), st.lists(learns | sets, max_size=12))
def test_a_fold_gives_exactly_the_states_of_applying_one_by_one(policy, entries):
    stepwise = Learned()
    for entry in entries:
        stepwise = fold(policy, [entry], start=stepwise)

    assert fold(policy, entries) == stepwise
