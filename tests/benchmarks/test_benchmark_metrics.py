"""Figures on numbers whose answer is known."""

import math

import numpy as np
import pytest
from benchmark_builders import a_timing
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics import at_most, figures, numbers, percentile, table

TIMES = st.lists(st.floats(0, 1e6), min_size=1, max_size=50)


def test_the_middle_of_an_odd_number_of_times_is_one_of_them():
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_between_two_times_a_percentile_is_linear():
    assert percentile([0.0, 10.0], 0.95) == pytest.approx(9.5)


@given(TIMES, st.floats(0, 1))
def test_a_percentile_is_that_of_numpy(times, share):
    assert percentile(times, share) == pytest.approx(float(np.quantile(times, share)))


def test_there_is_no_percentile_of_nothing():
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)


def test_figures_of_a_hundred_times():
    row = figures([a_timing(ms=float(ms)) for ms in range(101)])

    assert (row.p50, row.p95, row.p99, row.mean) == (50.0, 95.0, 99.0, 50.0)
    assert (row.n, row.failed) == (101, 0)


def test_a_failed_request_is_counted_and_not_timed():
    row = figures([a_timing(ms=1.0), a_timing(ms=900.0, ok=False)])

    assert (row.n, row.failed, row.p99) == (2, 1, 1.0)


def test_where_all_failed_there_is_no_time():
    row = figures([a_timing(ok=False)])

    assert row.failed == 1
    assert math.isnan(row.p50)


def test_the_rate_counts_from_the_first_start_to_the_last_end():
    rows = [a_timing(ms=500.0, at=10.0), a_timing(ms=500.0, at=11.5)]

    assert figures(rows).rate == pytest.approx(2 / 2.0)


def test_operations_and_concurrencies_are_kept_apart():
    rows = [a_timing("live", 1.0), a_timing("live", 3.0, 16), a_timing("retrieve", 5.0)]

    found = table([*rows, {"operation": "size", "value": 7, "unit": "bytes"}])

    assert {name: row.p50 for name, row in found.items()} == {
        "live@1": 1.0,
        "live@16": 3.0,
        "retrieve@1": 5.0,
    }


def test_single_numbers_have_their_names():
    assert numbers([a_timing(), {"operation": "size", "value": 7, "unit": "bytes"}]) == {"size": 7}


@pytest.mark.parametrize(
    ("measured", "status"), [(1.5, "met"), (1.51, "missed"), (None, "not_run")]
)
def test_a_target_is_met_up_to_its_bound(measured, status):
    assert at_most("ratio", 1.5, measured, {}).status == status
