"""`python -m benchmarks run SUITE --out DIR`, `report DIR` and `compare A B`."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.attack import suite as attack
from benchmarks.bench import Served
from benchmarks.compare import compare
from benchmarks.constraints import suite as constraints
from benchmarks.contrast import suite as contrast
from benchmarks.demo import suite as demo
from benchmarks.guidelines import suite as guidelines
from benchmarks.harness import run
from benchmarks.kernels.credit import suite as credit
from benchmarks.kernels.quality import suite as quality
from benchmarks.lessons import suite as lessons
from benchmarks.notes import suite as notes
from benchmarks.soak import suite as soak
from benchmarks.streams import command, page, results
from benchmarks.structure import suite as structure
from benchmarks.suites import SUITES
from benchmarks.suites.hot_path import waterfall
from benchmarks.suites.plan import Suite

STREAM = "stream"
CONTRAST, CONSTRAINTS = "contrast", "constraints"
RECORDED = {CONTRAST: contrast.suite, CONSTRAINTS: constraints.suite}
"""Suites on a folder of recorded runs."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A suite that starts what it needs and prints by itself."""

    about: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Callable[[str], None]], None]


ALONE: Mapping[str, Alone] = {
    credit.NAME: Alone("what is found out where the truth is known", credit.options, credit.run),
    quality.NAME: Alone("how well a labelled collection is ranked", quality.options, quality.run),
    "structure": Alone("what the source asks of its reader", structure.options, structure.run),
    "demo": Alone("small tasks done by what notes say", demo.options, demo.run),
    "notes": Alone("notes of authors who are often wrong", notes.options, notes.run),
    "lessons": Alone("rules from one example each", lessons.options, lessons.run),
    "attack": Alone("what a hostile key can do", attack.options, attack.run),
    "soak": Alone("calls to two processes that are killed", soak.options, soak.run),
}


def main(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    if given.command == "compare":
        for line in compare(given.first, given.second):
            print(line)
        return 0
    if given.command == "report":
        return _reported(given.folder)
    if given.suite == STREAM:
        command.run(given, print)
        return _reported(given.out)
    if given.suite in ALONE:
        ALONE[given.suite].run(given, _say)
        return 0
    return _ran(given)


def _ran(given: argparse.Namespace) -> int:
    suite = _suite(given)
    served = None
    if given.url is not None:
        if given.key is None:
            raise SystemExit("--url needs --key")
        apart = given.suite in (*RECORDED, guidelines.NAME)
        data = None if apart else given.data
        served = Served(given.url, given.key, data, None)
    run(given.suite, suite, given.out, served, _settings(suite, given.set))
    for line in told(json.loads((given.out / "summary.json").read_text(encoding="utf-8"))):
        print(line)
    return 0


def _say(line: str) -> None:
    """At once, so that progress also shows where the output is not a terminal."""
    print(line, flush=True)


def _suite(given: argparse.Namespace) -> Suite:
    if given.suite in RECORDED:
        return RECORDED[given.suite](given.data)
    if given.suite == guidelines.NAME:
        return guidelines.suite(given)
    return SUITES[given.suite]


def _reported(folder: Path) -> int:
    run = folder / "run.json"
    if run.exists() and json.loads(run.read_text(encoding="utf-8")).get("suite") == "retrieve":
        for line in waterfall.report(folder):
            print(line)
        return 0
    print(f"The report: {page.report(folder)}")
    for line in page.told(results.read(folder)):
        print(line)
    return 0


def told(summary: Mapping[str, Any]) -> list[str]:
    """The summary for people."""
    heads = ("p50 ms", "p95 ms", "p99 ms", "per s")
    lines = [f"{'':<24}{'n':>6}{'failed':>8}" + "".join(f"{head:>10}" for head in heads)]
    for name, row in summary["figures"].items():
        times = (row["p50"], row["p95"], row["p99"], row["rate"])
        shown = "".join(f"{'-' if t is None else format(t, '.2f'):>10}" for t in times)
        lines.append(f"{name:<24}{row['n']:>6}{row['failed']:>8}{shown}")
    lines += [f"{name:<44}{_number(value)}" for name, value in summary["numbers"].items()]
    for target in summary["targets"]:
        measured = target["measured"]
        shown = f"{measured:.3f}" if measured is not None else f"not run {target['reason']}".strip()
        lines.append(f"{target['name']}: {shown}, target {target['target']}: {target['status']}")
        lines += [f"    {name:<20}{value:>10.3f}" for name, value in target["parts"].items()]
    return lines


def _number(value: float) -> str:
    """A count as a count, a share with its digits."""
    return f"{value:>16.0f}" if value == int(value) else f"{value:>20.3f}"


def _settings(suite: Suite, changes: Sequence[str]) -> dict[str, int | str]:
    settings: dict[str, int | str] = {**suite.settings, **suite.words}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in settings:
            raise SystemExit(f"--set knows {', '.join(settings)}, not {name}")
        settings[name] = value if name in suite.words else int(value)
    return settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    suites = commands.add_parser("run", help="run a suite and store what it measured")
    suites = suites.add_subparsers(dest="suite", required=True)
    command.options(suites.add_parser(STREAM, help="a stream of resolved questions"))
    for name in sorted(SUITES):
        _suite_options(suites.add_parser(name, help=SUITES[name].about))
    _recorded_options(suites.add_parser(CONTRAST, help="pairs of recorded runs"))
    _recorded_options(suites.add_parser(CONSTRAINTS, help="checks of recorded runs"))
    reading = suites.add_parser(guidelines.NAME, help="what an agent is handed")
    guidelines.options(reading)
    _server_options(reading)
    for name, alone in ALONE.items():
        alone.options(suites.add_parser(name, help=alone.about))
    reporting = commands.add_parser(
        "report",
        help="a page from the artefacts of a stream, the waterfall from those of `retrieve`",
    )
    reporting.add_argument("folder", type=Path, metavar="DIR")
    comparing = commands.add_parser("compare", help="two runs side by side")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    return parser


def _suite_options(running: argparse.ArgumentParser) -> None:
    running.add_argument("--data", type=Path, help="its data directory, for the parts apart")
    _server_options(running)


def _recorded_options(running: argparse.ArgumentParser) -> None:
    running.add_argument("--data", type=Path, required=True, help="the folder of the runs")
    _server_options(running)


def _server_options(running: argparse.ArgumentParser) -> None:
    running.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    running.add_argument("--url", help="measure this server instead of starting one")
    running.add_argument("--key", help="its operator key")
    running.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")


if __name__ == "__main__":
    # Ended from outside, a run still ends the server that it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # The parts are timed with the threads waiting as they do in the server.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # noqa: TID251 - read by a library
    sys.exit(main(sys.argv[1:]))
