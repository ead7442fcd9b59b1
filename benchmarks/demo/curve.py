"""The curve of the demonstration as SVG, on a light and on a dark page."""

from collections.abc import Mapping
from io import BytesIO
from statistics import fmean
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from clients.demo.snippets.play import ARMS, MEMLIFT, NONE, SIMILARITY
from clients.demo.snippets.summary import WINDOW, Plays, curves

mpl.use("Agg")
SIZE = (8.0, 3.6)
INK = {"light": "#1f2328", "dark": "#e6edf3"}
COLOURS: Mapping[str, Mapping[str, str]] = {
    "light": {NONE: "#8c959f", SIMILARITY: "#0969da", MEMLIFT: "#cf222e"},
    "dark": {NONE: "#8b949e", SIMILARITY: "#58a6ff", MEMLIFT: "#ff7b72"},
}


def draw(plays: Plays) -> dict[str, bytes]:
    """The picture by theme: the mean of the seeds as a line, each seed as a faint one."""
    found = [curves(attempts) for attempts in plays.values()]
    return {theme: _svg(found, theme) for theme in INK}


def _svg(found: list[dict[str, list[float]]], theme: str) -> bytes:
    figure = Figure(figsize=SIZE, layout="constrained")
    figure.patch.set_alpha(0.0)
    axes: Any = figure.add_subplot()
    axes.patch.set_alpha(0.0)
    ink = INK[theme]
    for arm in ARMS:
        colour = COLOURS[theme][arm]
        lines = [lines[arm] for lines in found]
        places = range(WINDOW, len(lines[0]) + 1)
        for line in lines:
            axes.plot(places, line[WINDOW - 1 :], color=colour, alpha=0.25, linewidth=1.0)
        mean = [fmean(values) for values in zip(*lines, strict=True)][WINDOW - 1 :]
        axes.plot(places, mean, color=colour, linewidth=2.2, label=f"{arm}, {mean[-1]:.0%}")
    axes.set_ylim(0.2, 1.0)
    axes.set_xlabel("tasks done", color=ink)
    axes.set_ylabel(f"tests passed, last {WINDOW} tasks", color=ink)
    axes.tick_params(colors=ink)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(ink)
    axes.grid(visible=True, alpha=0.2)
    axes.legend(frameon=False, labelcolor=ink, loc="upper left", ncols=3)
    file = BytesIO()
    # Without a date, so that the same rows give the same picture.
    with mpl.rc_context({"svg.hashsalt": "memlift"}):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    return file.getvalue()
