"""The suite `contrast` counts what it says: groups, literals, closeness, targets."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.contrast.closeness import by_task, estimate, gain, share_closer
from benchmarks.contrast.groups import Group, Run, read_groups, success_rates
from benchmarks.contrast.reading import literals_of
from benchmarks.contrast.suite import targets
from benchmarks.contrast.transfer import Case
from benchmarks.metrics import Row

FAILING, WINNING = "added them", "multiplied them"
NEAR, FAR = "avoid adding", "avoid multiplying"
VECTORS = {
    FAILING: np.array([1.0, 0.0], dtype=np.float32),
    WINNING: np.array([0.0, 1.0], dtype=np.float32),
    NEAR: np.array([0.8, 0.6], dtype=np.float32),
    FAR: np.array([0.6, 0.8], dtype=np.float32),
}


def a_case(task: str = "gsm8k-1", served: tuple[str, ...] = (NEAR,)) -> Case:
    return Case(
        task=task,
        suite="gsm8k",
        loser="6b",
        winner="175b",
        stronger_lost=False,
        failing=FAILING,
        winning=WINNING,
        served=served,
        random=(FAR,),
        elsewhere=(),
    )


def a_group(*runs: tuple[str, bool, str], prompt: str = "How many?") -> Group:
    made = tuple(
        Run(agent, success, (text,) if text else (), None) for agent, success, text in runs
    )
    return Group("gsm8k-1", prompt, None, made)


def test_a_group_is_distilled_from_a_success_and_a_failure_of_two_agents_with_text() -> None:
    assert a_group(("a", True, "x"), ("b", False, "y")).distillable
    assert not a_group(("a", True, "x"), ("b", False, "")).distillable
    assert not a_group(("a", True, "x"), ("a", False, "y")).distillable
    assert not a_group(("a", True, "x"), ("b", True, "y")).distillable


def test_agents_differ_on_a_task_that_only_some_of_them_solve() -> None:
    assert a_group(("a", True, ""), ("b", False, "")).differs
    assert not a_group(("a", False, ""), ("b", False, "")).differs


def test_a_maths_run_is_its_reasoning_and_a_code_run_its_answer(tmp_path: Path) -> None:
    tasks = [
        {"task_id": "gsm8k-1", "kind": "math", "prompt": "How many?"},
        {"task_id": "mbpp-1", "kind": "code", "prompt": "def f():", "entry_point": "f"},
    ]
    runs = [
        {"task_id": "gsm8k-1", "agent": "6b_x", "success": True, "answer": "4"},
        {"task_id": "mbpp-1", "agent": "gpt-4", "success": False, "answer": "return 1"},
    ]
    reasoned = [{**run, "trajectory": "so\n\nA: 4"} for run in runs]
    for name, rows in (("tasks", tasks), ("runs", reasoned)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    found = {group.task: group for group in read_groups(tmp_path)}

    assert found["gsm8k-1"].runs[0].text == "so\nA: 4"
    assert found["mbpp-1"].runs[0].text == "return 1"
    assert success_rates(list(found.values())) == {("gsm8k", "6b_x"): 1.0, ("mbpp", "gpt-4"): 0.0}


def test_the_literals_of_a_task_are_its_numbers_quotes_and_identifiers() -> None:
    said = 'It has 2 lists, first_Digit and myList, the words "of Rome", and 16 eggs.'

    assert literals_of(replace(a_group(), prompt=said, entry_point="solve")) == {
        "16",
        "of Rome",
        "first_Digit",
        "myList",
        "solve",
    }


def test_what_lies_nearer_to_the_failing_run_counts_and_a_tie_is_half() -> None:
    between = {**VECTORS, "both": np.array([0.7, 0.7], dtype=np.float32)}

    assert share_closer(a_case(), (NEAR,), VECTORS) == 1.0
    assert share_closer(a_case(), (FAR,), VECTORS) == 0.0
    assert share_closer(a_case(), (NEAR, FAR, "both", "both"), between) == 0.5
    assert share_closer(a_case(), (), VECTORS) is None


def test_a_task_counts_once_however_many_agents_failed_it() -> None:
    cases = [a_case("t", (NEAR,)), a_case("t", (FAR,)), a_case("u", (NEAR,))]

    assert by_task(cases, lambda case: case.served, VECTORS) == {"t": 0.5, "u": 1.0}


def test_a_gain_is_taken_over_the_tasks_that_both_have() -> None:
    found = gain({"t": 1.0, "u": 0.5, "only": 0.0}, {"t": 0.0, "u": 0.5}, seed=1)

    assert found is not None
    assert (found.mean, found.n) == (0.5, 2)
    assert 0.0 <= found.low <= 0.5 <= found.high <= 1.0
    assert estimate([], seed=1) is None


def a_number(name: str, value: float) -> Row:
    return {"operation": name, "value": value, "unit": "count"}


def a_time(name: str, ms: float) -> Row:
    return {"operation": name, "concurrency": 1, "at": 0.0, "ms": ms, "ok": True}


def test_targets_are_read_from_the_measurements() -> None:
    rows = [
        a_number("groups_yielding", 30),
        a_number("groups_distillable", 100),
        a_number("admitted_with_literals", 1),
        a_number("closer_gain_over_random_low", 0.01),
        *(a_time(f"ingest_{part}", 10.0 * part) for part in range(1, 9)),
    ]

    found = {target.name.split(":")[0]: target for target in targets(rows)}

    assert found["yield"].status == "met"
    assert found["admitted constraints with a literal of a source task"].status == "missed"
    assert found["leave one out"].status == "met"
    assert found["ingest"].measured == pytest.approx(65 / 25)
    assert found["contrast"].status == "not_run"
