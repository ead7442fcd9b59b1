"""A test whose result is the outcome of its task."""

from typing import Any

import pytest

from benchmarks.interfaces.agent import TASKS, act, judge


@pytest.mark.parametrize("task", TASKS)
def test_the_agent(memlift_task: Any, task: str) -> None:
    t = memlift_task(task)
    answer = act(task, t.guideline)
    t.cited(answer)
    assert judge(answer) == 1
