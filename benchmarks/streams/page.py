"""`python -m benchmarks report DIR`: every number anew, one page that needs nothing else."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.streams.arms import NONE
from benchmarks.streams.plots import plotted, titles
from benchmarks.streams.results import Results, read

DASH = "-"
STYLE = """\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}
img{max-width:100%}.note{color:#555}.warn{background:#fff3cd;padding:.5rem 1rem}"""
BRIER = """\
Brier: mean over events of the squared error, an event once whatever the number of its forecasts;
lower is better. Skill: the market's Brier less the arm's, on the same forecasts; above zero beats
the market. Calibration error: over ten equal bins. Return: what one dollar a forecast comes back
as, for a trader who stakes all on the larger edge (gamma 0) or in proportion to the probabilities
(gamma 1); 1 breaks even. Profit: of 1,000 dollars over one round an event, and of 100 dollars a
week in all. ± is one standard error over events."""
GAIN = """\
How much lower the arm's Brier is than the other's on the same forecasts; above zero is better. n is
events; ± one standard error over events, [ ] with forecast dates as clusters; the interval is
95 %, by the larger of the two."""
RUNNING = """\
Latency is the time of a batch over its questions, as the agent waits for it. Seconds are those of
all batches of an arm; arms of one run share the machine."""


def report(folder: Path) -> Path:
    """Writes metrics.json, the plots as PNG, and report.html; returns the page."""
    results = read(folder)
    images = plotted(results)
    for name, png in images.items():
        (folder / f"{name}.png").write_bytes(png)
    numbers = json.dumps({"run": results.run, "arms": results.numbers}, indent=2)
    (folder / "metrics.json").write_text(numbers + "\n", encoding="utf-8")
    page = folder / "report.html"
    page.write_text("\n".join(_page(results, images)) + "\n", encoding="utf-8")
    return page


def told(results: Results) -> Iterator[str]:
    """The scores for a terminal."""
    heads = f"{'events':>7}{'Brier':>9}{'by forecast':>13}{'gain over none':>26}"
    yield f"{'arm':<12}{'half':<8}{heads}"
    for name, half, found in _halves(results):
        gain = found["gain over"].get(NONE)
        shown = "" if gain is None else _signed(gain)
        brier = f"{found['brier']:>9.4f}{found['brier by forecast']:>13.4f}"
        yield f"{name:<12}{half:<8}{found['events']:>7}{brier}{shown:>26}"


def _page(results: Results, images: Mapping[str, bytes]) -> Iterator[str]:
    title = f"MemLift on the stream {results.run['stream']}"
    yield "<!doctype html><html lang=en><meta charset=utf-8>"
    yield f"<title>{escape(title)}</title><style>{STYLE}</style><h1>{escape(title)}</h1>"
    if not results.whole:
        yield "<p class=warn>This run has not come to its end: the numbers are of what it has.</p>"
    yield f"<p>{escape(_about(results))}</p>"
    yield "<h2>Scores</h2>"
    yield _table(_score_rows(results))
    yield f"<p class=note>{escape(BRIER)}</p><h2>Gains</h2>"
    yield _table(_gain_rows(results))
    yield f"<p class=note>{escape(GAIN)}</p>"
    for name, heading in titles():
        if name in images:
            data = b64encode(images[name]).decode()
            yield f"<h2>{escape(heading)}</h2>"
            yield f'<img alt="{escape(heading)}" src="data:image/png;base64,{data}">'
    yield "<h2>Running it</h2>"
    yield _table(_running_rows(results))
    yield f"<p class=note>{escape(RUNNING)}</p>"
    yield f"<h2>What was run</h2><pre>{escape(json.dumps(results.run, indent=2))}</pre></html>"


def _about(results: Results) -> str:
    settings = results.run["settings"]
    sees = "sees the price" if settings["sees_price"] else "sees no price"
    return (
        f"{results.questions} forecasts. The agent is the {settings['agent']} forecaster over up "
        f"to {settings['k']} memories; it {sees}. The second half begins where the stream's own "
        "date says; defaults were chosen on the first half of one stream alone."
    )


def _halves(results: Results) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, numbers in results.numbers.items():
        for half, found in numbers["scores"].items():
            yield name, half, found


def _score_rows(results: Results) -> Iterator[list[str]]:
    yield [
        *("arm", "half", "forecasts", "events", "Brier", "by forecast", "skill"),
        *(
            "calibration error",
            "return gamma 0",
            "return gamma 1",
            "profit on 1000",
            "weekly profits",
        ),
    ]
    for name, half, found in _halves(results):
        skill = found["skill"]
        profits = found["weekly profit on 100"]
        yield [
            *(name, half, str(found["forecasts"]), str(found["events"])),
            *(f"{found['brier']:.4f}", f"{found['brier by forecast']:.4f}"),
            DASH if skill is None else f"{skill['mean']:+.4f} ± {skill['se'] or 0:.4f}",
            f"{found['calibration error']:.4f}",
            *(_or_dash(value, ".3f") for value in found["average return"].values()),
            _or_dash(found["profit on 1000"], "+.0f"),
            _or_dash(sum(profits.values()) if profits else None, "+.0f"),
        ]


def _gain_rows(results: Results) -> Iterator[list[str]]:
    yield ["arm", "half", "over", "n", "gain", "95 % interval"]
    for name, half, found in _halves(results):
        for other, gain in found["gain over"].items():
            bounds = gain["interval"]
            span = DASH if bounds is None else f"{bounds[0]:+.4f} … {bounds[1]:+.4f}"
            yield [name, half, other, str(gain["events"]), _signed(gain), span]


def _running_rows(results: Results) -> Iterator[list[str]]:
    yield ["arm", "retrieve p50 ms", "p95 ms", "memories", "seconds"]
    for name, numbers in results.numbers.items():
        times = numbers["retrieve ms"]
        yield [
            name,
            *(_or_dash(times[q], ".1f") for q in ("p50", "p95")),
            str(numbers["memories"]),
            f"{numbers['seconds']:.0f}",
        ]


def _signed(gain: Mapping[str, Any]) -> str:
    by_events, by_dates = gain["se"], gain["se_dates"]
    return f"{gain['mean']:+.4f} ± {by_events or 0:.4f} [{by_dates or 0:.4f}]"


def _or_dash(number: float | None, form: str) -> str:
    return DASH if number is None else format(number, form)


def _table(rows: Iterator[list[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in next(rows))
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
