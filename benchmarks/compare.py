"""Two runs side by side, their figures computed anew from what was stored."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks import metrics
from benchmarks.harness import read_rows


def compare(first: Path, second: Path) -> Iterator[str]:
    """A line for each figure that both have: before, after, and after over before."""
    before, after = metrics.table(read_rows(first)), metrics.table(read_rows(second))
    yield f"{'':<24}{'p50':>10}{'':>10}{'':>8}{'p95':>10}{'':>10}{'':>8}"
    yield f"{'':<24}" + f"{'A ms':>10}{'B ms':>10}{'B/A':>8}" * 2
    for name in sorted(before.keys() & after.keys()):
        a, b = before[name], after[name]
        yield f"{name:<24}{_pair(a.p50, b.p50)}{_pair(a.p95, b.p95)}"
    yield from _numbers(first, second)


def _numbers(first: Path, second: Path) -> Iterator[str]:
    before, after = metrics.numbers(read_rows(first)), metrics.numbers(read_rows(second))
    for name in sorted(before.keys() & after.keys()):
        a, b = before[name], after[name]
        yield f"{name:<24}{a:>14.0f}{b:>14.0f}{_ratio(a, b)}"


def _pair(a: float, b: float) -> str:
    return f"{a:>10.2f}{b:>10.2f}{_ratio(a, b)}"


def _ratio(a: float, b: float) -> str:
    return f"{b / a:>8.2f}" if a else f"{'-':>8}"
