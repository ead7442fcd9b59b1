"""What `belief` is held to: floors and goods by scenario, limits on the means, nobody far ahead."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.metrics import Target, at_least, at_most

Table = Mapping[str, Mapping[str, Any]]
JUDGED = "belief"
SCENARIOS = (
    "paired_cont",
    "paired_bin",
    "single_cont",
    "single_bin",
    "mixed_bin",
    "delayed",
    "drift",
    "cells",
    "sparse",
    "adversary",
)
MUST = (0.48, 0.28, 0.51, 0.32, 0.34, 0.46, 0.37, 0.45, 0.34, 0.40)
GOOD = (0.63, 0.38, 0.58, 0.39, 0.38, 0.55, 0.55, 0.58, 0.41, 0.55)
GOOD_LAST_QUARTER = (0.70, 0.47, 0.67, 0.48, 0.47, 0.67, 0.63, 0.65, 0.49, 0.63)
ALLOWED = {"head": 0.03, "bank": 0.0}  # the head hides some good memories of the category
BEHIND = 0.03


def targets(table: Table, variant: str) -> list[Target]:
    """All targets of one variant; what was not played is `not_run`."""
    return [*_by_scenario(table, ALLOWED[variant]), *_limits(table), *_against(table)]


def _by_scenario(table: Table, allowed: float) -> Iterator[Target]:
    rows = (("must", "captured", MUST), ("good", "captured", GOOD))
    last = ("good", "last_quarter", GOOD_LAST_QUARTER)
    for word, measure, wanted in (*rows, last):
        for scenario, target in zip(SCENARIOS, wanted, strict=True):
            found = _at(table, JUDGED, measure, scenario, "mean")
            name = f"{word}: {measure}, {scenario}"
            yield at_least(name, round(target - allowed, 2), found, {})


def _limits(table: Table) -> Iterator[Target]:
    yield at_least("auc, mean", 0.75, _at(table, JUDGED, "means", "auc"), {})
    yield at_most("harm, mean", 0.21, _at(table, JUDGED, "means", "harm"), {})
    yield at_most("bounds, mean", 0.10, _at(table, JUDGED, "means", "bounds"), {})
    yield at_most("recovery, tasks", 700.0, _at(table, JUDGED, "drift", "recovery", "mean"), {})
    yield at_most("damage", 0.05, _at(table, JUDGED, "adversary", "damage", "mean"), {})
    served = _at(table, JUDGED, "adversary", "served", "mean")
    yield at_most("owned by the adversary, served", 0.10, served, {})


def _against(table: Table) -> Iterator[Target]:
    """Best on the whole, and nowhere far behind any other."""
    others = [name for name in table if not name.startswith(JUDGED)]
    means = {name: _at(table, name, "means", "captured") for name in others}
    known = {name: mean for name, mean in means.items() if mean is not None}
    if known:
        best, mine = max(known.values()), _at(table, JUDGED, "means", "captured")
        yield at_least("best mean over scenarios", best, mine, known)
    for scenario in SCENARIOS:
        found = {name: _at(table, name, "captured", scenario, "mean") for name in others}
        ahead = {name: mean for name, mean in found.items() if mean is not None}
        mine = _at(table, JUDGED, "captured", scenario, "mean")
        if ahead and mine is not None:
            name = max(ahead, key=lambda other: ahead[other])
            behind = ahead[name] - mine
            yield at_most(f"behind the best other, {scenario}", BEHIND, behind, {name: ahead[name]})


def _at(table: Table, *path: str) -> float | None:
    """A number in the table; None where it was not played."""
    found: Any = table
    for word in path:
        found = found.get(word) if found is not None else None
    return found
