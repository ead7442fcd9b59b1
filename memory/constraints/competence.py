"""How good an agent is at a category, from its verified runs: a mean that few runs cannot move
far from the category's own.
"""

from collections.abc import Mapping
from uuid import UUID

Cell = tuple[UUID, UUID]
"""Agent and category."""


Counts = Mapping[Cell, tuple[int, float]]
"""Verified runs of a cell, and the sum of their rewards."""


KAPPA = 5.0
"""So many runs at the category's mean stand before an agent's own."""


UNKNOWN = 0.5
"""The mean of a category in which nobody has run."""


def shrunken(counts: Counts) -> dict[Cell, float]:
    """(total + κ m) / (n + κ) with κ = 5, m the mean reward of the category's runs by all agents.

    Who is not in `counts` has the category's mean, see `means`.
    """
    means_of = means(counts)
    return {
        (agent, category): (total + KAPPA * means_of[category]) / (n + KAPPA)
        for (agent, category), (n, total) in counts.items()
    }


def means(counts: Counts) -> dict[UUID, float]:
    """The mean reward of each category, whoever ran; .5 where nobody did."""
    sums: dict[UUID, tuple[int, float]] = {}
    for cell in sorted(counts):
        n, total = counts[cell]
        runs, rewards = sums.get(cell[1], (0, 0.0))
        sums[cell[1]] = (runs + n, rewards + total)
    return {
        category: rewards / runs if runs else UNKNOWN for category, (runs, rewards) in sums.items()
    }
