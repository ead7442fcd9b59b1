"""What the rows of an attack run amount to: pure, so that a sharper figure needs no new run.

A row is {operation, value, unit, attack, seed}, or a timing of the front door.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, cast

from benchmarks import metrics
from benchmarks.attack.front_door import CROWDED, QUIET
from benchmarks.metrics import Row, Target

MOVE = 0.5
SHARE_FALL = 0.10
AUC_FALL = 0.02
P95_MS = 200.0
P95_RATIO = 2.0
PLACES = 1.0
BEYOND = "beyond_"
"""Before the figures of attacks that the targets are not about."""
START = 1.0

Pool = Literal["largest", "largest mean over seeds", "sum"]


@dataclass(frozen=True, slots=True)
class Aim:
    """A target over one figure of all attacks that have it."""

    name: str
    figure: str
    target: float
    pool: Pool


AIMS = (
    Aim("largest move of another author's memory by one key", "move", MOVE, "largest"),
    Aim("largest lift of a party's own memory by itself", "own_lift", MOVE, "largest"),
    Aim(
        "fall of the share of others' retrievals that serve an attacked memory",
        "share_fall",
        SHARE_FALL,
        "largest mean over seeds",
    ),
    Aim(
        "the same after the keys were rolled back",
        "share_fall_undone",
        SHARE_FALL,
        "largest mean over seeds",
    ),
    Aim("fall of AUC good > bad by one key", "auc_fall", AUC_FALL, "largest"),
    Aim("claims above the key's that were taken", "claims_accepted", 0.0, "sum"),
    Aim("reports under foreign receipts that were taken", "foreign_reports_accepted", 0.0, "sum"),
    Aim("retrievals served what only its own party proved", "own_proofs_served", 0.0, "sum"),
    Aim("categories locked by what teaches nothing", "categories_locked", 0.0, "sum"),
    Aim("categories still locked after a rollback", "locked_after_rollback", 0.0, "sum"),
    Aim("pairs displaced by what teaches nothing", "pairs_displaced", 0.0, "sum"),
    Aim("private words read", "private_words_read", 0.0, "sum"),
    Aim("places of one retrieval that look-alikes fill", "places_filled", PLACES, "largest"),
    Aim("largest start weight of an agent's memory", "start_weight", START, "largest"),
)


def targets(rows: Sequence[Row]) -> list[Target]:
    """All targets; `parts` have the figure of each attack and seed, or what a time is made of."""
    return [*(_aimed(aim, rows) for aim in AIMS), _constraints(rows), *_front_door(rows)]


def _aimed(aim: Aim, rows: Sequence[Row]) -> Target:
    found = figures(rows, aim.figure)
    pooled = POOLS[aim.pool](found) if found else None
    return metrics.at_most(aim.name, aim.target, pooled, _parts(found))


def _constraints(rows: Sequence[Row]) -> Target:
    """Zero means something only where honest runs do make a constraint."""
    found, honest = figures(rows, "constraints_activated"), figures(rows, "constraints_honest")
    works = bool(honest) and all(number > 0 for number in honest.values())
    measured = sum(found.values()) if found and works else None
    parts = _parts(found) | {f"honest {name}": value for name, value in _parts(honest).items()}
    return metrics.at_most("constraints activated", 0.0, measured, parts)


def _front_door(rows: Sequence[Row]) -> list[Target]:
    quiet, crowded = (metrics.timings(rows, name, 1) for name in (QUIET, CROWDED))
    name = "p95 of a legitimate caller in the crowd / the larger of twice the quiet one and 200 ms"
    refused = float(sum(not row["ok"] for row in crowded)) if crowded else None
    times = [[cast("float", row["ms"]) for row in some if row["ok"]] for some in (quiet, crowded)]
    if not all(times):
        return [
            metrics.at_most(name, 1.0, None, {}),
            metrics.at_most("legitimate calls refused in the crowd", 0.0, refused, {}),
        ]
    usual, then = (metrics.percentile(some, 0.95) for some in times)
    parts = {"quiet p95 ms": usual, "crowded p95 ms": then}
    return [
        metrics.at_most(name, 1.0, then / max(P95_RATIO * usual, P95_MS), parts),
        metrics.at_most("legitimate calls refused in the crowd", 0.0, refused, {}),
    ]


def figures(rows: Sequence[Row], figure: str) -> dict[tuple[str, int], float]:
    """One figure by attack and seed, without the world that nobody attacked."""
    return {
        (str(row["attack"]), cast("int", row["seed"])): cast("float", row["value"])
        for row in rows
        if row.get("figure") == figure and row.get("attack") != "none"
    }


def _largest_mean(found: Mapping[tuple[str, int], float]) -> float:
    by_attack: dict[str, list[float]] = {}
    for (attack, _), value in found.items():
        by_attack.setdefault(attack, []).append(value)
    return max(fmean(values) for values in by_attack.values())


POOLS: Mapping[Pool, Callable[[Mapping[tuple[str, int], float]], float]] = {
    "largest": lambda found: max(found.values()),
    "largest mean over seeds": _largest_mean,
    "sum": lambda found: sum(found.values()),
}


def _parts(found: Mapping[tuple[str, int], float]) -> dict[str, float]:
    return {f"{attack} {seed}": value for (attack, seed), value in found.items()}
