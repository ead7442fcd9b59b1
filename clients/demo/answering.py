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
    return mixed(prior, retrieval, retrieval.rankers or {})


def mixed(
    prior: float, retrieval: Retrieval, shares: Mapping[str, float], *, wholly: bool = False
) -> Answer:
    """Each ranker's answer by these shares (they sum to 1), followed with the strength of the
    receipt, or `wholly`.
    """
    rankers = {r: forecast(prior, analogs(retrieval, r)) for r in retrieval.rankers or {}}
    return followed(prior, rankers, shares, 1.0 if wholly else retrieval.strength)


def followed(
    prior: float, rankers: Mapping[str, float], shares: Mapping[str, float], strength: float
) -> Answer:
    """The rankers' answers mixed by these shares, and gone toward with this strength."""
    full = _probability(fsum(share * rankers[ranker] for ranker, share in shares.items()))
    return Answer(_probability(prior + strength * (full - prior)), full, rankers)


def by_weight(prior: float, retrieval: Retrieval) -> Answer:
    """From what the policy served, each by its score (weight times relevance); followed wholly."""
    known = ((memory.score, _outcome(memory)) for memory in retrieval.memories)
    pooled = forecast(prior, (Analog(score, y) for score, y in known if y is not None))
    return Answer(pooled, pooled, {})


def analogs(retrieval: Retrieval, ranker: str) -> Iterator[Analog]:
    """What this ranker would have served, as votes: the outcome each memory carries, by the score
    this ranker gives it.
    """
    for score, memory in scored(retrieval, ranker):
        outcome = _outcome(memory)
        if outcome is not None:
            yield Analog(score, outcome)


def scored(retrieval: Retrieval, ranker: str) -> Iterator[tuple[float, ServedMemory]]:
    """The list of this ranker: each memory with the score it gives it."""
    for memory in retrieval.memories:
        score = (memory.scores or {}).get(ranker)
        if score is not None:
            yield score, memory


def _outcome(memory: ServedMemory) -> int | None:
    """What the memory says came of its question: 1 yes, 0 no."""
    outcome = (memory.metadata or {}).get("outcome")
    return int(bool(outcome)) if outcome in (0, 1) else None


def _probability(number: float) -> float:
    """Rounding may carry a mixture of probabilities a hair beyond them."""
    return min(1.0, max(0.0, number))
