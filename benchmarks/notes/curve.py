"""The learning curve as SVG, on a light and on a dark page."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from benchmarks.demo.curve import INK, SIZE
from benchmarks.notes.arms import MEMLIFT, NONE, ORACLE, PAPER, RANKERS, SIMILARITY, USED
from benchmarks.notes.figures import Played
from benchmarks.notes.figures import curve as smooth

mpl.use("Agg")
WINDOW, STEP = 300, 20
"""Tasks of a point, and from one point to the next."""

COLOURS: Mapping[str, Mapping[str, str]] = {
    "light": {
        NONE: "#8c959f",
        SIMILARITY: "#0969da",
        MEMLIFT: "#cf222e",
        RANKERS: "#bf3989",
        PAPER: "#9a6700",
        ORACLE: "#1a7f37",
        USED: "#8250df",
    },
    "dark": {
        NONE: "#8b949e",
        SIMILARITY: "#58a6ff",
        MEMLIFT: "#ff7b72",
        RANKERS: "#ff77d4",
        PAPER: "#d29922",
        ORACLE: "#3fb950",
        USED: "#bc8cff",
    },
}


def draw(arms: Mapping[str, Played]) -> dict[str, bytes]:
    """The picture of one play by theme: a line an arm that has played long enough for one."""
    return {theme: _svg(arms, theme) for theme in INK}


def _svg(arms: Mapping[str, Played], theme: str) -> bytes:
    figure = Figure(figsize=SIZE, layout="constrained")
    figure.patch.set_alpha(0.0)
    axes: Any = figure.add_subplot()
    axes.patch.set_alpha(0.0)
    ink = INK[theme]
    longest = max(len(played.tasks) for played in arms.values())
    window = min(WINDOW, longest // 2)
    for arm, colour in COLOURS[theme].items():
        line = smooth(arms[arm].tasks, window)[::-STEP][::-1] if arm in arms else []
        if line:
            last = len(arms[arm].tasks)
            places = range(last - STEP * (len(line) - 1), last + 1, STEP)
            axes.plot(places, line, color=colour, linewidth=2.0, label=f"{arm}, {line[-1]:.0%}")
    axes.set_xlabel("tasks done", color=ink)
    axes.set_ylabel(f"right, last {window} tasks", color=ink)
    axes.tick_params(colors=ink)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(ink)
    axes.grid(visible=True, alpha=0.2)
    axes.legend(frameon=False, labelcolor=ink, loc="center left", bbox_to_anchor=(1.0, 0.5))
    file = BytesIO()
    # Without a date, so that the same rows give the same picture.
    with mpl.rc_context({"svg.hashsalt": "memlift"}):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    return file.getvalue()
