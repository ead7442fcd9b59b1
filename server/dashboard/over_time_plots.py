"""Small plots of what happened from day to day, as static/plot.js draws them, and sparklines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from memory.insight.over_time_entities import DayCounts, EvidenceOfLift, LiftOverTime
from server.dashboard.rendering import number, signed

SMALL = 200
"""Pixels from top to bottom."""


SEVERAL_DAYS = 2
"""From so many days on there is something to draw."""


SHOWN_AS: Mapping[EvidenceOfLift, str] = {
    "paired": "pairs of runs with and without memory",
    "randomised": "outcomes drawn at random",
}


@dataclass(frozen=True, slots=True)
class PlotWithTable:
    """A plot with its numbers: `rows` have the newest day first, a cell for each of `columns`."""

    id: str
    title: str
    drawn: Mapping[str, object]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def lift_plots(trends: Sequence[LiftOverTime]) -> list[PlotWithTable]:
    """One for each measure and kind of evidence."""
    several = len({one.measure for one in trends}) > 1
    return [_lift_plot(place, one, several=several) for place, one in enumerate(trends)]


def _lift_plot(place: int, trend: LiftOverTime, *, several: bool) -> PlotWithTable:
    estimates = [one.estimate for one in trend.points]
    title = f"By {SHOWN_AS[trend.evidence]}"
    notes = [
        f"{one.day}: {signed(one.estimate.mean)} reward "
        f"[{signed(one.estimate.low)}, {signed(one.estimate.high)}], "
        f"{one.estimate.n:,} outcomes on {one.estimate.dates} dates"
        for one in trend.points
    ]
    return PlotWithTable(
        id=f"lift-{place}",
        title=f"{title}; rewards by {trend.measure}" if several else title,
        drawn=_small(
            [one.day for one in trend.points],
            "lift, in reward",
            [
                {"label": "lift", "values": [one.mean for one in estimates], "stepped": False},
                _edge("upper end", [one.high for one in estimates]),
                _edge("lower end", [one.low for one in estimates]),
            ],
        )
        | {"level": 0, "notes": notes},
        columns=("Up to", "Lift", "95 % interval", "Outcomes", "Dates"),
        rows=[
            (
                str(one.day),
                signed(one.estimate.mean),
                f"{signed(one.estimate.low)} to {signed(one.estimate.high)}",
                number(one.estimate.n),
                number(one.estimate.dates),
            )
            for one in reversed(trend.points)
        ],
    )


def _edge(label: str, values: Sequence[float | None]) -> Mapping[str, object]:
    return {"label": label, "values": values, "edge": True, "stepped": False}


def outcomes_plot(days: Sequence[DayCounts]) -> PlotWithTable | None:
    """Outcomes a day; None where nothing was reported, or on one day alone."""
    if not any(one.counted or one.ignored for one in days):
        return None
    bars = {
        "outcomes that count": [one.counted for one in days],
        "outcomes that move nothing": [one.ignored for one in days],
    }
    return _counts_plot("outcomes-by-day", "Outcomes a day", days, (bars, {}))


def served_plot(days: Sequence[DayCounts]) -> PlotWithTable | None:
    """Receipts with memory and without, and what coins left out; None where there are none."""
    if not any(one.with_memory or one.without_memory for one in days):
        return None
    bars = {
        "receipts with memory": [one.with_memory for one in days],
        "receipts without": [one.without_memory for one in days],
    }
    lines = {"memories left out by a coin": [one.left_out for one in days]}
    return _counts_plot("served-by-day", "Served and left out a day", days, (bars, lines))


Counts = Mapping[str, Sequence[int]]


def _counts_plot(
    name: str, title: str, days: Sequence[DayCounts], drawn: tuple[Counts, Counts]
) -> PlotWithTable | None:
    """Two counts as bars beside each other, the rest as lines."""
    if len(days) < SEVERAL_DAYS:
        return None
    bars, lines = drawn
    dates, counts = [one.day for one in days], {**bars, **lines}
    series: list[Mapping[str, object]] = [
        {"label": label, "values": values, "bars": side}
        for (label, values), side in zip(bars.items(), (-1, 1), strict=True)
    ]
    series += [{"label": one, "values": many, "stepped": False} for one, many in lines.items()]
    rows = list(zip(map(str, dates), *(map(number, one) for one in counts.values()), strict=True))
    return PlotWithTable(
        id=name,
        title=title,
        drawn=_small(dates, "a day", series) | {"from": 0},
        columns=("Day (UTC)", *(label.capitalize() for label in counts)),
        rows=rows[::-1],
    )


def _small(
    days: Sequence[date], unit: str, series: Sequence[Mapping[str, object]]
) -> dict[str, Any]:
    seconds = [datetime(one.year, one.month, one.day, tzinfo=UTC).timestamp() for one in days]
    return {"x": seconds, "series": series, "unit": unit, "height": SMALL}


LOWEST, HIGHEST, NEUTRAL = 0.1, 2.0, 1.0
WIDTH, HEIGHT = 64.0, 18.0


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Weights of one memory in a line of text: every list has the same scale, 0.1 to 2."""

    points: str
    """As an SVG polyline has them."""
    neutral: float
    """Where the neutral weight lies."""
    said: str
    """The same for who cannot see it."""


def sparklines(
    last: Mapping[UUID, Sequence[float]], now: Mapping[UUID, float]
) -> Mapping[UUID, Sparkline]:
    """Of memories whose weight was moved; the last point is what each weighs now."""
    return {
        memory_id: sparkline((*weights, now[memory_id]))
        for memory_id, weights in last.items()
        if memory_id in now
    }


def sparkline(weights: Sequence[float]) -> Sparkline:
    """Of two weights at least."""
    step = WIDTH / (len(weights) - 1)
    points = " ".join(
        f"{place * step:.1f},{_height(weight):.1f}" for place, weight in enumerate(weights)
    )
    low, high = min(weights), max(weights)
    said = (
        f"weight lately: from {number(weights[0], 2)} to {number(weights[-1], 2)}, "
        f"lowest {number(low, 2)}, highest {number(high, 2)}"
    )
    return Sparkline(points, round(_height(NEUTRAL), 1), said)


def _height(weight: float) -> float:
    return 1 + (HEIGHT - 2) * (HIGHEST - weight) / (HIGHEST - LOWEST)
