"""What the suite `operate` makes of its rows."""

from benchmarks.suites.operate import BESIDE, EXACT, LONGEST, NOT_MEASURED, STILL_EXACT, targets
from benchmarks.suites.operate_move import DOUBLED, LOST
from benchmarks.suites.operate_move import LONGEST as LONGEST_REFUSAL


def test_a_copy_that_folds_to_the_same_bits_is_met_and_the_rest_was_not_run():
    rows = [
        {"operation": "import", "value": 9.5, "unit": "s"},
        {"operation": EXACT, "value": 1.0, "unit": "check"},
    ]

    exact, *rest = targets(rows)
    after, lock, refusals, *rest = rest

    assert (exact.status, exact.parts) == ("met", {"import": 9.5})
    assert {after.status, lock.status, refusals.status} == {"not_run"}
    assert refusals.name == "refusals while a namespace moves, s"
    assert [one.status for one in rest] == ["not_run"] * (3 + len(NOT_MEASURED))


def test_a_move_that_loses_a_write_or_pauses_for_long_is_missed():
    rows = [
        {"operation": LONGEST_REFUSAL, "value": 5.1, "unit": "s"},
        {"operation": LOST, "value": 1.0, "unit": "writes"},
        {"operation": DOUBLED, "value": 0.0, "unit": "writes"},
    ]

    by_name = {one.name: one.status for one in targets(rows)}

    assert by_name["refusals while a namespace moves, s"] == "missed"
    assert (by_name[LOST], by_name[DOUBLED]) == ("missed", "met")


def test_the_longest_slice_is_the_longest_lock_and_a_report_beside_it_is_told():
    rows = [
        {"operation": STILL_EXACT, "value": 1.0, "unit": "check"},
        {"operation": LONGEST, "value": 240.0, "unit": "ms"},
        {"operation": BESIDE, "value": 90.0, "unit": "ms"},
    ]

    _, after, lock, *_ = targets(rows)

    assert after.status == "met"
    assert (lock.status, lock.measured, lock.parts) == ("missed", 240.0, {BESIDE: 90.0})


def test_what_was_not_measured_is_not_met():
    assert {one.status for one in targets([])} == {"not_run"}
