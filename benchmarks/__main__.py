"""`python -m benchmarks run SUITE --out DIR`, `report DIR` and `compare A B`."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench import Served
from benchmarks.compare import compare
from benchmarks.contrast import suite as contrast
from benchmarks.harness import run
from benchmarks.streams import command, page, results
from benchmarks.structure import suite as structure
from benchmarks.suites import SUITES
from benchmarks.suites.plan import Suite

STREAM, CONTRAST, STRUCTURE = "stream", "contrast", "structure"


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
    if given.suite == STRUCTURE:
        structure.run(given, print)
        return 0
    return _ran(given)


def _ran(given: argparse.Namespace) -> int:
    suite = _suite(given)
    served = None
    if given.url is not None:
        if given.key is None:
            raise SystemExit("--url needs --key")
        data = None if given.suite == CONTRAST else given.data
        served = Served(given.url, given.key, data, None)
    run(given.suite, suite, given.out, served, _settings(suite.settings, given.set))
    for line in told(json.loads((given.out / "summary.json").read_text(encoding="utf-8"))):
        print(line)
    return 0


def _suite(given: argparse.Namespace) -> Suite:
    if given.suite == CONTRAST:
        return contrast.suite(given.data)
    return SUITES[given.suite]


def _reported(folder: Path) -> int:
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
        shown = "not run" if measured is None else f"{measured:.3f}"
        lines.append(f"{target['name']}: {shown}, target {target['target']}: {target['status']}")
        lines += [f"    {name:<20}{value:>10.3f}" for name, value in target["parts"].items()]
    return lines


def _number(value: float) -> str:
    """A count as a count, a share with its digits."""
    return f"{value:>16.0f}" if value == int(value) else f"{value:>20.3f}"


def _settings(defaults: Mapping[str, int], changes: Sequence[str]) -> dict[str, int]:
    settings = dict(defaults)
    for change in changes:
        name, _, value = change.partition("=")
        if name not in settings:
            raise SystemExit(f"--set knows {', '.join(settings)}, not {name}")
        settings[name] = int(value)
    return settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    suites = commands.add_parser("run", help="run a suite and store what it measured")
    suites = suites.add_subparsers(dest="suite", required=True)
    command.options(suites.add_parser(STREAM, help="a stream of resolved questions"))
    for name in sorted(SUITES):
        _suite_options(suites.add_parser(name, help=SUITES[name].about))
    _contrast_options(suites.add_parser(CONTRAST, help="pairs of recorded runs"))
    structure.options(suites.add_parser(STRUCTURE, help="what the source asks of its reader"))
    reporting = commands.add_parser("report", help="a page from the artefacts of a stream")
    reporting.add_argument("folder", type=Path, metavar="DIR")
    comparing = commands.add_parser("compare", help="two runs side by side")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    return parser


def _suite_options(running: argparse.ArgumentParser) -> None:
    running.add_argument("--data", type=Path, help="its data directory, for the parts apart")
    _server_options(running)


def _contrast_options(running: argparse.ArgumentParser) -> None:
    running.add_argument("--data", type=Path, required=True, help="the folder of the runs")
    _server_options(running)


def _server_options(running: argparse.ArgumentParser) -> None:
    running.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    running.add_argument("--url", help="measure this server instead of starting one")
    running.add_argument("--key", help="its operator key")
    running.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")


if __name__ == "__main__":
    # The parts are timed with the threads waiting as they do in the server.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # noqa: TID251 - read by a library
    sys.exit(main(sys.argv[1:]))
