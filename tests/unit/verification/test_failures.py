"""The worst of a batch become candidates, once a task group."""

from dataclasses import replace
from math import ceil
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.verification.entities import Run
from memory.verification.rules import WINDOW, disappoints, failures, worst


def a_run(number: int, reward: float, group: str | None = None) -> Run:
    return Run(UUID(int=number), UUID(int=1000 + number), group or f"task:{number}", reward)


RUNS = st.lists(
    st.builds(a_run, st.integers(0, 500), st.floats(0, 1), st.sampled_from("abcdefg")),
    unique_by=lambda run: run.id,
    max_size=40,
)


def test_of_ten_the_worst_three() -> None:
    runs = [a_run(n, reward=n / 10) for n in range(10)]

    assert [run.reward for run in worst(runs)] == [0.0, 0.1, 0.2]


def test_of_equal_rewards_the_newest_is_worst() -> None:
    assert worst([a_run(2, 0.5), a_run(1, 0.5), a_run(3, 0.5)]) == [a_run(3, 0.5)]


def test_windows_of_one_event_are_one_failure() -> None:
    event = [a_run(n, n / 100, "group:e") for n in range(10)]
    others = [a_run(20 + n, 0.5) for n in range(3)]

    assert [run.group for run in worst([*event, *others])] == ["group:e", "task:22"]


def test_a_single_run_is_its_own_worst() -> None:
    assert worst([a_run(1, 1.0)]) == [a_run(1, 1.0)]
    assert worst([]) == []


@given(RUNS)
def test_the_worst_are_no_better_than_any_group_left_out(runs: list[Run]) -> None:
    chosen = worst(runs)
    groups = {run.group for run in runs}
    left = groups - {run.group for run in chosen}

    assert len(chosen) == len({run.group for run in chosen}) == ceil(round(0.3 * len(groups), 9))
    for run in runs:
        if run.group in left:
            assert run.reward >= max(one.reward for one in chosen)


@given(RUNS)
def test_the_order_of_a_batch_does_not_matter(runs: list[Run]) -> None:
    assert worst(runs) == worst(runs[::-1])


def test_a_run_is_held_against_those_before_it_and_looked_at_once() -> None:
    before = [a_run(n, 0.9) for n in range(60)]
    fresh = [a_run(100, 0.1), a_run(101, 0.95)]

    assert failures(before, fresh) == [fresh[0]]


def test_a_long_stream_is_read_in_windows() -> None:
    good = [a_run(n, 0.8 + n / 1000) for n in range(WINDOW)]
    bad = [a_run(100 + n, 0.1 + n / 1000) for n in range(WINDOW)]

    found = failures([], [*good, *bad])

    assert len([run for run in found if run in good]) == len([run for run in found if run in bad])


@given(RUNS, RUNS)
def test_only_fresh_runs_fail(before: list[Run], fresh: list[Run]) -> None:
    assert set(failures(before, fresh)) <= set(fresh)


def test_a_task_that_comes_again_is_judged_by_how_it_went_this_time() -> None:
    before = [a_run(1, 0.1, "task:x"), a_run(2, 0.9)]
    again, better = a_run(3, 0.1, "task:x"), a_run(4, 0.95, "task:x")

    assert failures(before, [again]) == [again]
    assert failures(before, [better]) == []


@pytest.mark.parametrize(
    ("reward", "expected", "bad"),
    [(0.9, 0.6, False), (0.6, 0.6, False), (0.59, 0.6, False), (0.5, 0.6, True), (0.9, None, True)],
)
def test_a_run_is_a_failure_where_it_went_worse_than_expected(
    reward: float, expected: float | None, *, bad: bool
) -> None:
    assert disappoints(replace(a_run(1, reward), expected=expected)) is bad
