"""The suite `structure` on a small tree, on the project's own, and its targets."""

import json
from pathlib import Path
from typing import Any

import pytest
from structure_builders import a_tree

from benchmarks.__main__ import main
from benchmarks.compare import compare
from benchmarks.structure import suite
from benchmarks.structure.figures import FIRST_RELEASE, targets


def summary_of(source: Path, out: Path, *more: str) -> dict[str, Any]:
    assert main(["run", "structure", "--source", str(source), "--out", str(out), *more]) == 0
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))


def statuses(summary: dict[str, Any]) -> dict[str, str]:
    return {target["name"]: target["status"] for target in summary["targets"]}


def test_a_small_tree_is_measured_whole(tmp_path: Path) -> None:
    summary = summary_of(a_tree(tmp_path / "tree"), tmp_path / "out")

    numbers = summary["numbers"]
    assert numbers["modules"] == 5
    assert numbers["server_classes_equal_to_a_noun"] == 1
    assert numbers["classes_in_client"] == 0
    assert numbers["tuple_bundles"] == 1
    assert (numbers["walks"], numbers["walk_faults"]) == (1, 0)
    assert (numbers["walk_modules"], numbers["walk_types"], numbers["walk_returns"]) == (2, 2, 0)
    assert numbers["lines_generated"] == 3
    assert numbers["lines_tests"] == 1
    assert summary["lines_by_folder"]["memory/retrieval"] == 14
    assert summary["lists"]["tuple bundles"] == [
        "memory/retrieval/rules.py:1 rank(task: tuple[str, int])"
    ]
    assert statuses(summary)["tuple_bundles"] == "missed"
    assert statuses(summary)["walk_modules"] == "met"
    assert statuses(summary)["field_files"] == "not_run"


def test_a_class_name_with_two_homes_is_listed(tmp_path: Path) -> None:
    tree = a_tree(tmp_path / "tree", memory__a="class Task: ...\n")

    summary = summary_of(tree, tmp_path / "out")

    assert summary["lists"]["class names with several homes"] == [
        "Task: memory/a.py, memory/retrieval/entities.py"
    ]


def test_a_given_diff_counts_the_files_of_a_field(tmp_path: Path) -> None:
    diff = tmp_path / "numstat"
    diff.write_text("1\t0\tmemory/a.py\n1\t0\tdocs/reference/openapi.json\n", encoding="utf-8")

    summary = summary_of(a_tree(tmp_path / "t"), tmp_path / "out", "--field-diff", str(diff))

    assert summary["numbers"]["field_files"] == 1
    assert summary["numbers"]["field_generated_files"] == 1
    assert statuses(summary)["field_files"] == "met"


def test_the_figures_come_from_the_written_rows_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = summary_of(a_tree(tmp_path / "tree"), out)

    (out / "tuple_parameters.jsonl").write_text("", encoding="utf-8")

    after = suite.summary(out).numbers
    assert after == {**before["numbers"], "tuple_bundles": 0}


def test_the_project_itself_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "structure", "--out", str(tmp_path)]) == 0

    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    numbers = summary["numbers"]
    parts = ("lines_memory", "lines_server", "lines_client")
    assert numbers["lines_of_memory_server_and_client"] == sum(numbers[part] for part in parts)
    assert all(numbers[part] > 0 for part in (*parts, "modules", "functions", "lines_docs"))
    assert all(target["status"] in {"met", "missed", "not_run"} for target in summary["targets"])
    assert "first release" in capsys.readouterr().out


def test_two_runs_compare(tmp_path: Path) -> None:
    summary_of(a_tree(tmp_path / "tree"), tmp_path / "a")
    summary_of(a_tree(tmp_path / "tree", memory__b="x = 1\n"), tmp_path / "b")

    [line] = [line for line in compare(tmp_path / "a", tmp_path / "b") if "lines_memory " in line]
    assert line.split()[1:3] == ["14", "15"]


@pytest.mark.parametrize(("share", "status"), [(0.85, "met"), (0.86, "missed")])
def test_lines_are_compared_with_the_first_releases(share: float, status: str) -> None:
    name = "lines_of_memory_server_and_client"

    [found] = [t for t in targets({name: FIRST_RELEASE.numbers[name] * share}) if name in t.name]

    assert (found.status, found.measured) == (status, pytest.approx(share))


def test_what_was_not_measured_is_not_run() -> None:
    found = targets({"lines_of_memory_server_and_client": 1})

    assert {target.status for target in found[:-1]} == {"not_run"}
