"""Trials: the own task, another of its kind where there is one, and tasks that went well."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from memory.verification.entities import Run
from memory.verification.rules import ANCHORS, TrialPurpose, WantedTrial, plan

SOURCE = WantedTrial(TrialPurpose.SOURCE, UUID(int=1), 0.4)


def a_run(number: int, reward: float, group: str | None = None) -> Run:
    return Run(UUID(int=number), UUID(int=number), group or f"task:{number}", reward)


def purposes(wanted: list[WantedTrial]) -> list[str]:
    return [one.purpose.value for one in wanted]


def test_alone_in_its_category_a_task_is_tried_by_itself() -> None:
    assert purposes(plan(SOURCE, "task:1", [], 3)) == ["source"] * 3


def test_another_task_and_anchors_are_added_where_there_are_some() -> None:
    runs = [a_run(2, 0.5), a_run(3, 1.0), a_run(4, 0.97), a_run(5, 0.99), a_run(6, 0.1)]

    wanted = plan(SOURCE, "task:1", runs, 3)

    assert purposes(wanted) == ["source", "source", "other", "anchor", "anchor"]
    assert [one.task.int for one in wanted] == [1, 1, 2, 3, 5]
    assert [one.reference for one in wanted] == [0.4, 0.4, 0.5, 1.0, 0.99]


def test_one_trial_is_on_the_own_task_and_the_other_comes_beside_it() -> None:
    assert purposes(plan(SOURCE, "task:1", [a_run(2, 0.3)], 1)) == ["source", "other"]


def test_what_stands_or_falls_with_the_task_is_no_other_task() -> None:
    assert purposes(plan(SOURCE, "group:e", [a_run(2, 0.3, "group:e")], 2)) == ["source"] * 2


@given(
    st.lists(
        st.builds(a_run, st.integers(1, 30), st.floats(0, 1), st.sampled_from("abc")), max_size=20
    ),
    st.integers(1, 16),
)
def test_a_plan_keeps_its_promises(runs: list[Run], trials: int) -> None:
    wanted = plan(SOURCE, "a", runs, trials)
    kinds = purposes(wanted)

    assert wanted[0] == SOURCE
    assert max(trials, 1) <= len(wanted) - kinds.count("anchor") <= trials + 1
    assert kinds.count("other") <= 1
    assert kinds.count("anchor") <= ANCHORS
    assert len({one.task for one in wanted}) == len(wanted) - kinds.count("source") + 1
