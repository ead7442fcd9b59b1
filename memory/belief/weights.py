"""The scale of a weight: 1 is neutral, nothing goes below the floor or above the ceiling."""

from memory.kernel.errors import Rejected

FLOOR = 0.1


NEUTRAL = 1.0


CEILING = 2.0


PLACES = 3
"""So many experiences are served where the caller does not say (MemCollab's p)."""


def bounded(weight: float) -> float:
    """`weight`, held between floor and ceiling."""
    return min(CEILING, max(FLOOR, weight))


def start_weight(weight: float) -> float:
    """`weight`, if a memory may start there. Raises Rejected; NaN is outside every range."""
    if not FLOOR <= weight <= CEILING:
        raise Rejected(
            f"A start weight lies between {FLOOR} and {CEILING}.",
            field="start_weight",
            limit=[FLOOR, CEILING],
        )
    return weight
