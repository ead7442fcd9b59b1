"""A memory under consideration for one retrieval."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory of the head, with everything that ordering it depends on.

    `relevance` is in [0, 1] and equals `similarity` where no reranker is configured. `group` is
    what the memory's source task stands or falls with: the task's group key, else the task.
    `effective_weight` is what the memory has earned; `ranking_weight` is the same with some
    optimism for the untested, and only orders. `credited` counts the outcomes that moved it.
    `probation`: nobody verified it yet.
    """

    id: UUID
    version: int
    group: str
    kind: str
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    learned_at: datetime
    credited: int
    probation: bool = False

    @property
    def score(self) -> float:
        """Effective weight times relevance: what the floor is about and callers are shown."""
        return self.effective_weight * self.relevance
