"""What all adapters have in common, over a real server."""

import logging
from copy import deepcopy

import pytest
from conftest import ANSWER, LESSON, TASK, learned, run_of
from memlift_agents._loop import TASK_LENGTH, Loop, step
from memlift_client import MemLift


def test_a_task_is_asked_about_within_the_servers_limit(memory: MemLift, note: str):
    advice = Loop(memory).ask(TASK + " " + "x" * TASK_LENGTH)

    [task] = memory.list_tasks().items
    assert len(task.text) == TASK_LENGTH
    assert advice.receipt is not None
    assert Loop(memory).ask("  ").receipt is None


def test_a_judge_that_cannot_know_yet_leaves_the_receipt_pending(memory: MemLift, note: str):
    loop = Loop(memory, reward=lambda _: None)

    loop.report(loop.ask(TASK), ANSWER, text=ANSWER)

    assert memory.list_retrievals(state="pending").total == 1


def test_a_long_run_is_cut_and_steps_that_are_refused_do_not_cost_the_outcome(
    memory: MemLift, note: str, caplog: pytest.LogCaptureFixture
):
    loop = Loop(memory, reward=lambda _: 1.0, keep_run=True)
    advice = loop.ask(TASK)
    assert LESSON in advice.text
    long = [step("assistant", "a" * 30_000)] * 40
    loop.report(advice, ANSWER, text=ANSWER, steps=long)
    run = run_of(memory, learned(memory, note))
    assert 0 < len(run.steps) < 40

    with caplog.at_level(logging.WARNING, "memlift_agents"):
        refused = step("assistant", tool="pay", arguments={"of": "b" * 30_000})
        loop.report(loop.ask(TASK), ANSWER, text=ANSWER, steps=[refused])

    assert "is reported without its steps" in caplog.text
    assert memory.list_outcomes().total == 2


def test_a_report_that_is_refused_is_logged(
    memory: MemLift, note: str, caplog: pytest.LogCaptureFixture
):
    loop = deepcopy(Loop(memory, reward=lambda _: 7.0))

    loop.report(loop.ask(TASK), ANSWER)

    assert "was not reported" in caplog.text
    assert loop.recall("01a2266c-0000-7000-8000-000000000000").receipt is None
