"""Plots of an evaluation, as PNG: what each axis is stands on it."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.streams import scoring
from benchmarks.streams.arms import NONE
from benchmarks.streams.results import Results

mpl.use("Agg")
SIZE = (9.0, 4.2)
DOTS = 110
COLOURS = {
    "price": "#444444",
    "none": "#999999",
    "similarity": "#4477aa",
    "memlift": "#cc3311",
    "paper": "#aa7700",
    "anchor": "#66ccee",
    "no-guard": "#aa3377",
    "no-strength": "#228833",
    "no-weights": "#009988",
    "no-ageing": "#bb99cc",
}
SHORT = 48

Draw = Callable[[Results, Axes], bool]


def plotted(results: Results) -> dict[str, bytes]:
    """Each plot by name; one that has nothing to show is left out."""
    drawn = ((name, _png(results, draw)) for name, draw in PLOTS.items())
    return {name: png for name, png in drawn if png is not None}


def _png(results: Results, draw: Draw) -> bytes | None:
    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    axes: Any = figure.add_subplot()
    if not draw(results, axes):
        return None
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _weekly_brier(results: Results, axes: Any) -> bool:
    for name in results.arms:
        weeks = results.numbers[name]["scores"]["whole"]["weekly brier"]
        axes.plot(_days(weeks), list(weeks.values()), ".-", color=COLOURS[name], label=name)
    axes.set_ylabel("Brier score by forecast, lower is better")
    axes.set_xlabel("week of the forecast")
    _dated(axes)
    axes.legend(ncols=5, fontsize=8, loc="best")
    return True


def _cumulative_profit(results: Results, axes: Any) -> bool:
    shown = False
    for name in results.arms:
        weeks = results.numbers[name]["scores"]["whole"]["weekly profit on 100"]
        total, totals = 0.0, list[float]()
        for profit in weeks.values():
            total += profit
            totals.append(total)
        if totals and name != "price":
            axes.plot(_days(weeks), totals, ".-", color=COLOURS[name], label=name)
            shown = True
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_ylabel("dollars won so far, 100 staked a week")
    axes.set_xlabel("week of the forecast")
    _dated(axes)
    if shown:
        axes.legend(ncols=5, fontsize=8, loc="best")
    return shown


def _gain(results: Results, axes: Any) -> bool:
    """Over no memory, both halves and the whole, with 95 % intervals."""
    names = [name for name in results.arms if name not in (NONE, "price")]
    if NONE not in results.arms or not names:
        return False
    for shift, half in ((-0.2, "first"), (0.0, "second"), (0.2, "whole")):
        for place, name in enumerate(names):
            found = results.numbers[name]["scores"].get(half, {}).get("gain over", {}).get(NONE)
            if found is None or found["interval"] is None:
                continue
            low, high = found["interval"]
            mean = found["mean"]
            mark = {"first": "o", "second": "s", "whole": "D"}[half]
            label = f"{half} half" if half != "whole" else half
            axes.errorbar(
                [mean],
                [place + shift],
                xerr=[[mean - low], [high - mean]],
                fmt=mark,
                color=COLOURS[name],
                markersize=5,
                label=label if place == 0 else None,
            )
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("gain in event Brier over no memory, right is better; 95 % intervals")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="best")
    return True


def _trajectories(results: Results, axes: Any) -> bool:
    played = results.arms.get("memlift")
    if played is None or not played.trajectories:
        return False
    # Of the outcomes of one moment, where they left the weight.
    rows: dict[tuple[str, str, str], dict[datetime, float]] = {}
    for row in played.trajectories:
        key = (row["kind"], row["memory_id"], row["situation"])
        known_at = datetime.fromisoformat(row["known_at"])
        rows.setdefault(key, {})[known_at] = float(row["weight"])
    for (kind, _, situation), points in rows.items():
        moments, weights = zip(*sorted(points.items()), strict=True)
        style = {"strongest": "-", "fallen": "--"}[kind]
        text = situation if len(situation) <= SHORT else f"{situation[:SHORT]}…"
        axes.plot(moments, weights, f".{style}", label=f"{kind}: {text}")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_ylabel("effective weight (1 is neutral, .1 … 2)")
    axes.set_xlabel("when the outcome was known")
    _dated(axes)
    axes.legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return True


def _calibration(results: Results, axes: Any) -> bool:
    for name, played in results.arms.items():
        bins = scoring.calibration(played.rows["whole"])
        _, forecast, came = zip(*bins, strict=True)
        axes.plot(forecast, came, ".-", color=COLOURS[name], label=name)
    axes.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    axes.set_xlabel("mean probability of the forecasts in a bin")
    axes.set_ylabel("share that came out YES")
    axes.legend(ncols=2, fontsize=8, loc="upper left")
    return True


def _weights(results: Results, axes: Any) -> bool:
    shown = [name for name in ("memlift", "paper") if results.arms.get(name)]
    shown = [name for name in shown if sum(results.numbers[name]["weights"]["counts"])]
    for name in shown:
        found = results.numbers[name]["weights"]
        axes.stairs(found["counts"], found["edges"], color=COLOURS[name], label=name)
    axes.set_yscale("symlog")
    axes.set_xlabel("effective weight at the end")
    axes.set_ylabel("memories")
    axes.legend(fontsize=8)
    return bool(shown)


def _days(weeks: dict[str, float]) -> list[date]:
    return [date.fromisoformat(week) for week in weeks]


def _dated(axes: Any) -> None:
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(axes.xaxis.get_major_locator()))


PLOTS: dict[str, Draw] = {
    "gain": _gain,
    "weekly-brier": _weekly_brier,
    "cumulative-profit": _cumulative_profit,
    "calibration": _calibration,
    "trajectories": _trajectories,
    "weights": _weights,
}


def titles() -> Sequence[tuple[str, str]]:
    """What each plot shows, in the order of the page."""
    return (
        ("gain", "What each arm gains over no memory"),
        ("weekly-brier", "Brier score by week"),
        ("cumulative-profit", "Profit of a trader who believes the forecasts"),
        ("calibration", "Calibration: ten equal bins of the probability"),
        ("trajectories", "Weights over time: the strongest and the most fallen memories"),
        ("weights", "Weights at the end"),
    )
