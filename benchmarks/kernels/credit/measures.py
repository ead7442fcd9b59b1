"""What came of a play, measured against the truth: pure functions of worlds and served sets."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from benchmarks.kernels.credit.play import Played
from benchmarks.kernels.credit.world import Floats, Ints, World

HARM = -0.01  # a served effect below this is harm
LOW, HIGH = 0.12, 1.95  # a weight outside sits at a bound
WINDOW, STEP = 100, 20
BEFORE = 400
REGAINED = 0.70
NEVER = 2000


def measured(world: World, played: Played) -> dict[str, float | None]:
    """Every measure of one play; None where it has no meaning."""
    honest = world.honest
    lift, best = world.lift(played.served) * honest, world.best * honest
    tasks = world.scenario.tasks
    owned = np.array([world.owned(m) for m in range(world.effects.shape[1])])
    before, after, recovery = drift(lift, best, world.scenario.flips_at)
    return {
        "captured": captured(lift, best),
        "last_quarter": captured(lift[-tasks // 4 :], best[-tasks // 4 :]),
        "auc": auc_by_agent(world, played.values),
        "harm": served_where(world.effects < HARM, played.served[honest], honest),
        "bounds": None if played.weights is None else at_bounds(played.weights),
        "before": before,
        "after": after,
        "recovery": recovery,
        "owned_served": served_where(
            np.broadcast_to(owned, world.effects.shape), played.served[honest], honest
        ),
    }


def captured(lift: Floats, best: Floats) -> float:
    """The share of what the best sets would have added."""
    return float(lift.sum() / best.sum())


def auc_by_agent(world: World, values: Floats) -> float:
    tasks = world.scenario.tasks
    worth = [world.worth(agent, tasks - 1) for agent in range(len(values))]
    return float(np.mean([auc(v, w) for v, w in zip(values, worth, strict=True)]))


def auc(values: Floats, worth: Floats) -> float:
    """P(a memory of a better class, helpful over neutral over harmful, has the larger value)."""
    kind = np.sign(worth)
    better = kind[:, None] > kind[None, :]
    above = np.sign(values[:, None] - values[None, :])[better]
    return float((above + 1.0).mean() / 2.0)


def at_bounds(weights: Floats) -> float:
    return float(((weights <= LOW) | (weights >= HIGH)).mean())


def served_where(wanted: np.ndarray, served: Ints, rows: np.ndarray) -> float:
    """How many of the served, a task, are `wanted`, a flag a task and memory."""
    there = served >= 0
    flags = np.take_along_axis(wanted[rows], np.where(there, served, 0), axis=1)
    return float((flags & there).sum() / len(served))


def drift(
    lift: Floats, best: Floats, flips_at: int | None
) -> tuple[float | None, float | None, float | None]:
    """Captured just before the change, after it, and how many tasks until most is regained."""
    if flips_at is None:
        return None, None, None
    window = slice(flips_at - BEFORE, flips_at)
    before = captured(lift[window], best[window])
    after = captured(lift[flips_at:], best[flips_at:])
    for start in range(flips_at, len(lift) - WINDOW + 1, STEP):
        seen = slice(start, start + WINDOW)
        if captured(lift[seen], best[seen]) >= REGAINED * before:
            return before, after, float(start + WINDOW - flips_at)
    return before, after, float(NEVER)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds, and half the width of its 95 % interval."""

    mean: float
    half: float
    n: int


def mean_of(numbers: list[float]) -> Mean:
    n = len(numbers)
    spread = float(np.std(numbers, ddof=1)) if n > 1 else float("nan")
    return Mean(float(np.mean(numbers)), 1.96 * spread / sqrt(n), n)
