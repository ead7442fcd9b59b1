"""From what was retrieved to a forecast: the two ways in which the agent uses its memory.

Both pool past outcomes by the same rule. One reads a single fixed list, the most similar memories.
The other answers from the list of each ranker, mixes these answers by how far the guard believes
each ranker, and follows the mixture as far as memory has earned it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import fsum

from memlift_client import Retrieval, ServedMemory

from clients.demo.agent import Analog, forecast

FLAT = "flat/none"
"""The ranker that neither weighs nor ages: plain similarity."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A forecast: as given, as it were with memory followed wholly, and from each ranker's list."""

    given: float
    full: float
    rankers: Mapping[str, float]


def by_similarity(prior: float, retrieval: Retrieval) -> Answer:
    """From the most similar memories, each by its similarity; followed wholly."""
    pooled = forecast(prior, analogs(retrieval, FLAT))
    return Answer(pooled, pooled, {})


def by_record(prior: float, retrieval: Retrieval) -> Answer:
    """Each ranker's answer by its share, followed with the strength of the receipt."""
    shares = retrieval.rankers or {}
    rankers = {ranker: forecast(prior, analogs(retrieval, ranker)) for ranker in shares}
    return followed(prior, retrieval, rankers)


def followed(prior: float, retrieval: Retrieval, rankers: Mapping[str, float]) -> Answer:
    """These answers of the rankers mixed, and gone toward with the receipt's strength."""
    shares = retrieval.rankers or {}
    full = _probability(fsum(share * rankers[ranker] for ranker, share in shares.items()))
    given = _probability(prior + retrieval.strength * (full - prior))
    return Answer(given, full, rankers)


def analogs(retrieval: Retrieval, ranker: str) -> Iterator[Analog]:
    """What this ranker would have served, as votes: the outcome each memory carries, by the score
    this ranker gives it.
    """
    for score, memory in scored(retrieval, ranker):
        outcome = (memory.metadata or {}).get("outcome")
        if outcome in (0, 1):
            yield Analog(score, int(bool(outcome)))


def scored(retrieval: Retrieval, ranker: str) -> Iterator[tuple[float, ServedMemory]]:
    """The list of this ranker: each memory with the score it gives it."""
    for memory in retrieval.memories:
        score = (memory.scores or {}).get(ranker)
        if score is not None:
            yield score, memory


def _probability(number: float) -> float:
    """Rounding may carry a mixture of probabilities a hair beyond them."""
    return min(1.0, max(0.0, number))
