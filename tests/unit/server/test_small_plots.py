"""Sparklines and waterfalls keep to their boxes, and say in words what they draw."""

import pytest

from memory.receipts.entities import Timings
from server.dashboard.over_time_plots import HEIGHT, WIDTH, sparkline, sparklines
from server.dashboard.receipt_trace import stages_of


@pytest.mark.parametrize("weights", [(0.1, 2.0), (1.0, 1.0), (1.2, 0.4, 0.05, 2.0)])
def test_a_sparkline_stays_in_its_box(weights) -> None:
    drawn = sparkline(weights)
    points = [tuple(map(float, one.split(","))) for one in drawn.points.split()]

    assert len(points) == len(weights)
    assert points[0][0] == 0
    assert points[-1][0] == WIDTH
    assert all(0 <= y <= HEIGHT for _, y in points)


def test_a_sparkline_says_what_it_shows() -> None:
    assert sparkline((1.0, 0.8)).said == (
        "weight lately: from 1.00 to 0.80, lowest 0.80, highest 1.00"
    )


def test_a_memory_that_is_not_shown_has_no_sparkline() -> None:
    assert sparklines({"a": (1.0,)}, {}) == {}


def test_stages_follow_one_another_in_the_order_in_which_they_ran() -> None:
    drawn = stages_of(Timings(embed_ms=30.0, search_ms=10.0, rank_ms=20.0, query_ms=40.0))

    assert [(one.start, one.length) for one in drawn.stages] == [
        (0.0, 40.0),
        (40.0, 30.0),
        (70.0, 10.0),
        (80.0, 20.0),
    ]
    assert drawn.stages[0].said == "Further queries, by the language model"
    assert drawn.total == 100.0


def test_what_took_no_time_has_a_bar_that_is_seen_or_none() -> None:
    short = stages_of(Timings(embed_ms=1000.0, search_ms=0.001, rank_ms=0.0))
    assert all(one.length >= 0.5 for one in short.stages)
    assert all(one.start + one.length <= 100.5 for one in short.stages)
    assert [one.length for one in stages_of(Timings()).stages] == [0.0, 0.0, 0.0]
