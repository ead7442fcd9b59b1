"""Shapes of constraints as a retrieval serves them."""

from uuid import UUID

from memory.constraints.entities import ServedConstraint
from memory.receipts.entities import Item
from server.schemas.base import Out, UtcTime
from server.schemas.constraints import SupportOut


class ConstraintServed(Out):
    """A served constraint, and the numbers it was chosen by. `similarity` is that of the nearest
    task it was learned from, the first of `task_ids`.

    Differs from `ServedConstraint`: its words are flat, beside the numbers of its item.
    """

    memory_id: UUID
    version: int
    rank: int
    trigger: str
    enforce: str | None
    avoid: str | None
    category: str
    subcategory: str | None
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    cited: bool
    origin: str
    agent: str
    support: SupportOut
    task_ids: list[UUID]
    learned_at: UtcTime

    @classmethod
    def of(cls, constraint: ServedConstraint, item: Item) -> "ConstraintServed":
        wording = constraint.wording
        return cls(
            memory_id=item.memory_id,
            version=item.version,
            rank=item.rank,
            trigger=wording.trigger,
            enforce=wording.enforce,
            avoid=wording.avoid,
            category=constraint.category.name,
            subcategory=constraint.category.subcategory,
            similarity=item.similarity,
            relevance=item.relevance,
            effective_weight=item.effective_weight,
            ranking_weight=item.ranking_weight,
            score=item.score,
            cited=item.cited,
            origin=constraint.origin,
            agent=constraint.agent,
            support=SupportOut.of(constraint.support),
            task_ids=list(constraint.task_ids),
            learned_at=constraint.learned_at,
        )
