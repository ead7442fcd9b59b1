"""How far each way to order memories was believed, day by day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from memory.belief.rankers import RANKERS


@dataclass(frozen=True, slots=True)
class RankerShares:
    """How far rankers were believed at one time; shares sum to 1."""

    shares: Mapping[str, float]

    @property
    def weighted(self) -> float:
        """The share of rankers that order by weight."""
        return sum(p for name, p in self.shares.items() if RANKERS[name].weighted)

    @property
    def ageing(self) -> float:
        """The share of rankers that count what was learned long ago for less."""
        return sum(p for name, p in self.shares.items() if RANKERS[name].half_life is not None)

    @property
    def first(self) -> tuple[str, float]:
        """The ranker that is believed most."""
        return max(self.shares.items(), key=lambda item: (item[1], item[0]))


@dataclass(frozen=True, slots=True)
class RankerDay:
    """How far rankers were believed at the end of a day on which they were scored."""

    day: date
    believed: RankerShares


@dataclass(frozen=True, slots=True)
class RankerHistory:
    """Of one category, or of the whole namespace, the oldest day first."""

    category: str | None
    days: tuple[RankerDay, ...]
