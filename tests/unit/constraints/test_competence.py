"""Competence lies between an agent's own mean and its category's; runs move it to its own."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.constraints.competence import category_means, shrink_means

A, B, C = (UUID(int=n) for n in (1, 2, 3))
MATHS, CODE = UUID(int=8), UUID(int=9)

runs = st.integers(1, 200).flatmap(
    lambda n: st.tuples(st.just(n), st.floats(0, 1).map(lambda mean: n * mean))
)
counted = st.dictionaries(
    st.tuples(st.sampled_from([A, B, C]), st.sampled_from([MATHS, CODE])), runs, max_size=6
)


def test_five_runs_at_the_mean_of_the_category_stand_before_ones_own():
    found = shrink_means({(A, MATHS): (4, 4.0), (B, MATHS): (4, 0.0)})

    assert found == {
        (A, MATHS): pytest.approx((4 + 5 * 0.5) / 9),
        (B, MATHS): pytest.approx((0 + 5 * 0.5) / 9),
    }


def test_a_category_is_judged_by_its_own_runs():
    counts = {(A, MATHS): (10, 10.0), (B, MATHS): (30, 6.0), (A, CODE): (1, 0.0)}

    assert category_means(counts) == {MATHS: pytest.approx(0.4), CODE: 0.0}


def test_where_nobody_ran_nothing_is_known():
    assert shrink_means({}) == {}
    assert category_means({(A, CODE): (0, 0.0)}) == {CODE: 0.5}


@given(counted)
def test_competence_lies_between_ones_own_mean_and_the_categorys(counts):
    mean_of = category_means(counts)
    for cell, value in shrink_means(counts).items():
        n, total = counts[cell]
        low, high = sorted([total / n, mean_of[cell[1]]])
        assert low - 1e-9 <= value <= high + 1e-9


@given(st.floats(0, 1))
def test_a_single_agent_is_as_good_as_its_category(mean):
    alone = shrink_means({(A, MATHS): (7, 7 * mean)})

    assert alone[A, MATHS] == pytest.approx(mean)


@given(st.integers(1, 50), st.integers(1, 50))
def test_more_runs_leave_less_to_the_category(few, more):
    def distance(n):
        found = shrink_means({(A, MATHS): (n, float(n)), (B, MATHS): (10**9, 0.0)})
        return 1 - found[A, MATHS]

    if few < more:
        assert distance(few) > distance(more)


@given(counted)
def test_the_order_in_which_cells_are_counted_says_nothing(counts):
    backwards = dict(reversed(list(counts.items())))

    assert shrink_means(counts) == shrink_means(backwards)
