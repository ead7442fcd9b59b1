"""The suite `contrast` counts what it says: groups, literals, targets."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.contrast.groups import Group, Run, read_groups
from benchmarks.contrast.reading import literals_of
from benchmarks.contrast.suite import targets
from benchmarks.metrics import Row


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


def test_the_literals_of_a_task_are_its_numbers_quotes_and_identifiers() -> None:
    said = 'It has 2 lists, first_Digit and myList, the words "of Rome", and 16 eggs.'

    assert literals_of(replace(a_group(), prompt=said, entry_point="solve")) == {
        "16",
        "of Rome",
        "first_Digit",
        "myList",
        "solve",
    }


def a_number(name: str, value: float) -> Row:
    return {"operation": name, "value": value, "unit": "count"}


def a_time(name: str, ms: float) -> Row:
    return {"operation": name, "concurrency": 1, "at": 0.0, "ms": ms, "ok": True}


def test_targets_are_read_from_the_measurements() -> None:
    rows = [
        a_number("groups_differ", 100),
        a_number("groups_discordant", 99),
        a_number("literals_brought", 40),
        a_number("literals_admitted", 1),
        *(a_time(f"ingest_{part}", 10.0 * part) for part in range(1, 9)),
    ]

    found = {target.name.split(":")[0]: target for target in targets(rows)}

    assert found["pairs"].status == "missed"
    assert found["pairs"].measured == pytest.approx(0.99)
    assert found["admitted constraints with a literal of their task"].status == "missed"
    assert found["ingest"].measured == pytest.approx(65 / 25)
    assert found["contrast"].status == "not_run"
