"""Suite `structure`: reads the source of a checkout; no server, no database.

OUT/run.json            revision, hardware, load before and after
OUT/KIND.jsonl          every row that was read, one file a kind (see `evidence.py`)
OUT/measurements.jsonl  the figures, for `compare`
OUT/summary.json        figures, lists and targets, computed from the rows as they were written
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import hardware, harness, metrics
from benchmarks.structure import evidence, figures

NAME = "structure"


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument("--source", type=Path, default=hardware.ROOT, help="read this checkout")
    parser.add_argument(
        "--field-diff",
        type=Path,
        metavar="FILE",
        help="`git diff --numstat` of a commit that adds a field to an experience",
    )


def run(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Read the source, keep what was read, and say what it amounts to."""
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    stamp = harness.opening(NAME, {}) | {"source_revision": hardware.revision(options.source)}
    evidence.write(evidence.gather(options.source, options.field_diff), out)
    stamp |= harness.closing()
    result = summary(out)
    _write_measurements(out, result.numbers)
    harness.write(out / "run.json", stamp)
    harness.write(out / "summary.json", {**stamp, **asdict(result)})
    for line in render(result):
        say(line)


@dataclass(frozen=True, slots=True)
class Summary:
    """What the rows amount to. `lists` names what stands behind the figures."""

    numbers: dict[str, float]
    first_release: figures.Release
    lines_by_folder: dict[str, int]
    lists: dict[str, list[str]]
    targets: list[metrics.Target]


def summary(out: Path) -> Summary:
    """From the rows in `out` alone."""
    rows = evidence.read(out)
    numbers = figures.numbers(rows)
    return Summary(
        numbers=numbers,
        first_release=figures.FIRST_RELEASE,
        lines_by_folder=figures.lines_by_folder(rows),
        lists=figures.lists(rows),
        targets=figures.targets(numbers),
    )


def render(result: Summary) -> Iterator[str]:
    """The summary for people, the first release's figures beside this source's."""
    first = result.first_release.numbers
    yield f"{'':<52}{'first release':>16}{'this source':>16}"
    for name in dict.fromkeys([*first, *result.numbers]):
        yield f"{name:<52}{_number(first.get(name)):>16}{_number(result.numbers.get(name)):>16}"
    for title, names in result.lists.items():
        if names:
            yield f"{title} ({len(names)}):"
            yield from (f"    {name}" for name in names)
    for target in result.targets:
        measured = _number(target.measured)
        yield f"{target.name}: {measured}, target {target.target:g}: {target.status}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:.3f}"


def _write_measurements(out: Path, numbers: Mapping[str, float]) -> None:
    rows = [{"operation": n, "value": v, "unit": "count"} for n, v in numbers.items()]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (out / harness.MEASUREMENTS).write_text(text, encoding="utf-8")
