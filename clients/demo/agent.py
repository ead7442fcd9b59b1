"""The analog forecaster: a deterministic agent that answers as similar past questions came out.

Without memory it knows the running YES rate of a question's source. With memory it moves that rate
toward the outcomes of what was retrieved, each counting by its score.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

KAPPA = 3.0
PSEUDO_COUNTS = 2.0


@dataclass(frozen=True, slots=True)
class Analog:
    """One past question: its outcome (0 or 1) and how much it counts (≥ 0)."""

    score: float
    outcome: int


@dataclass(slots=True)
class Rates:
    """Running YES rates, in all and by source, of the outcomes known so far."""

    total: int = 0
    yes: int = 0
    by_source: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def learn(self, source: str, outcome: int) -> None:
        total, yes = self.by_source.get(source, (0, 0))
        self.by_source[source] = (total + 1, yes + outcome)
        self.total += 1
        self.yes += outcome

    def prior(self, source: str) -> float:
        """The source's rate, with the rate of all sources worth two outcomes of its own; that one
        starts from a YES and a NO, so it is one half before any outcome is known.
        """
        overall = (self.yes + 1) / (self.total + 2)
        total, yes = self.by_source.get(source, (0, 0))
        return (yes + PSEUDO_COUNTS * overall) / (total + PSEUDO_COUNTS)


def forecast(prior: float, analogs: Iterable[Analog], kappa: float = KAPPA) -> float:
    """(κ prior + Σ score · outcome) / (κ + Σ score): the prior counts as much as κ analogs of
    score 1.
    """
    weighed, total = kappa * prior, kappa
    for analog in analogs:
        weighed += analog.score * analog.outcome
        total += analog.score
    return weighed / total
