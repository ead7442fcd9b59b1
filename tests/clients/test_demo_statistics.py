"""Brier scores by event, and how sure one can be of a difference."""

from math import sqrt

import pytest
from demo_builders import a_score
from hypothesis import given
from hypothesis import strategies as st

from clients.demo.statistics import NORMAL_95, brier, by_source, by_week, paired


def test_an_event_counts_once_however_many_forecasts_it_has():
    rows = [a_score("a", 1, p=0.0), a_score("a", 1, p=0.0), a_score("b", 1, p=1.0)]

    assert brier(rows, "p") == 0.5


def test_a_difference_below_zero_favours_the_first():
    rows = [a_score("a", 1, good=0.9, bad=0.5), a_score("b", 0, good=0.1, bad=0.5)]

    gap = paired(rows, "good", "bad")

    assert gap.mean == pytest.approx(0.01 - 0.25)
    assert gap.events == 2
    assert gap.half_width == pytest.approx(0.0)


def test_the_interval_is_that_of_a_mean_over_events():
    rows = [a_score("a", 1, x=0.5, y=1.0), a_score("b", 1, x=1.0, y=0.5)]

    gap = paired(rows, "x", "y")

    # Differences +.25 and -.25: mean 0, sd .25 √2, standard error .25.
    assert gap.mean == 0.0
    assert gap.half_width == pytest.approx(NORMAL_95 * 0.25 * sqrt(2) / sqrt(2))
    assert gap.interval == pytest.approx((-0.48999, 0.48999), abs=1e-5)


def test_one_event_has_no_interval():
    gap = paired([a_score("a", 1, x=0.5, y=1.0)], "x", "y")

    assert gap.interval is None


def test_weeks_come_in_order():
    rows = [a_score("a", 1, 2, p=0.0), a_score("b", 1, 0, p=0.0), a_score("c", 1, 2, p=0.0)]

    weeks = by_week(rows)

    assert [[row.event_id for row in some] for _, some in weeks] == [["b"], ["a", "c"]]
    assert weeks[0][0] < weeks[1][0]


def test_sources_are_kept_apart_by_name():
    rows = [
        a_score("a", 1, source="yfinance", p=0.0),
        a_score("b", 1, source="acled", p=0.0),
        a_score("c", 0, source="yfinance", p=0.0),
    ]

    sources = [(name, [row.event_id for row in some]) for name, some in by_source(rows)]

    assert sources == [("acled", ["b"]), ("yfinance", ["a", "c"])]


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=2))
def test_a_paired_difference_is_the_difference_of_scores(draws):
    rows = [a_score(str(n), y, p=p, q=q) for n, (y, p, q) in enumerate(draws)]

    assert paired(rows, "p", "q").mean == pytest.approx(brier(rows, "p") - brier(rows, "q"))
