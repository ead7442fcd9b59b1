"""`python -m benchmarks.kernels.credit --out DIR`: the whole table, and the targets."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.kernels.credit.lineup import LINEUP, USUAL
from benchmarks.kernels.credit.run import Plan, run, scenarios_named
from benchmarks.kernels.credit.world import SCENARIOS


def main(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    run(
        Plan(given.seeds, scenarios_named(given.scenarios), given.policies, given.workers),
        given.out,
    )
    for line in told(json.loads((given.out / "summary.json").read_text(encoding="utf-8"))):
        print(line)
    return 0


def told(summary: Mapping[str, Any]) -> Iterator[str]:
    """The summary for people."""
    for variant, table in summary["tables"].items():
        yield f"\n{variant}: captured, and half its 95 % interval"
        yield f"{'':<20}" + "".join(f"{s[:11]:>12}" for s in summary["scenarios"]) + f"{'mean':>8}"
        yield from (_captured(name, row, summary["scenarios"]) for name, row in table.items())
        yield f"\n{'':<20}{'last q.':>8}{'auc':>8}{'harm':>8}{'bounds':>8}  drift; adversary"
        yield from (_rest(name, row) for name, row in table.items())
        yield f"\n{variant}: targets"
        for target in summary["targets"][variant]:
            found = _number(target["measured"], ".3f")
            yield f"{target['name']:<44}{target['target']:>8.3f}{found:>8}  {target['status']}"


def _captured(name: str, row: Mapping[str, Any], scenarios: Sequence[str]) -> str:
    found = [row["captured"][s] for s in scenarios]
    cells = "".join(f"{one['mean']:>7.2f} ±{one['half']:.2f}" for one in found)
    return f"{name:<20}{cells}{_number(row['means']['captured'], '.3f'):>8}"


def _rest(name: str, row: Mapping[str, Any]) -> str:
    means, drift, adversary = row["means"], row["drift"], row["adversary"]
    line = f"{name:<20}" + "".join(
        f"{_number(means[m], '.3f'):>8}" for m in ("last_quarter", "auc", "harm", "bounds")
    )
    if drift:
        recovery = f"{drift['recovery']['mean']:.0f} ±{drift['recovery']['half']:.0f}"
        line += f"  {drift['before']['mean']:.2f} → {drift['after']['mean']:.2f}, {recovery}"
    if adversary["damage"]:
        damage, served = adversary["damage"], adversary["served"]
        line += f"; damage {damage['mean']:.3f} ±{damage['half']:.3f}, served {served['mean']:.2f}"
    return line


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _seeds(words: str) -> list[int]:
    """`0-23` or `0,4,7`."""
    first, dash, last = words.partition("-")
    if dash:
        return list(range(int(first), int(last) + 1))
    return [int(word) for word in words.split(",")]


def _names(words: str) -> list[str]:
    return words.split(",")


def _known(known: Mapping[str, object]) -> "type[argparse.Action]":
    class Known(argparse.Action):
        def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> None:
            namespace, names, *_ = given
            strange = [name for name in names if name not in known]
            if strange:
                parser.error(f"there is no {strange[0]}; there are {', '.join(known)}")
            setattr(namespace, self.dest, names)

    return Known


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.credit")
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument("--seeds", type=_seeds, default=list(range(24)), help="0-23 or 0,4,7")
    parser.add_argument(
        "--scenarios", type=_names, default=list(SCENARIOS), action=_known(SCENARIOS)
    )
    parser.add_argument("--policies", type=_names, default=list(USUAL), action=_known(LINEUP))
    parser.add_argument("--workers", type=int, default=1, help="processes")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
