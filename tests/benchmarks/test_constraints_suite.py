"""The suite of constraints: how tasks are parted, what of a run is brought, and its figures."""

import gzip
import json

import pytest

from benchmarks.constraints.measures import (
    REFUSED,
    SERVED,
    Telling,
    difference,
    drawn,
    odds,
    signs_held,
)
from benchmarks.constraints.recorded import read_runs
from benchmarks.constraints.suite import targets


@pytest.fixture
def folder(tmp_path):
    """Eight questions with a right and a wrong run each."""
    home = tmp_path / "agent_runs"
    home.mkdir()
    tasks = [
        {"id": f"q-{n}", "text": "Where?", "category": "questions", "split_key": f"k-{n}"}
        for n in range(8)
    ]
    call = {"role": "call", "tool": "Search", "args": {"q": "Delft"}}
    runs = [
        {
            "id": f"r-{n}-{right}",
            "task_id": f"q-{n}",
            "agent": "scaffold",
            "model": "m",
            "family": "f",
            "task_variant": None,
            "success": right,
            "steps": [
                {"role": "assistant", "text": "I look."},
                call,
                {"role": "tool", "tool": "Search", "text": "not found", "error": True},
                {"role": "call", "tool": "Finish", "args": {"q": "Delft"}},
                {"role": "tool", "tool": "Finish", "text": "Answer is INCORRECT"},
            ],
        }
        for n in range(8)
        for right in (True, False)
    ]
    for name, rows in (("tasks", tasks), ("runs", runs)):
        with gzip.open(home / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def test_tasks_are_parted_so_that_both_sides_have_some(folder):
    runs = read_runs(folder)

    assert {run.task.held for run in runs} == {True, False}
    assert len(runs) == 16


def test_the_verdict_on_an_answer_is_not_brought(folder):
    run = read_runs(folder)[0]
    body = run.body("2026-01-05T00:00:00Z")

    assert body["result"] == "Delft"
    assert "INCORRECT" not in json.dumps(body)
    assert [step["role"] for step in body["steps"]] == ["assistant", "assistant", "tool"]
    assert body["steps"][2]["error"] == "not found"
    assert run.tried().findings["any_error"] == "violated"


def telling(task, sign, kind=SERVED, name="a"):
    return Telling(f"t{task}", "questions", name, kind, sign)


def test_figures_count_cases_and_intervals_draw_tasks():
    found = [telling(n, 1) for n in range(30)] + [telling(n, -1) for n in range(30, 36)]

    ratio = drawn(found, odds)

    assert ratio.value == pytest.approx(30.5 / 6.5)
    assert 1 < ratio.low < ratio.value < ratio.high


def test_the_difference_is_half_where_served_and_others_tell_the_same():
    served = [telling(n, 1 if n % 4 else -1) for n in range(20)]
    others = [telling(n, 1 if n % 4 else -1, REFUSED, "b") for n in range(20)]

    assert difference(served + others) == pytest.approx(0.5)


def test_a_sign_holds_where_more_failing_runs_violate():
    found = [telling(1, 1), telling(2, 1), telling(3, -1), telling(1, -1, name="b")]

    assert signs_held(found) == 0.5
    assert signs_held([]) is None


def test_targets_read_the_stored_numbers_alone():
    rows = [
        {"operation": name, "value": value, "unit": "x"}
        for name, value in {"admitted": 5, "held_ratio": 1.5, "growth": 1.0}.items()
    ]

    found = {one.name: one.status for one in targets(rows)}

    assert found["admitted constraints"] == "met"
    assert found["held tasks: failing to winning"] == "missed"
    assert found["seconds for 1,000 runs"] == "not_run"
