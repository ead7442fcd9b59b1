"""Guards where one ranker is drawn: all they see is its loss, by how rarely it is drawn."""

import random
from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.kernels.streams.guards import Guard
from memory.belief.guard import sampled_losses
from memory.belief.rankers import DRAW_FLOOR, Draw

_FLOORS = 0.10  # of all experts together, as of the ten rankers


def draw_expert(guard: Guard, category: str, day: int, chance: random.Random) -> Draw:
    """One of the guard's experts, each at least so often that its loss can be weighed."""
    shares = guard.shares(category, day)
    floor = min(DRAW_FLOOR, _FLOORS / len(shares))
    some = {expert: floor + (1.0 - floor * len(shares)) * p for expert, p in shares.items()}
    [drawn] = chance.choices(list(some), list(some.values()))
    return Draw(drawn, MappingProxyType(some))


def shown(draw: Draw, reward: float, usual: float) -> Mapping[str, float]:
    """What the guard is shown of all: nothing of those that were not drawn."""
    losses = sampled_losses(draw, reward, usual)
    return {expert: loss or 0.0 for expert, loss in losses.items()}
