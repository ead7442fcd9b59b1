"""What the suite `operate` makes of its rows."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmarks.bench import Bench, Served
from benchmarks.metrics import Target
from benchmarks.soak.run import NAMESPACES, Plan, Soaked
from benchmarks.soak.tally import DOUBLED, STALE, Tally
from benchmarks.suites.operate import outages, suite
from benchmarks.suites.operate.bank import Operated
from benchmarks.suites.operate.moving import DOUBLED as DOUBLED_BY_MOVE
from benchmarks.suites.operate.moving import LONGEST as LONGEST_REFUSAL
from benchmarks.suites.operate.moving import LOST
from benchmarks.suites.operate.retention import BESIDE, LONGEST, STILL_EXACT
from benchmarks.suites.operate.suite import FAILED, ON_BANK, PARTS, SUITE, targets
from benchmarks.suites.operate.transfer import EXACT


def by_name(**numbers: float) -> Mapping[str, Target]:
    rows = [{"operation": name, "value": value, "unit": ""} for name, value in numbers.items()]
    return {target.name: target for target in targets(rows)}


def test_a_copy_that_folds_to_the_same_bits_is_met_and_the_rest_was_not_run():
    found = by_name(**{"import": 9.5, EXACT: 1.0})

    assert (found[EXACT].status, found[EXACT].parts) == ("met", {"import": 9.5})
    assert {one.status for name, one in found.items() if name != EXACT} == {"not_run"}


def test_an_export_of_100_000_memories_has_its_seconds_and_bytes():
    name = "export, plain, per 100,000 memories"

    assert by_name(**{name: 44.0})[f"{name}, s"].status == "met"
    assert by_name(**{name: 144.0})[f"{name}, s"].status == "missed"
    size = "size, plain, per 100,000 memories"
    assert by_name(**{size: 1.2e9})[f"{size}, bytes"].status == "met"


def test_a_part_that_failed_is_missed():
    assert by_name(**{FAILED: 1.0})[FAILED].status == "missed"


def test_parts_are_chosen_by_name_and_only_those_of_a_filled_server_fill_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    begun: list[str] = []

    def stand_in(name: str) -> Callable[[Operated], None]:
        return lambda _: begun.append(name)

    monkeypatch.setattr(suite, "PARTS", {name: stand_in(name) for name in PARTS})
    monkeypatch.setattr(suite, "fill", stand_in("fill"))

    def run(parts: str) -> list[str]:
        begun.clear()
        with (tmp_path / "measurements.jsonl").open("w") as file:
            served = Served("http://127.0.0.1:1", "k", tmp_path, None)
            SUITE.run(Bench(served, {}, file, {"parts": parts}))
        return list(begun)

    assert run("retention,bulkheads") == ["bulkheads", "retention"]
    assert run("move") == ["fill", "move"]
    assert run(SUITE.words["parts"])[-1] == "move"
    assert set(PARTS) >= ON_BANK
    with pytest.raises(SystemExit, match="not nonsense"):
        run("nonsense")


def test_a_move_that_loses_a_write_or_pauses_for_long_is_missed():
    found = by_name(**{LONGEST_REFUSAL: 5.1, LOST: 1.0, DOUBLED_BY_MOVE: 0.0})

    assert found["refusals while a namespace moves, s"].status == "missed"
    assert (found[LOST].status, found[DOUBLED_BY_MOVE].status) == ("missed", "met")


def test_the_longest_slice_is_the_longest_lock_and_a_report_beside_it_is_told():
    found = by_name(**{STILL_EXACT: 1.0, LONGEST: 240.0, BESIDE: 90.0})

    lock = found["longest lock of retention, ms"]
    assert found[STILL_EXACT].status == "met"
    assert (lock.status, lock.measured, lock.parts) == ("missed", 240.0, {BESIDE: 90.0})


def test_what_was_not_measured_is_not_met():
    assert {one.status for one in targets([])} == {"not_run"}


def test_a_busy_neighbour_may_cost_twice_the_quiet_time_or_a_tenth_of_a_second():
    quiet, crowd = "p95 of a retrieval, quiet", "p95 of a retrieval, writers"
    name = "p95 beside 200 writers on one memory, of max(2 x quiet, 100 ms)"

    assert by_name(**{quiet: 20.0, crowd: 90.0})[name].status == "met"
    assert by_name(**{quiet: 80.0, crowd: 150.0})[name].status == "met"
    assert by_name(**{quiet: 80.0, crowd: 170.0})[name].status == "missed"


def test_an_hour_decides_about_growth_and_less_does_not():
    growth = "growth of memory in the second half, %"
    short = by_name(**{growth: 3.0, "minutes of load": 5.0})[growth]

    assert (short.status, short.reason) == (
        "not_run",
        "needs --set minutes=60; 3.00 % in 5 minutes",
    )
    assert by_name(**{growth: 0.4, "minutes of load": 60.0})[growth].status == "met"


def test_violations_are_counted_by_class_and_a_fault_that_cannot_be_made_is_said(tmp_path: Path):
    tally = Tally()
    tally.violate("memory m is not found, and is there", STALE)
    tally.violate("receipt r is there twice", DOUBLED)
    tally.violate("something else")
    exact = tuple(f"rebuild of {name}: {{'exact': True}}" for name, *_ in NAMESPACES)
    made = {"kill": 2, "stop": 1, "database": 1, "clock": 1, "cut": 1}
    soaked = Soaked(tally, 2, 9.0, exact, made, (15.2, 14.9), {"disk": "may not mount"}, 50)
    with (tmp_path / "measurements.jsonl").open("w") as file:
        outages.keep(Bench(Served("", "", None, None), {}, file), soaked)
    lines = (tmp_path / "measurements.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]

    found = {target.name: target for target in targets(rows)}

    assert found["acknowledged writes lost"].status == "met"
    counted = ("writes doubled", "stale reads", "other violations")
    assert [(found[name].status, found[name].measured) for name in counted] == [("missed", 1.0)] * 3
    assert (found["takeover, s"].status, found["takeover, s"].measured) == ("met", 15.2)
    assert found[outages.REBUILDS].status == "met"
    assert found["faults made: disk"].status == "not_run"
    assert found["faults made: stop"].status == "met"


def test_kills_are_spread_among_the_other_faults():
    plan = Plan(kills=2, rounds=2, faults=("stop", "disk"))

    assert plan.schedule() == ["stop", "kill", "disk", "stop", "kill", "disk"]
