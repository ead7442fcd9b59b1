"""With which probability a memory is kept, and the coin that decides it."""

from itertools import pairwise
from statistics import NormalDist, fmean
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.belief.inclusion import (
    ADDED,
    DEFAULT_RULE,
    LOWEST,
    Footing,
    InclusionRule,
    Lift,
    find_footing,
    inclusion_probability,
    toss,
)

SECRET = b"0" * 32
MEANS = st.floats(-1.0, 1.0)
DEVIATIONS = st.floats(1e-6, 1.0)


def kept(mean: float, sd: float = 0.1, *, served: int = 0, absent: int = 0) -> float:
    return inclusion_probability(Lift(mean, sd), served=served, absent=absent)


def test_it_is_the_probability_that_a_memory_helps_somewhat_better_than_believed() -> None:
    assert kept(0.05) == pytest.approx(NormalDist().cdf(0.5 + ADDED), abs=1e-12)
    assert kept(-0.15) == pytest.approx(NormalDist().cdf(-1.5 + ADDED), abs=1e-12)


def test_who_harms_for_certain_is_still_tried_one_time_in_twenty() -> None:
    assert kept(-1.0, 0.01) == LOWEST


@given(MEANS, DEVIATIONS)
def test_below_the_floor_one_time_in_twenty_while_others_are_served(mean: float, sd: float) -> None:
    assert inclusion_probability(Lift(mean, sd), Footing.BELOW, served=90, absent=90) == LOWEST


@given(MEANS, DEVIATIONS)
def test_below_the_floor_with_nothing_above_it_is_tried_as_a_new_one_is(
    mean: float, sd: float
) -> None:
    p = inclusion_probability(Lift(mean, sd), Footing.ALL_BELOW, served=90, absent=90)

    assert p == kept(mean, sd)


@pytest.mark.parametrize(
    ("mean", "others", "outshone"),
    [
        (-0.01, [Lift(0.1, 0.1)], True),
        (-0.01, [Lift(0.09, 0.1), Lift(-0.2, 0.1)], False),
        (-0.01, [], False),
        (0.0, [Lift(1.0, 0.1)], False),
        (0.01, [Lift(1.0, 0.1)], False),
        (-0.01, [Lift(0.0, 0.0)], False),
    ],
)
def test_what_is_believed_to_harm_is_outshone_by_what_is_believed_to_help(
    mean: float, others: list[Lift], *, outshone: bool
) -> None:
    footing = find_footing(Lift(mean, 0.1), others, below=False)

    assert footing is (Footing.OUTSHONE if outshone else Footing.ABOVE)


def test_what_weight_took_below_the_floor_stands_below_others_or_all_do() -> None:
    one = Lift(-0.1, 0.1)

    assert find_footing(one, [Lift(0.0, 0.1)], below=True) is Footing.BELOW
    assert find_footing(one, [], below=True) is Footing.ALL_BELOW


def test_without_the_two_additions_the_rule_is_that_of_decision_46() -> None:
    rule = InclusionRule(all_below=False, outshines=None)
    one = Lift(-0.01, 0.1)

    assert find_footing(one, [Lift(1.0, 0.1)], below=False, rule=rule) is Footing.ABOVE
    p = inclusion_probability(one, Footing.ALL_BELOW, served=0, absent=0, rule=rule)
    assert p == LOWEST


@given(MEANS, DEVIATIONS)
def test_who_is_outshone_is_tried_one_time_in_twenty(mean: float, sd: float) -> None:
    p = inclusion_probability(Lift(mean, sd), Footing.OUTSHONE, served=9, absent=9)

    assert p == LOWEST


@given(MEANS, DEVIATIONS, st.integers(0, 500), st.integers(0, 500))
def test_it_is_a_probability_within_its_clip(
    mean: float, sd: float, served: int, absent: int
) -> None:
    p = kept(mean, sd, served=served, absent=absent)

    assert DEFAULT_RULE.lowest <= p <= 1.0


@given(st.lists(MEANS, min_size=2, max_size=6), DEVIATIONS)
def test_the_better_the_belief_the_likelier(means: list[float], sd: float) -> None:
    assert all(kept(a, sd) <= kept(b, sd) for a, b in pairwise(sorted(means)))


@pytest.mark.parametrize(
    ("served", "absent", "spent"),
    [
        (0, 0, True),
        (0, 1, False),
        (2, 1, True),
        (2, 2, False),
        (22, 11, True),
        (22, 12, False),
        (500, 11, True),
        (500, 12, False),
    ],
)
def test_a_coin_is_spent_while_a_memory_was_hardly_ever_absent(
    served: int, absent: int, *, spent: bool
) -> None:
    p = kept(-0.1 * ADDED, served=served, absent=absent)

    assert p == (pytest.approx(0.5) if spent else 1.0)


def test_a_rule_may_spend_a_coin_always() -> None:
    rule = InclusionRule(added=0.5, lowest=0.1, upper=0.95, always=True)
    given_rule = {"served": 500, "absent": 500, "rule": rule}

    assert inclusion_probability(Lift(1.0, 0.01), **given_rule) == 0.95
    assert inclusion_probability(Lift(-1.0, 0.01), **given_rule) == 0.1
    assert inclusion_probability(Lift(0.0, 0.1), **given_rule) == pytest.approx(
        NormalDist().cdf(0.5)
    )


def test_a_belief_without_doubt_is_taken_at_its_word() -> None:
    assert kept(0.01, 0.0) == 1.0
    assert kept(-0.01, 0.0) == LOWEST


def test_a_coin_is_the_same_each_time_and_another_for_each_secret_task_and_memory() -> None:
    memory = UUID(int=1)
    u = toss(SECRET, "task", memory)

    assert u == toss(SECRET, "task", memory)
    assert u not in {
        toss(b"1" * 32, "task", memory),
        toss(SECRET, "other", memory),
        toss(SECRET, "task", UUID(int=2)),
    }


def test_coins_are_spread_evenly_and_independent_of_each_other() -> None:
    pairs = [
        (toss(SECRET, str(task), UUID(int=1)), toss(SECRET, str(task), UUID(int=2)))
        for task in range(4_000)
    ]

    assert all(0.0 <= u < 1.0 for pair in pairs for u in pair)
    # Four standard errors of a share of 4,000.
    for p in (0.05, 0.3, 0.84):
        assert fmean(a < p for a, _ in pairs) == pytest.approx(p, abs=4 * (p / 4_000) ** 0.5)
    both = fmean(a < 0.5 and b < 0.5 for a, b in pairs)
    assert both == pytest.approx(0.25, abs=4 * (0.1875 / 4_000) ** 0.5)
