"""Which guard, and which strength: every candidate of ADR 42, without a server.

python -m benchmarks.kernels.streams streams --data DIR --out DIR  # first halves: they choose
python -m benchmarks.kernels.streams streams --data DIR --out DIR --report  # second halves
python -m benchmarks.kernels.streams notes --data DIR --out DIR
python -m benchmarks.kernels.streams worlds --out DIR --seeds 1000 1001 1002 1003
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeVar, cast

from benchmarks.kernels.credit.measures import measured
from benchmarks.kernels.credit.play import play
from benchmarks.kernels.credit.world import SCENARIOS, draw
from benchmarks.kernels.streams.figures import gain_over, middle
from benchmarks.kernels.streams.guards import candidates
from benchmarks.kernels.streams.notes import A_DATE, Play, deal
from benchmarks.kernels.streams.replay import Answered, Replay, Setting
from benchmarks.kernels.streams.worlds import Guarded
from benchmarks.streams.command import SECOND_HALF
from clients.demo.streams import read_stream

PRICED = ("market", "prophet")
GUARDS = ("P+F", "S+F", "R+F")
"""One candidate a guard: strength follows no answer in notes and worlds."""

Row = dict[str, Any]
Each = TypeVar("Each")


@dataclass(frozen=True, slots=True)
class Pass:
    """One candidate over one stream."""

    stream: str
    candidate: str
    priced: bool


def main(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    given.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = given.run(given)
    (given.out / f"{given.what}.json").write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return 0


def run_streams(given: argparse.Namespace) -> list[Row]:
    passes = [Pass(s, c, priced=False) for s, c in product(SECOND_HALF, given.candidates)]
    passes += [Pass(s, c, priced=True) for s, c in product(PRICED, given.candidates)]
    # Texts are embedded once, before the processes part.
    for name in SECOND_HALF:
        stream = read_stream(given.data, name)
        Replay(stream, candidates()["P+F"], Setting(date.min), given.out).play()
    return _all(partial(_played, given), passes, given.workers)


def _played(given: argparse.Namespace, one: Pass) -> Row:
    stream = read_stream(given.data, one.stream)
    second = SECOND_HALF[one.stream]
    setting = Setting(None if given.report else second, sees_price=one.priced, k=given.k)
    follower = candidates(own=one.priced)[one.candidate]
    days = Replay(stream, follower, setting, given.out).play()
    truth = {row.question_id: row.outcome for row in stream.resolutions}
    answered = [forecast for day in days for forecast in day.answered]
    asked = [one for one in answered if (one.question.asked_on >= second) == given.report]
    cut = middle(asked)
    pieces = {
        "whole": asked,
        "early": [one for one in asked if one.question.asked_on < cut],
        "late": [one for one in asked if one.question.asked_on >= cut],
    }
    return {
        "stream": one.stream,
        "seen": "price" if one.priced else "",
        "candidate": one.candidate,
        **{name: _gain(some, truth, priced=one.priced) for name, some in pieces.items()},
    }


def _gain(some: Sequence[Answered], truth: Mapping[str, int], *, priced: bool) -> Row:
    found = gain_over(some, truth, prior=priced)
    return {
        "mean": found.mean,
        "se": found.se,
        "se_dates": found.se_dates,
        "events": found.events,
        "dates": found.dates,
    }


def run_notes(given: argparse.Namespace) -> list[Row]:
    deal(given.data, given.out)
    return _all(partial(_noted, given), list(product((False, True), GUARDS)), given.workers)


def _noted(given: argparse.Namespace, one: tuple[bool, str]) -> Row:
    drawn, candidate = one
    notes = deal(given.data, given.out)
    gains = Play(notes, candidates()[candidate].guard, drawn=drawn).gains()
    dates = [fmean(gains[at : at + A_DATE]) for at in range(0, len(gains), A_DATE)]
    return {
        "form": "one drawn" if drawn else "all scored",
        "candidate": candidate,
        "mean": fmean(gains),
        "se_dates": stdev(dates) / sqrt(len(dates)),
        "first_500": fmean(gains[:500]),
        "last_half": fmean(gains[len(gains) // 2 :]),
    }


def run_worlds(given: argparse.Namespace) -> list[Row]:
    scenarios, seeds = cast("list[str]", given.scenarios), cast("list[int]", given.seeds)
    plays: list[tuple[str, str, int]] = list(product(scenarios, GUARDS, seeds))
    return _all(_captured, plays, given.workers)


def _captured(one: tuple[str, str, int]) -> Row:
    scenario, candidate, seed = one
    world = draw(SCENARIOS[scenario], seed)
    rule = Guarded(world, candidates()[candidate].guard, seed)
    found = measured(world, play(world, rule, head=True))
    return {"scenario": scenario, "candidate": candidate, "seed": seed, **found}


def _all(one: Callable[[Each], Row], tasks: Iterable[Each], workers: int) -> list[Row]:
    rows: list[Row] = []
    with ProcessPoolExecutor(workers) as players:
        for row in players.map(one, tasks):
            rows.append(row)
            print(_line(row), flush=True)
    return rows


def _line(row: Mapping[str, Any]) -> str:
    return "  ".join(f"{name} {_cell(value)}" for name, value in row.items() if value != "")


def _cell(value: object) -> str:
    match value:
        case {"mean": mean, "se": se, "se_dates": se_dates}:
            return f"{mean:+.4f} ± {se:.4f} [{se_dates:.4f}]"
        case float():
            return f"{value:.4f}"
        case _:
            return str(value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.streams")
    kinds = parser.add_subparsers(dest="what", required=True)
    runs: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
        "streams": run_streams,
        "notes": run_notes,
        "worlds": run_worlds,
    }
    made = {name: kinds.add_parser(name) for name in runs}
    for name, one in made.items():
        one.set_defaults(run=runs[name])
        one.add_argument("--out", type=Path, required=True, help="folder for vectors and figures")
        one.add_argument("--workers", type=int, default=1, help="processes")
    for name in ("streams", "notes"):
        made[name].add_argument("--data", type=Path, required=True, help="the folder of the data")
    known = list(candidates())
    made["streams"].add_argument("--candidates", nargs="+", choices=known, default=known)
    made["streams"].add_argument("--k", type=int, default=30, help="memories to pool")
    made["streams"].add_argument("--report", action="store_true", help="second halves instead")
    made["worlds"].add_argument("--seeds", type=int, nargs="+", default=[1000, 1001, 1002, 1003])
    made["worlds"].add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=[*SCENARIOS])
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
