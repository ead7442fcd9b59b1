"""Suite `attack`: what a hostile key can move, see and lock. HTTP, two processes, one database.

OUT/run.json            revision, seeds, hardware, load before and after
OUT/measurements.jsonl  every figure of every attack and seed, and the times of the front door
OUT/leaks.txt           the surfaces on which private words were read
OUT/summary.json        figures and targets, computed from the rows as they were written
"""

import argparse
import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO, cast

from benchmarks import harness, metrics
from benchmarks.attack import (
    constraints,
    front_door,
    identity,
    lies,
    lookalikes,
    measures,
    metric,
    reading,
)
from benchmarks.attack.assault import Attack
from benchmarks.attack.siege import NO_ATTACK, Grounds, besiege, in_peace
from benchmarks.attack.stand_in import scripted_model
from benchmarks.attack.wire import Caller
from benchmarks.bench import Timing
from benchmarks.soak.cluster import serving

NAME = "attack"
REPORTED = "0-2"
TUNING = "1000-1009"
"""Seeds to choose constants on; figures are never reported on them."""
ATTACKS: tuple[Attack, ...] = (
    *lies.ATTACKS,
    *identity.ATTACKS,
    *metric.ATTACKS,
    *constraints.ATTACKS,
    *reading.ATTACKS,
    *lookalikes.ATTACKS,
)
FRONT_DOOR = "front_door"
Say = Callable[[str], None]


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument(
        "--seeds",
        default=REPORTED,
        help=f"one, or a range such as {REPORTED} (reported); {TUNING} are for choosing constants",
    )
    names = [*(attack.name for attack in ATTACKS), FRONT_DOOR]
    parser.add_argument("--only", help=f"some, with commas between: {', '.join(names)}")


def run(given: argparse.Namespace, say: Say) -> None:
    """Play every attack on every seed, keep what was read, and say what it amounts to."""
    # Ended from outside it still ends what it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    seeds = seeds_of(given.seeds)
    names = given.only.split(",") if given.only else [a.name for a in ATTACKS] + [FRONT_DOOR]
    stamp = harness.opening(NAME, {}) | {"seeds": seeds, "only": names}
    with (
        scripted_model() as model,
        serving(say, model) as cluster,
        (out / harness.MEASUREMENTS).open("w", encoding="utf-8") as file,
        (out / "leaks.txt").open("w", encoding="utf-8") as leaks,
    ):
        record = _Record(file, leaks, say)
        say("two processes serve")
        admin = Caller(cluster.key, cluster.urls())
        if FRONT_DOOR in names:
            record.times(front_door.measure(Grounds(admin, cluster.urls(), seeds[0])))
        for seed in seeds:
            _play(Grounds(admin, cluster.urls(), seed), names, record)
        admin.close()
        faults = cluster.traces()
    for fault in faults:
        say(f"a process logged a fault that nobody foresaw: {fault}")
    stamp |= harness.closing() | {"faults": faults}
    summary = {**stamp, **summarise(harness.read_rows(out))}
    harness.write(out / "run.json", stamp)
    harness.write(out / "summary.json", summary)
    for line in told(summary):
        say(line)


def seeds_of(words: str) -> list[int]:
    """`3`, or `0-2`."""
    first, _, last = words.partition("-")
    return list(range(int(first), int(last or first) + 1))


def summarise(rows: Sequence[metrics.Row]) -> dict[str, object]:
    """What the rows amount to: every figure by seed and attack, and the targets."""
    by_seed: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if "figure" in row:
            attacks = by_seed.setdefault(str(row["seed"]), {})
            its = attacks.setdefault(str(row["attack"]), {})
            its[str(row["figure"])] = cast("float", row["value"])
    return {"by_seed": by_seed, "targets": metrics.written(measures.targets(rows))}


def told(summary: Mapping[str, object]) -> Iterator[str]:
    """The summary for people: what moved by attack and seed, then the targets."""
    columns = ("move", "own_lift", "share_fall", "auc_fall", "refused")
    by_seed = cast("dict[str, dict[str, dict[str, float]]]", summary["by_seed"])
    for seed, attacks in by_seed.items():
        yield f"seed {seed:<22}" + "".join(f"{name:>12}" for name in columns) + "  other figures"
        for attack, found in attacks.items():
            its = {name.removeprefix(measures.BEYOND): value for name, value in found.items()}
            cells = "".join(f"{_number(its.get(name)):>12}" for name in columns)
            rest = {k: round(v, 3) for k, v in its.items() if k not in (*columns, *LEFT_OUT)}
            yield f"{attack:<27}{cells}  {rest}"
    for target in cast("list[dict[str, object]]", summary["targets"]):
        measured = cast("float | None", target["measured"])
        aim = f"target {target['target']}: {target['status']}"
        yield f"{target['name']}: {_number(measured)}, {aim}"


LEFT_OUT = tuple(f"share_{way}_{n}" for way in ("down", "up") for n in range(3))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


class _Record:
    """The open artefacts of a run."""

    def __init__(self, file: TextIO, leaks: TextIO, say: Say) -> None:
        self._file, self._leaks, self.say = file, leaks, say

    def times(self, found: Mapping[str, Sequence[Timing]]) -> None:
        for operation, timings in found.items():
            for one in timings:
                row = {"operation": operation, "concurrency": 1, "at": one.at, "ms": one.ms}
                self._keep({**row, "ok": one.ok})

    def figures(self, attack: str, seed: int, found: Mapping[str, float]) -> None:
        self.say(f"seed {seed}, {attack}: " + ", ".join(f"{k} {v:.3g}" for k, v in found.items()))
        for figure, value in found.items():
            operation = f"{attack}/{seed}/{figure}"
            row = {"operation": operation, "value": float(value), "unit": ""}
            self._keep({**row, "attack": attack, "seed": seed, "figure": figure})

    def leaked(self, seed: int, surfaces: Sequence[str]) -> None:
        self._leaks.writelines(f"{seed} {surface}\n" for surface in surfaces)

    def _keep(self, row: Mapping[str, object]) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()


def _play(grounds: Grounds, names: Sequence[str], record: _Record) -> None:
    """The world in peace, then every attack in a world of its own."""
    chosen = [attack for attack in ATTACKS if attack.name in names]
    if not chosen:
        return
    peace = in_peace(grounds)
    record.figures(NO_ATTACK, grounds.seed, peace)
    for attack in chosen:
        found = besiege(attack, grounds, peace)
        prefix = measures.BEYOND if attack.beyond else ""
        figures = {prefix + name: value for name, value in found.figures.items()}
        record.figures(attack.name, grounds.seed, figures)
        record.leaked(grounds.seed, sorted(found.leaks))
