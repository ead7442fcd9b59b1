"""Suite `demo`: small tasks done by what notes say, over several seeds.

OUT/run.json            revision, settings, hardware, load before and after
OUT/attempts.jsonl      every task in every arm: what was served, followed, and came of it
OUT/weights.jsonl       what became of every note
OUT/measurements.jsonl  the figures, for `compare`
OUT/summary.json        figures and targets, computed from the rows as they were written
OUT/curve-light.svg     success over the tasks; also curve-dark.svg
"""

import argparse
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from memlift_client import MemLift, RetryPolicy

from benchmarks import harness
from benchmarks.demo import curve, figures
from benchmarks.metrics import Target
from clients.demo.server import fresh_folder, start
from clients.demo.snippets.play import CITING, Attempt, Memory, open_memories, play
from clients.demo.snippets.summary import Play
from clients.demo.snippets.tasks import deal_notes, deal_tasks

NAME = "demo"
ATTEMPTS, WEIGHTS = "attempts.jsonl", "weights.jsonl"
REPORTED = (0, 1, 2)
"""The seeds of the page; whoever tries things out takes others."""

TASKS = 300
RETRY_POLICY = RetryPolicy(timeout=600.0)

Say = Callable[[str], None]
Row = Mapping[str, Any]


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(REPORTED))
    parser.add_argument("--repeats", type=int, default=1, help="plays of each seed")
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument(
        "--citing",
        choices=["used", "verdict", "nothing"],
        default=CITING,
        help="how a report names the note that was followed",
    )
    parser.add_argument("--url", help="use this server instead of starting one")
    parser.add_argument("--key", help="its operator key")


def run(given: argparse.Namespace, say: Say) -> None:
    """Play every seed, keep what came of it, and say what it amounts to."""
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    names = ("seeds", "repeats", "tasks", "citing")
    settings = {name: getattr(given, name) for name in names}
    stamp = harness.opening(NAME, {}) | {"settings": settings}
    attempts: list[Row] = []
    weights: list[Row] = []
    with _client(given, say) as client:
        for seed, repeat in product(given.seeds, range(given.repeats)):
            memories = open_memories(client, deal_notes(seed))
            played = play(memories, deal_tasks(seed, given.tasks), lambda _: None, given.citing)
            place = {"seed": seed, "repeat": repeat}
            attempts += [{**place, **asdict(one)} for one in played]
            weights += [{**place, **row} for row in _weights(memories[-1])]
            say(f"seed {seed} has been played")
    _write_rows(out / ATTEMPTS, attempts)
    _write_rows(out / WEIGHTS, weights)
    stamp |= harness.closing()
    result = summary(out)
    numbers = [{"operation": n, "value": v, "unit": ""} for n, v in result.numbers.items()]
    _write_rows(out / harness.MEASUREMENTS, numbers)
    harness.write(out / "run.json", stamp)
    harness.write(out / "summary.json", {**stamp, **asdict(result)})
    for theme, drawn in curve.draw(read_attempts(out)).items():
        (out / f"curve-{theme}.svg").write_bytes(drawn)
    for line in render(result):
        say(line)


@dataclass(frozen=True, slots=True)
class Summary:
    """What the rows amount to."""

    numbers: dict[str, float]
    targets: list[Target]


def summary(out: Path) -> Summary:
    """From the rows in `out` alone."""
    numbers = figures.numbers(read_attempts(out), _read_rows(out / WEIGHTS))
    return Summary(numbers, figures.targets(numbers))


def render(result: Summary) -> Iterator[str]:
    """The summary for people."""
    for name, value in result.numbers.items():
        yield f"{name:<64}{value:>10.3f}"
    for target in result.targets:
        measured = "not run" if target.measured is None else f"{target.measured:+.3f}"
        yield f"{target.name}: {measured}, target {target.target:g}: {target.status}"


def read_attempts(out: Path) -> dict[Play, list[Attempt]]:
    """The attempts of each play, as they were written."""
    plays: dict[Play, list[Attempt]] = {}
    for row in _read_rows(out / ATTEMPTS):
        members = {name: value for name, value in row.items() if name not in ("seed", "repeat")}
        members["served"] = tuple(members["served"])
        plays.setdefault((row["seed"], row["repeat"]), []).append(Attempt(**members))
    return plays


def _weights(memory: Memory) -> list[Row]:
    return [
        {
            "note": memory.notes[row.memory_id].name,
            "weight": row.effective_weight,
            "served": row.served,
            "credited": row.credited,
        }
        for row in memory.client.each_weight()
    ]


@contextmanager
def _client(given: argparse.Namespace, say: Say) -> Generator[MemLift]:
    """Of the given server, or of a fresh one that ends, with its data, when the suite is done."""
    if given.url is not None:
        if given.key is None:
            raise SystemExit("--url needs --key")
        with MemLift(given.url, given.key, retry_policy=RETRY_POLICY) as client:
            yield client
        return
    own = start(fresh_folder("memlift-bench"), {}, say)
    try:
        with MemLift(own.url, own.key(), retry_policy=RETRY_POLICY) as client:
            yield client
    finally:
        own.stop()
        own.remove()


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
