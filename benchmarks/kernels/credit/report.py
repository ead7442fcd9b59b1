"""From rows to means with intervals, tables and targets: pure, so a sharper figure needs no run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from benchmarks.kernels.credit.measures import Mean, mean_of
from benchmarks.kernels.credit.targets import targets
from benchmarks.metrics import written

Row = Mapping[str, object]
Means = Mapping[str, Mean]  # by scenario
HONEST_TWIN = "adversary_honest"
MEASURES = ("captured", "last_quarter", "auc", "harm", "bounds")
WITH_DRIFT = ("before", "after", "recovery")


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """Means over seeds by variant, policy and measure, and which targets `belief` meets."""
    tables = {variant: _table(rows, variant) for variant in _named(rows, "variant")}
    return {
        "tables": tables,
        "targets": {variant: written(targets(table, variant)) for variant, table in tables.items()},
    }


def _table(rows: Sequence[Row], variant: str) -> dict[str, dict[str, object]]:
    mine = [row for row in rows if row["variant"] == variant]
    return {policy: _figures(mine, policy) for policy in _named(mine, "policy")}


def _figures(rows: Sequence[Row], policy: str) -> dict[str, object]:
    mine = [row for row in rows if row["policy"] == policy]
    figures: dict[str, object] = {
        measure: {s: _plain(m) for s, m in by_scenario(mine, measure).items()}
        for measure in MEASURES
    }
    # The honest twin is there to be compared with; it is not one of the ten.
    ten = [row for row in mine if row["scenario"] != HONEST_TWIN]
    figures["means"] = {m: _overall(ten, m) for m in MEASURES}
    figures["drift"] = {m: _plain(x) for m in WITH_DRIFT for x in by_scenario(mine, m).values()}
    served = by_scenario(mine, "owned_served")
    figures["adversary"] = {
        "damage": _damage(mine),
        "served": _plain(served["adversary"]) if "adversary" in served else None,
    }
    return figures


def by_scenario(rows: Iterable[Row], measure: str) -> Means:
    """The mean over seeds in each scenario where the measure has a meaning."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row[measure] is not None:
            found.setdefault(str(row["scenario"]), []).append(cast("float", row[measure]))
    return {scenario: mean_of(numbers) for scenario, numbers in found.items()}


def _overall(rows: Sequence[Row], measure: str) -> float | None:
    means = [one.mean for one in by_scenario(rows, measure).values()]
    return float(np.mean(means)) if means else None


def _damage(rows: Sequence[Row]) -> dict[str, float] | None:
    """What the lies cost, seed by seed."""
    captured = {(row["scenario"], row["seed"]): cast("float", row["captured"]) for row in rows}
    seeds = [seed for scenario, seed in captured if scenario == HONEST_TWIN]
    pairs = [(captured[HONEST_TWIN, s], captured.get(("adversary", s))) for s in seeds]
    lost = [honest - lying for honest, lying in pairs if lying is not None]
    return _plain(mean_of(lost)) if lost else None


def _plain(mean: Mean) -> dict[str, float]:
    return {"mean": mean.mean, "half": mean.half, "n": mean.n}


def _named(rows: Iterable[Row], column: str) -> list[str]:
    return list(dict.fromkeys(str(row[column]) for row in rows))
