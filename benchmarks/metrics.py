"""Figures over stored measurements: pure, so a sharper figure needs no new run."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import floor
from pathlib import Path
from statistics import fmean
from typing import Literal, cast

Status = Literal["met", "missed", "not_run"]
# One line of measurements.jsonl: a timing {operation, concurrency, at, ms, ok} or a number
# {operation, value, unit}.
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Figures:
    """One operation at one concurrency; times in milliseconds, `rate` in answers a second."""

    n: int
    failed: int
    p50: float
    p95: float
    p99: float
    mean: float
    rate: float


@dataclass(frozen=True, slots=True)
class Target:
    """What was aimed at and what was measured; `parts` are the numbers it was made from, `reason`
    says why it was not run.
    """

    name: str
    target: float
    measured: float | None
    status: Status
    parts: Mapping[str, float]
    reason: str = ""


def percentile(numbers: Sequence[float], share: float) -> float:
    """The value below which `share` (0…1) of the numbers lie, linear between neighbours. Raises
    ValueError when there are none.
    """
    if not numbers:
        raise ValueError("there is no percentile of nothing")
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    low = floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def timings(rows: Iterable[Row], operation: str, concurrency: int) -> list[Row]:
    return [r for r in rows if (r["operation"], r.get("concurrency")) == (operation, concurrency)]


def figures(rows: Sequence[Row]) -> Figures:
    """Of timings of one operation. Failed ones count as failed and not in the times."""
    good = [cast("float", row["ms"]) for row in rows if row["ok"]]
    if not good:
        return Figures(len(rows), len(rows), *(float("nan"),) * 5)
    return Figures(
        n=len(rows),
        failed=len(rows) - len(good),
        p50=percentile(good, 0.50),
        p95=percentile(good, 0.95),
        p99=percentile(good, 0.99),
        mean=fmean(good),
        rate=_rate(rows),
    )


def table(rows: Sequence[Row]) -> dict[str, Figures]:
    """Figures of every operation and concurrency, named `operation@concurrency`."""
    pairs = dict.fromkeys(
        (str(row["operation"]), cast("int", row["concurrency"])) for row in rows if "ms" in row
    )
    return {f"{name}@{at}": figures(timings(rows, name, at)) for name, at in pairs}


def numbers(rows: Iterable[Row]) -> dict[str, float]:
    """The single numbers, by name; of several, the last."""
    return {str(row["operation"]): cast("float", row["value"]) for row in rows if "value" in row}


def numbers_of(file: str) -> dict[str, float]:
    """The single numbers of a file of measurements, one a line."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return numbers([json.loads(line) for line in lines])


def at_most(name: str, target: float, measured: float | None, parts: Mapping[str, float]) -> Target:
    """A target that is met by anything up to it, and not run where nothing was measured."""
    if measured is None:
        return Target(name, target, None, "not_run", parts)
    return Target(name, target, measured, "met" if measured <= target else "missed", parts)


def at_least(
    name: str, target: float, measured: float | None, parts: Mapping[str, float]
) -> Target:
    """A target that is met by anything from it upward, and not run where nothing was measured."""
    if measured is None:
        return Target(name, target, None, "not_run", parts)
    return Target(name, target, measured, "met" if measured >= target else "missed", parts)


def not_run(name: str, target: float, reason: str) -> Target:
    """A target that this machine cannot speak to."""
    return Target(name, target, None, "not_run", {}, reason)


def written(targets: Iterable[Target]) -> list[dict[str, object]]:
    return [asdict(target) for target in targets]


def _rate(rows: Sequence[Row]) -> float:
    """Answers a second from the first start to the last end."""
    starts = [cast("float", row["at"]) for row in rows]
    ends = [cast("float", row["at"]) + cast("float", row["ms"]) / 1000 for row in rows]
    span = max(ends) - min(starts)
    return len(rows) / span if span > 0 else float("nan")
