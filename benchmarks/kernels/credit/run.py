"""Plays every rule in every world and keeps one row for each.

OUT/run.json            revision, seeds, scenarios, policies, hardware, load before and after
OUT/measurements.jsonl  {policy, variant, scenario, seed, and each measure}
OUT/summary.json        means with intervals, and targets, computed from the measurements
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks import hardware
from benchmarks.kernels.credit.lineup import LINEUP
from benchmarks.kernels.credit.measures import measured
from benchmarks.kernels.credit.play import play
from benchmarks.kernels.credit.report import Row, summary
from benchmarks.kernels.credit.world import SCENARIOS, Scenario, draw

VARIANTS = ("head", "bank")
"""Weights re-rank the 4 k most similar, as the server does, or rank the whole bank."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is played. Worlds are drawn once for all policies and both variants."""

    seeds: Sequence[int]
    scenarios: Sequence[Scenario]
    policies: Sequence[str]
    workers: int = 1


def run(plan: Plan, out: Path) -> None:
    """Play the plan into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    stamp = {
        "suite": "credit",
        "seeds": list(plan.seeds),
        "scenarios": [scenario.name for scenario in plan.scenarios],
        "policies": list(plan.policies),
        **hardware.stamp(),
        "load_before": hardware.load(),
        "started_at": _now(),
    }
    began, rows = time.monotonic(), list[Row]()
    with (out / "measurements.jsonl").open("w", encoding="utf-8") as file:
        for row in _played(plan):
            file.write(json.dumps(row) + "\n")
            rows.append(row)
    stamp |= {
        "seconds": round(time.monotonic() - began, 1),
        "load_after": hardware.load(),
        "finished_at": _now(),
    }
    _write(out / "run.json", stamp)
    _write(out / "summary.json", {**stamp, **summary(rows)})


def rows_of(scenario: Scenario, seed: int, policies: Iterable[str]) -> list[Row]:
    """Every policy in one world, in both variants."""
    world = draw(scenario, seed)
    names = {"scenario": scenario.name, "seed": seed}
    return [
        {
            "policy": policy,
            "variant": variant,
            **names,
            **measured(world, play(world, LINEUP[policy](world), head=variant == "head")),
        }
        for policy, variant in product(policies, VARIANTS)
    ]


def _played(plan: Plan) -> Iterator[Row]:
    worlds = list(product(plan.scenarios, plan.seeds))
    one = partial(_one, tuple(plan.policies))
    if plan.workers == 1:
        for world in worlds:
            yield from one(world)
        return
    with ProcessPoolExecutor(plan.workers) as players:
        for rows in players.map(one, worlds):
            yield from rows


def _one(policies: tuple[str, ...], world: tuple[Scenario, int]) -> list[Row]:
    return rows_of(*world, policies)


def scenarios_named(names: Sequence[str]) -> list[Scenario]:
    return [SCENARIOS[name] for name in names]


def _write(path: Path, document: Mapping[str, object]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
