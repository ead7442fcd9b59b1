"""Suite `soak`: two processes, callers that do everything, kills; what was lost is a figure.

OUT/run.json            the plan, revision, hardware, load before and after
OUT/measurements.jsonl  operations by kind and status, violations, kills, exact rebuilds
OUT/summary.json        figures and targets, the violations in words
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import harness, metrics
from benchmarks.metrics import Target
from benchmarks.soak.run import NAMESPACES, Plan, Soaked, soak
from benchmarks.streams.artefacts import write_lines

NAME = "soak"
VIOLATIONS, REBUILDS, KILLS = "violations", "rebuilds that are exact", "kills"


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    usual = Plan()
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument("--operations", type=int, default=usual.operations)
    parser.add_argument("--callers", type=int, default=usual.callers)
    parser.add_argument("--kills", type=int, default=usual.kills)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--rounds", type=int, default=usual.rounds)


def run(given: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Soak, keep what was counted, and say what it amounts to."""
    names = ("operations", "callers", "kills", "seed", "rounds")
    stamp = harness.opening(NAME, {name: getattr(given, name) for name in names})
    plan = Plan(given.operations, given.callers, given.kills, given.seed, given.rounds)
    soaked = soak(plan, say)
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    found = numbers(soaked)
    write_lines(
        out / harness.MEASUREMENTS,
        ({"operation": name, "value": value, "unit": ""} for name, value in found.items()),
    )
    stamp |= harness.closing()
    harness.write(out / "run.json", stamp)
    aims = targets(found, plan)
    harness.write(
        out / "summary.json",
        {
            **stamp,
            "numbers": found,
            "targets": metrics.written(aims),
            "complaints": soaked.tally.complaints(),
            "rebuilds": list(soaked.rebuilds),
        },
    )
    for line in soaked.lines():
        say(line)
    for target in aims:
        say(f"{target.name}: {target.measured:g}, target {target.target:g}: {target.status}")


def numbers(soaked: Soaked) -> dict[str, float]:
    """Every count by name: `KIND, STATUS` of the operations, then what decides."""
    counts = {
        f"{kind}, {status or 'lost'}": float(times)
        for (kind, status), times in sorted(soaked.tally.counts.items())
    }
    exact = sum("'exact': True" in line for line in soaked.rebuilds)
    return counts | {
        "operations": float(soaked.tally.done),
        "seconds": soaked.seconds,
        KILLS: float(soaked.kills),
        REBUILDS: float(exact),
        VIOLATIONS: float(soaked.tally.wrong),
    }


def targets(found: Mapping[str, float], plan: Plan) -> list[Target]:
    """Nothing acknowledged is lost, and every namespace is the fold of its ledger."""
    parts = {name: found[name] for name in ("operations", "seconds")}
    return [
        metrics.at_most(VIOLATIONS, 0.0, found[VIOLATIONS], parts),
        metrics.at_least(REBUILDS, float(len(NAMESPACES)), found[REBUILDS], {}),
        metrics.at_least(KILLS, float(plan.kills), found[KILLS], {}),
    ]
