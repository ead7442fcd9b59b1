"""Shapes of meta-guidelines: how memories are to be used."""

from uuid import UUID

from memory.guidelines.entities import Directives
from memory.memories.entities import MemoryFilter, Status
from memory.meta_guidelines.entities import ServedGuidance
from memory.receipts.entities import Item
from server.schemas.base import AgentQuery, Name, Out, UtcTime, named


class MetaGuidelineQuery(AgentQuery):
    """Which meta-guidelines to list."""

    status: Status | None = None
    category: Name | None = None

    def to_filter(self) -> MemoryFilter:
        category = named(self.category, "category")
        return MemoryFilter(status=self.status, category=category, agent=self.agent_name())


class MetaGuidelineServed(Out):
    """The meta-guideline a guideline was compiled by, and the numbers it was chosen by.

    Differs from `ServedGuidance`: it is joined with its `Item`.
    """

    memory_id: UUID
    version: int
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    cited: bool
    failure_reason: str
    """How using memory went wrong."""
    instruction: str
    """How to use it instead."""
    directives: Directives
    agent: str
    """Who learned it."""
    category: str
    """Where it was learned."""
    subcategory: str | None
    """The second level of that category."""
    learned_at: UtcTime
    """When it was learned."""

    @classmethod
    def of(cls, guidance: ServedGuidance, item: Item) -> "MetaGuidelineServed":
        return cls(
            memory_id=item.memory_id,
            version=item.version,
            similarity=item.similarity,
            relevance=item.relevance,
            effective_weight=item.effective_weight,
            ranking_weight=item.ranking_weight,
            score=item.score,
            cited=item.cited,
            failure_reason=guidance.failure_reason,
            instruction=guidance.instruction,
            directives=guidance.directives,
            agent=guidance.agent,
            category=guidance.category.name,
            subcategory=guidance.category.subcategory,
            learned_at=guidance.learned_at,
        )
