"""A small bucket borrows from the next larger one: category, parent, related ones, all."""

from collections.abc import Mapping

ENOUGH = 3
"""A bucket with fewer than this many borrows."""

MULTIPLIERS = (1.0, 0.9, 0.8, 0.7)
"""What a memory counts in the category asked for, in its parent, in those that the taxonomy calls
related, and anywhere else.
"""


def back_off(sizes: Mapping[int, int]) -> dict[int, float]:
    """The buckets to look in, 0 being the exact one, and what a memory counts in each.

    `sizes` says how many memories are in each bucket and not in a nearer one.
    """
    opened: dict[int, float] = {}
    held = 0
    for bucket, multiplier in enumerate(MULTIPLIERS):
        opened[bucket] = multiplier
        held += sizes.get(bucket, 0)
        if held >= ENOUGH:
            break
    return opened
