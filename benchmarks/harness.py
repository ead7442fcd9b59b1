"""Runs a suite: a server for it, raw measurements, then the summary.

OUT/run.json            revision, settings, seed, hardware, load before and after
OUT/measurements.jsonl  every measurement, one a line
OUT/summary.json        figures and targets, computed from the measurements
"""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from math import isnan
from pathlib import Path

from benchmarks import hardware, metrics
from benchmarks.bench import Bench, Served
from benchmarks.suites.plan import Suite
from clients.demo.server import fresh_folder, start

Say = Callable[[str], None]


def run(
    name: str, suite: Suite, out: Path, served: Served | None, given: Mapping[str, int | str]
) -> None:
    """Run `suite` into `out`, on the server given or on one of its own."""
    out.mkdir(parents=True, exist_ok=True)
    settings = {one: value for one, value in given.items() if isinstance(value, int)}
    words = {one: value for one, value in given.items() if isinstance(value, str)}
    stamp = opening(name, given) | {"server": dict(suite.server or {})}
    with server_for(suite, served) as server, (out / MEASUREMENTS).open("w") as file:
        suite.run(Bench(server, settings, file, words))
    stamp |= closing()
    write(out / "run.json", stamp)
    write(out / "summary.json", {**stamp, **summary(suite, read_rows(out))})


def opening(name: str, settings: Mapping[str, int | str]) -> dict[str, object]:
    """What is known of a run when it begins."""
    return {
        "suite": name,
        "settings": dict(settings),
        "seed": settings.get("seed"),
        **hardware.stamp(),
        "load_before": hardware.load(),
        "started_at": _now(),
    }


def closing() -> dict[str, object]:
    """What is added when it ends."""
    return {"load_after": hardware.load(), "finished_at": _now()}


def write(path: Path, document: Mapping[str, object]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def summary(suite: Suite, rows: list[metrics.Row]) -> dict[str, object]:
    """What the measurements amount to."""
    return {
        "figures": {name: _plain(asdict(row)) for name, row in metrics.table(rows).items()},
        "numbers": metrics.numbers(rows),
        "targets": metrics.written(suite.targets(rows)),
    }


def read_rows(out: Path) -> list[metrics.Row]:
    with (out / MEASUREMENTS).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@contextmanager
def server_for(suite: Suite, served: Served | None) -> Generator[Served]:
    """The given server, or a fresh one that ends, with its data, when the suite is done; nobody
    where the suite starts its own.
    """
    if suite.server is None:
        yield NOBODY
        return
    if served is not None:
        yield served
        return
    own = start(fresh_folder("memlift-bench"), suite.server, print)
    try:
        yield Served(own.url, own.key(), own.data, own.process.pid)
    finally:
        own.stop()
        own.remove()


MEASUREMENTS = "measurements.jsonl"
NOBODY = Served("", "", None, None)


def _plain(row: Mapping[str, float]) -> dict[str, float | None]:
    """JSON has no word for "not a number"."""
    return {name: None if isnan(value) else value for name, value in row.items()}


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
