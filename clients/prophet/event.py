"""What is to be forecast: an event in one of its windows, as every part of this package sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

YES, NO = "Yes", "No"
COIN = 0.5

Probabilities = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Event:
    """One question with named outcomes.

    exclusive: exactly one outcome comes true. crowd: probabilities others gave, empty where there
    are none or they are hidden. asked_at: when the question is put, in a replay; None is now.
    """

    slug: str
    title: str
    outcomes: tuple[str, ...]
    exclusive: bool = True
    category: str | None = None
    rules: str | None = None
    closes_at: datetime | None = None
    window: int = 0
    crowd: Probabilities = field(default_factory=dict[str, float])
    sources: tuple[str, ...] = ()
    asked_at: datetime | None = None

    @property
    def key(self) -> str:
        """The window's name, as the memory server keeps it."""
        return f"{self.slug}#{self.window}"

    @property
    def affirmative(self) -> str:
        """The outcome that a single probability is about: Yes, else the first."""
        return next((name for name in self.outcomes if same(name, YES)), self.outcomes[0])

    def without_prices(self) -> "Event":
        return replace(self, crowd={})

    def by_crowd(self) -> dict[str, float] | None:
        """The crowd's probabilities, where it has one for every outcome."""
        found = {folded(name): p for name, p in self.crowd.items()}
        named = {name: found.get(folded(name)) for name in self.outcomes}
        known = {name: p for name, p in named.items() if p is not None and 0 <= p <= 1}
        return known if len(known) == len(named) else None

    def evenly(self) -> dict[str, float]:
        """As one would guess who knows nothing: alike, where one comes true, else one half."""
        alike = self.exclusive and len(self.outcomes) > 1
        return dict.fromkeys(self.outcomes, 1 / len(self.outcomes) if alike else COIN)


def folded(name: str) -> str:
    """Names that differ in case or space are the same outcome."""
    return " ".join(name.split()).casefold()


def same(one: str, other: str) -> bool:
    return folded(one) == folded(other)
