"""What the suite `scale` makes of its rows."""

from benchmarks.suites.scale import targets


def test_rates_are_told_as_times_that_of_one_process():
    rates = {1: 100.0, 2: 180.0, 4: 280.0}
    rows = [
        {"operation": f"retrievals by {n} processes", "value": rate, "unit": "a second"}
        for n, rate in rates.items()
    ]

    two, four = targets(rows)

    assert (two.status, two.measured) == ("met", 1.8)
    assert (four.status, four.measured) == ("missed", 2.8)
    assert {one.status for one in targets([])} == {"not_run"}
