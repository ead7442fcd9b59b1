"""How far a served memory could have acted: by what is named, by similarity, by verdicts."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.belief.exposure import (
    FLOOR,
    ExposedMemory,
    Naming,
    decide_exposure,
    follows_used,
    note_usage,
    ramp,
)
from memory.belief.fold import Learn, Learned, fold
from memory.belief.policy import POLICIES
from tests.unit.belief.learning_builders import NOON, A, B, C, an_observation

SERVED = {
    A: ExposedMemory(0.9),
    B: ExposedMemory(0.4),
    C: ExposedMemory(0.3, directs=True, inclusion=0.25),
}


def naming(used=None, helpful=(), harmful=(), *, followed=False) -> Naming:
    return Naming(used, helpful, harmful, followed)


def noted(*named: bool):
    usage = None
    for one in named:
        usage = note_usage(usage, NOON, named=one)
    return usage


@pytest.mark.parametrize(
    ("similarity", "q99", "expected"),
    [
        (0.30, 0.30, 0.1),
        (0.10, 0.30, 0.1),
        (0.45, 0.30, 0.15 / 0.301),
        (0.601, 0.30, 1.0),
        (1.00, 0.30, 1.0),
        (0.85, 0.80, 0.05 / 0.086),
        (0.5, 1.0, 1.0),
    ],
)
def test_the_ramp_goes_from_a_tenth_at_q99_to_one(similarity, q99, expected):
    assert ramp(similarity, q99) == pytest.approx(expected, abs=1e-12)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_ramp_never_falls_and_stays_in_its_bounds(one, other, q99):
    low, high = sorted((one, other))
    assert FLOOR <= ramp(low, q99) <= ramp(high, q99) <= 1.0


def test_without_a_word_the_ramp_decides_and_of_what_directs_its_coin():
    found = decide_exposure(SERVED, naming(), q99=0.3)

    assert found == {A: 1.0, B: pytest.approx(0.1 / 0.301), C: 0.75}


def test_what_is_named_acts_whole_the_rest_not_at_all_where_the_cell_follows_it():
    found = decide_exposure(SERVED, naming([B], followed=True), q99=0.3)

    assert found == {A: 0.0, B: 1.0, C: 0.75}, "what directs acts by its coin"


def test_an_agent_that_used_nothing_was_moved_by_nothing():
    found = decide_exposure(SERVED, naming([], followed=True), q99=0.3)

    assert found == {A: 0.0, B: 0.0, C: 0.75}


def test_what_directs_is_followed_as_often_as_its_coin_says_so_its_exposure_is_0_on_average():
    kept, left = (
        ExposedMemory(0.3, directs=True, inclusion=0.25, left_out=out) for out in (False, True)
    )
    certain = ExposedMemory(0.3, directs=True)

    found = decide_exposure({A: kept, B: left, C: certain}, naming(helpful=[A]), q99=0.3)

    assert found == {A: 0.75, B: -0.25, C: 0.0}
    assert 0.25 * found[A] + 0.75 * found[B] == 0.0


def test_the_two_ways_are_not_mixed_within_a_cell():
    ramped = decide_exposure(SERVED, naming(), q99=0.3)

    assert decide_exposure(SERVED, naming([B], followed=False), q99=0.3) == ramped
    assert decide_exposure(SERVED, naming(None, followed=True), q99=0.3) == ramped


def test_a_verdict_names_who_acted():
    ramped = decide_exposure(SERVED, naming(), q99=0.3)
    judged = decide_exposure(SERVED, naming(helpful=[B]), q99=0.3)
    beside_used = decide_exposure(SERVED, naming([B], harmful=[A], followed=True), q99=0.3)
    contradicted = decide_exposure(SERVED, naming(helpful=[B], harmful=[B]), q99=0.3)

    assert judged == ramped | {B: 1.0}
    assert beside_used == {A: 1.0, B: 1.0, C: 0.75}
    assert contradicted == ramped


@pytest.mark.parametrize(
    ("named", "follows"),
    [
        ([], False),
        ([True], True),
        ([False], False),
        ([True] * 4 + [False], True),
        ([True] * 3 + [False], False),
        ([False] * 11 + [True] * 39, False),
        ([False] * 10 + [True] * 40, True),
        ([False] * 1000 + [True] * 40, True),
        ([True] * 1000 + [False] * 10, True),
        ([True] * 1000 + [False] * 11, False),
    ],
)
def test_a_cell_follows_used_once_four_in_five_of_its_last_fifty_name_it(named, follows):
    assert follows_used(noted(*named)) is follows


@given(st.lists(st.booleans(), min_size=1, max_size=150))
def test_only_the_last_fifty_outcomes_count(named):
    last = named[-50:]
    assert follows_used(noted(*named)) is (5 * sum(last) >= 4 * len(last))


def test_a_usage_that_does_not_change_is_the_same_state():
    full = noted(*[True] * 50)

    assert note_usage(full, NOON + timedelta(days=1), named=True) is full


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_fold_keeps_usage_by_cell_and_none_of_what_says_nothing(policy):
    agent, category = A, B

    def learn(*, named_used: bool | None) -> Learn:
        entry = an_observation(on=1.0, memories=[C])
        return Learn(agent, category, "binary", entry, named_used=named_used)

    states = fold(policy, [learn(named_used=one) for one in (None, True, None, False)])

    assert states.usages[agent, category].values == (2.0, 2.0)
    assert follows_used(states.usages[agent, category]) is False
    assert follows_used(fold(policy, [learn(named_used=True)]).usages[agent, category]) is True
    assert fold(policy, [learn(named_used=None)]).usages == Learned().usages
