"""Which runs went badly enough to learn from: the worst of a batch.

After Live-Evo (arXiv 2602.02369): the worst 30 % of a batch by the reward with memory. Tasks that
stand or fall together count as one, or an event asked about ten times would be ten failures.
"""

from collections.abc import Sequence
from math import ceil
from uuid import UUID

from memory.domain.verification import Run

WORST = 0.3
WINDOW = 50
"""A stream has no batches: each run is held against the last so many."""


def worst(runs: Sequence[Run]) -> list[Run]:
    """The worst ⌈.3 n⌉ of n task groups, each by its worst run; worst first, ties by id."""
    lowest: dict[str, Run] = {}
    for run in sorted(runs, key=_badness):
        lowest.setdefault(run.group, run)
    # The product is rounded first: .3 times 10 must be 3, whatever the last bit says.
    return list(lowest.values())[: ceil(round(WORST * len(lowest), 9))]


def failures(before: Sequence[Run], fresh: Sequence[Run]) -> list[Run]:
    """Which of the fresh runs are among the worst of their window; both in order of arrival.

    `before` are runs that were looked at already: they fill the first windows. A task that comes
    again is judged by how it went this time.
    """
    every = [*before[-WINDOW:], *fresh]
    found: dict[str, Run] = {}
    for start in range(len(every) - len(fresh), len(every), WINDOW):
        end = min(start + WINDOW, len(every))
        own = set(every[start:end])
        groups = {run.group for run in own}
        earlier = [run for run in every[max(0, end - WINDOW) : start] if run.group not in groups]
        for run in worst([*earlier, *own]):
            if run in own:
                found.setdefault(run.group, run)
    return list(found.values())


def _badness(run: Run) -> tuple[float, UUID]:
    return run.reward, run.id
