"""The waterfall of one retrieval, drawn from a run of suite `retrieve`."""

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.suites.hot_path.servers import COPY, MEANING, SQL

mpl.use("Agg")
SIZE = (8.0, 2.4)
INK = {"light": "#1f2328", "dark": "#e6edf3"}
STAGES = {
    "enter": "key, namespace",
    "embed": "embedding",
    "search": "search, reads",
    "rank": "rank, guideline",
    "commit": "commit",
    "rest": "HTTP and the rest",
}
COLOURS = ("#8c959f", "#0969da", "#cf222e", "#bf8700", "#1a7f37", "#8250df")
TITLES = {SQL: "asking the\ndatabase", COPY: "resident\ncopy", MEANING: "copy, by\nmeaning"}

Waterfall = Mapping[str, Mapping[str, float]]


def waterfall(summary: Mapping[str, Any]) -> Waterfall:
    """Mean milliseconds by server and stage, one caller; the rest is what the caller waits beyond
    the stages. Nothing of a server that was not measured.
    """
    found: dict[str, Mapping[str, float]] = {}
    for name in TITLES:
        whole = summary["figures"].get(f"retrieve_{name}@1")
        stages = {
            stage: summary["numbers"][f"stage_{name}_{stage}"]
            for stage in STAGES
            if f"stage_{name}_{stage}" in summary["numbers"]
        }
        if whole is not None and stages:
            rest = max(0.0, whole["mean"] - sum(stages.values()))
            found[name] = {**stages, "rest": rest}
    return found


def report(folder: Path) -> list[str]:
    """Draws OUT/waterfall-light.svg and -dark.svg; the figures as lines of a table."""
    found = waterfall(json.loads((folder / "summary.json").read_text(encoding="utf-8")))
    for theme in INK:
        (folder / f"waterfall-{theme}.svg").write_bytes(_svg(found, theme))
    lines = ["| ms, mean | " + " | ".join(STAGES.values()) + " | sum |"]
    lines.append("| --- |" + " --- |" * (len(STAGES) + 1))
    for name, stages in found.items():
        cells = [f"{stages.get(stage, 0.0):.1f}" for stage in STAGES]
        lines.append(f"| {name} | {' | '.join(cells)} | {sum(stages.values()):.1f} |")
    return lines


def _svg(found: Waterfall, theme: str) -> bytes:
    figure = Figure(figsize=SIZE, layout="constrained")
    figure.patch.set_alpha(0.0)
    axes: Any = figure.add_subplot()
    axes.patch.set_alpha(0.0)
    ink = INK[theme]
    names = list(found)[::-1]
    left = [0.0] * len(names)
    for (stage, title), colour in zip(STAGES.items(), COLOURS, strict=True):
        widths = [found[name].get(stage, 0.0) for name in names]
        places = [TITLES[name] for name in names]
        axes.barh(places, widths, left=left, color=colour, label=title, height=0.55)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlabel("milliseconds of one retrieval, mean", color=ink)
    axes.tick_params(colors=ink)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(ink)
    figure.legend(frameon=False, labelcolor=ink, loc="outside upper center", ncols=6, fontsize=8)
    file = BytesIO()
    # Without a date, so that the same figures give the same picture.
    with mpl.rc_context({"svg.hashsalt": "memlift"}):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    return file.getvalue()
