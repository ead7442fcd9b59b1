"""What a run leaves behind, and what is read from it."""

import io
import json
from dataclasses import replace

import pytest
from benchmark_builders import a_timing

from benchmarks.__main__ import told
from benchmarks.bench import Bench, Served, Timing
from benchmarks.compare import compare
from benchmarks.harness import MEASUREMENTS, read_rows, run
from benchmarks.metrics import at_most
from benchmarks.suites import SUITES, loop
from benchmarks.suites.plan import Suite
from benchmarks.texts import experiences, tasks

NOWHERE = Served("http://127.0.0.1:1", "k", None, None)
PARTS = {"retrieve": 30.0, "embedding": 10.0, "search": 5.0, "commit": 4.0, "live": 1.0}


def measure(bench: Bench) -> None:
    bench.timed("step", 1, [Timing(0.0, 2.0, ok=True), Timing(1.0, 4.0, ok=True)])
    bench.number("size", 7, "bytes")


A_SUITE = Suite("a test", {"seed": 3}, {}, measure, lambda _: [at_most("size", 8, 7, {"size": 7})])


@pytest.fixture
def finished(tmp_path):
    run("test", A_SUITE, tmp_path, NOWHERE, {"seed": 3})
    return tmp_path


def test_every_measurement_is_kept_raw(finished):
    assert [row.get("ms", row.get("value")) for row in read_rows(finished)] == [2.0, 4.0, 7]


def test_a_run_is_stamped_with_revision_settings_seed_and_hardware(finished):
    stamp = json.loads((finished / "run.json").read_text())

    assert stamp["seed"] == 3
    assert stamp["settings"] == {"seed": 3}
    assert stamp["revision"]
    assert {"cpu", "cores", "memory_bytes"} <= stamp["hardware"].keys()
    assert len(stamp["load_before"]) == len(stamp["load_after"]) == 3


def test_the_summary_has_figures_and_targets(finished):
    summary = json.loads((finished / "summary.json").read_text())

    assert summary["figures"]["step@1"]["p50"] == 3.0
    [target] = summary["targets"]
    assert (target["name"], target["target"], target["measured"]) == ("size", 8, 7)
    assert target["status"] == "met"


def test_where_everything_failed_the_summary_says_so_in_valid_json(tmp_path):
    suite = replace(A_SUITE, run=lambda b: b.timed("step", 1, [Timing(0.0, 2.0, ok=False)]))

    run("test", suite, tmp_path, NOWHERE, {"seed": 3})

    summary = json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)
    assert summary["figures"]["step@1"]["p50"] is None
    assert "-" in told(summary)[1]


def test_the_summary_is_told_as_it_is(finished):
    lines = told(json.loads((finished / "summary.json").read_text()))

    assert lines[-2:] == ["size: 7.000, target 8: met", "    size                     7.000"]


def test_two_runs_are_compared_from_their_measurements(tmp_path):
    for name, ms in (("a", 2.0), ("b", 3.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / MEASUREMENTS).write_text(json.dumps(a_timing("live", ms)) + "\n")

    *_, line = compare(tmp_path / "a", tmp_path / "b")

    assert line.split() == ["live@1", "2.00", "3.00", "1.50", "2.00", "3.00", "1.50"]


def test_a_retrieval_is_held_against_the_sum_of_its_parts():
    [target] = loop.targets([a_timing(name, ms) for name, ms in PARTS.items()])

    assert target.measured == pytest.approx(30.0 / 20.0)
    assert target.status == "met"
    assert target.parts == PARTS


def test_a_part_that_was_not_timed_leaves_the_target_not_run():
    rows = [a_timing(name, ms) for name, ms in PARTS.items() if name != "commit"]

    [target] = loop.targets(rows)

    assert (target.measured, target.status) == (None, "not_run")


def test_timings_by_many_callers_do_not_count_for_one():
    rows = [a_timing(name, ms) for name, ms in PARTS.items()]

    [target] = loop.targets([*rows, a_timing("retrieve", 900.0, 16)])

    assert target.parts["retrieve"] == 30.0


def test_the_suite_of_the_loop_can_be_named():
    assert SUITES["loop"].settings["experiences"] == 10_000


def test_made_experiences_are_all_different_and_the_same_for_a_seed():
    once, again = list(experiences(2_000, 1)), list(experiences(2_000, 1))

    assert once == again
    assert len({(e["situation"], e["lesson"]) for e in once}) == 2_000
    assert once != list(experiences(2_000, 2))


def test_made_tasks_are_no_experience_and_no_task_of_another_seed():
    known = {str(e["situation"]) for e in experiences(500, 1)}
    asked = list(tasks(500, 1))

    assert not known & set(asked)
    assert not set(asked) & set(tasks(500, 2))


def test_a_number_is_one_line():
    file = io.StringIO()

    Bench(NOWHERE, {}, file).number("size", 7, "bytes")

    assert json.loads(file.getvalue()) == {"operation": "size", "value": 7, "unit": "bytes"}
