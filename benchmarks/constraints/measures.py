"""What admitted constraints are worth on tasks that were not used to admit them. Pure."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memory.constraints.checks.trials import ComparedRuns, TriedRun, compare_runs

DRAWS = 2_000
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Telling:
    """What a constraint says on one task: 1 where the failing run alone violates it, -1 where the
    winning run alone does. `kind`: served, not admitted, or of another bucket.
    """

    task: str
    bucket: str
    name: str
    kind: str
    sign: int


SERVED, REFUSED, FOREIGN = "served", "not_admitted", "other_bucket"


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with the limits between which it lies in 95 of 100 draws of the tasks."""

    value: float
    low: float
    high: float


def tellings(
    held: Mapping[str, Sequence[TriedRun]], names: Mapping[str, Mapping[str, str]]
) -> list[Telling]:
    """What each named check says on the held tasks of each bucket; `names`: kind by bucket and
    name.
    """
    found: list[Telling] = []
    for bucket, runs in held.items():
        for task, pairs in compare_runs(runs).items():
            for name, kind in names[bucket].items():
                sign = balance(pairs, name)
                if sign:
                    found.append(Telling(task, bucket, name, kind, sign))
    return found


def balance(pairs: Sequence[ComparedRuns], name: str) -> int:
    """On which side most pairs of a task are: 1, -1, or 0."""
    total = sum(pair.difference(name) or 0 for pair in pairs)
    return (total > 0) - (total < 0)


def odds(found: Sequence[Telling]) -> float:
    """Failing to winning, pooled; half a case is added to each so that it is finite."""
    failing = sum(one.sign > 0 for one in found)
    return (failing + 0.5) / (len(found) - failing + 0.5)


def share(found: Sequence[Telling]) -> float:
    """Failing among all that tell; half where nothing does."""
    return sum(one.sign > 0 for one in found) / len(found) if found else 0.5


def difference(found: Sequence[Telling]) -> float:
    """The share of served constraints less that of the others, from .5."""
    served = [one for one in found if one.kind == SERVED]
    others = [one for one in found if one.kind != SERVED]
    return 0.5 + share(served) - share(others)


def drawn(found: Sequence[Telling], figure: Callable[[Sequence[Telling]], float]) -> Interval:
    """A figure with its interval, by drawing whole tasks with replacement."""
    tasks: dict[str, list[Telling]] = defaultdict(list)
    for one in found:
        tasks[one.task].append(one)
    clusters = list(tasks.values())
    draw = np.random.default_rng(0)
    values: list[float] = []
    for _ in range(DRAWS if clusters else 0):
        chosen = draw.integers(0, len(clusters), len(clusters))
        values.append(figure([one for place in chosen for one in clusters[place]]))
    low, high = np.quantile(values, [LEVEL / 2, 1 - LEVEL / 2]) if values else (0.0, 0.0)
    return Interval(figure(found), float(low), float(high))


def signs_held(found: Sequence[Telling]) -> float | None:
    """The share of served constraints that more failing than winning runs violate; one that tells
    nothing does not hold.
    """
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for one in found:
        if one.kind == SERVED:
            sums[one.bucket, one.name] += one.sign
    return sum(total > 0 for total in sums.values()) / len(sums) if sums else None
