"""Shapes of constraints: as they are brought, served and filtered."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from memory.constraints.entities import (
    Origin,
    ServedConstraint,
    SupportCounts,
)
from memory.memories.entities import MemoryFilter, Status
from memory.receipts.entities import Item
from server.schemas.base import AgentQuery, ListQuery, Name, Out, UtcTime, named


class ConstraintServed(Out):
    """A served constraint, and the numbers it was chosen by. Differs from `ServedConstraint`: it
    joins the content with the numbers of the receipt's item.
    """

    memory_id: UUID = Field(description="names the constraint for ever")
    version: int = Field(description="the version of its text that was served")
    rank: int = Field(description="its place among all that was served")
    trigger: str = Field(description="the kind of situation, to be read after the word When")
    enforce: str | None = Field(description="what to do then")
    avoid: str | None = Field(description="what not to do")
    category: str = Field(description="where it applies")
    subcategory: str | None = Field(description="the second level, if it has one")
    similarity: float = Field(description="that of the nearest task it was learned from")
    relevance: float = Field(description="similarity by category and by who ran, in [0, 1]")
    effective_weight: float = Field(description="what it counts for the agent that asks")
    ranking_weight: float = Field(description="the weight that the policy ranks by")
    score: float = Field(description="effective weight times relevance")
    cited: bool = Field(description="whether it stands in the guideline")
    origin: Origin = Field(description="whether it came of a contrast or of a caller")
    agent: str = Field(description="who says so")
    support: SupportCounts = Field(description="what speaks for it, in numbers")
    task_ids: list[UUID] = Field(description="the near tasks it comes from, the nearest first")
    learned_at: UtcTime = Field(description="when it was learned")

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
            support=constraint.support,
            task_ids=list(constraint.task_ids),
            learned_at=constraint.learned_at,
        )


class ConstraintQuery(AgentQuery):
    """Which constraints to list."""

    status: Status | None = None
    category: Name | None = None
    origin: Origin | None = None

    def to_filter(self) -> MemoryFilter:
        return MemoryFilter(
            status=self.status,
            category=named(self.category, "category"),
            agent=self.agent_name(),
            origin=self.origin,
        )


class ContradictionQuery(ListQuery):
    """Which contradictions to list."""

    state: Literal["open", "resolved", "all"] = "open"

    @property
    def wanted_state(self) -> str | None:
        return None if self.state == "all" else self.state
