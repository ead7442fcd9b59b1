"""Scores of forecasts and how sure one can be of their differences: pure arithmetic.

Every event counts once, however many forecasts it has: forecasts of one event stand or fall
together, so events are the units of the intervals too.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from math import sqrt
from statistics import fmean, stdev

NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Scored:
    """A forecast that has been resolved: `probability` by contestant, in [0, 1]."""

    event_id: str
    source: str
    week: date
    outcome: int
    probability: dict[str, float]

    def loss(self, contestant: str) -> float:
        """The squared error: the Brier score of one forecast."""
        return (self.probability[contestant] - self.outcome) ** 2


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean over events with its 95 % interval (None with fewer than two events)."""

    mean: float
    half_width: float | None
    events: int

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.half_width is None:
            return None
        return self.mean - self.half_width, self.mean + self.half_width


def brier(rows: Sequence[Scored], contestant: str) -> float:
    """Mean over events of the event's mean squared error."""
    return fmean(_by_event(rows, lambda row: row.loss(contestant)))


def by_week(rows: Iterable[Scored]) -> list[tuple[date, list[Scored]]]:
    """The rows of each week, weeks in order."""
    weeks: dict[date, list[Scored]] = {}
    for row in rows:
        weeks.setdefault(row.week, []).append(row)
    return sorted(weeks.items())


def by_source(rows: Iterable[Scored]) -> list[tuple[str, list[Scored]]]:
    """The rows of each source, sources by name."""
    sources: dict[str, list[Scored]] = {}
    for row in rows:
        sources.setdefault(row.source, []).append(row)
    return sorted(sources.items())


def paired(rows: Sequence[Scored], contestant: str, other: str) -> Difference:
    """How much `contestant` scores above `other` on the same forecasts; below 0 is better."""
    gaps = _by_event(rows, lambda row: row.loss(contestant) - row.loss(other))
    width = NORMAL_95 * stdev(gaps) / sqrt(len(gaps)) if len(gaps) > 1 else None
    return Difference(fmean(gaps), width, len(gaps))


def _by_event(rows: Iterable[Scored], number: Callable[[Scored], float]) -> list[float]:
    events: dict[str, list[float]] = {}
    for row in rows:
        events.setdefault(row.event_id, []).append(number(row))
    return [fmean(numbers) for numbers in events.values()]
