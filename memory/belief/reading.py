"""What one reward tells of two unknowns: what memory adds in a cell, and what is reached without.

A policy says how an outcome reads them; strength learns from the readings.
"""

from dataclasses import dataclass
from math import isfinite

from memory.kernel.errors import Rejected


@dataclass(frozen=True, slots=True)
class Reading:
    """`value` is `on` times what memory adds, plus `base` times the baseline, plus noise.

    `noise` is the variance of what neither explains.
    """

    value: float
    on: float
    base: float
    noise: float

    def __post_init__(self) -> None:
        if not all(map(isfinite, (self.value, self.on, self.base, self.noise))):
            raise Rejected("A reading is made of finite numbers.", field="reading")
        if self.noise <= 0.0:
            raise Rejected("A reading has a positive variance.", field="reading")
