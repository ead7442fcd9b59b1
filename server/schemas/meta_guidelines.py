"""Shapes of meta-guidelines: how memories are to be used."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.guidelines.entities import (
    MAX_MEMORIES,
    CrossCategory,
    Directives,
    OnDisagreement,
    Order,
)
from memory.kernel.text import INSTRUCTION, SITUATION, optional
from memory.memories.entities import MAX_WEIGHT, MIN_WEIGHT, MemoryEdit, MemoryFilter, Status, Trust
from memory.meta_guidelines.entities import MetaGuideline, MetaGuidelineDraft, ServedGuidance
from memory.receipts.entities import Item
from server.schemas.base import (
    AgentQuery,
    Flag,
    Free,
    In,
    Moment,
    Name,
    Out,
    UtcTime,
    category_of,
    changed,
    hint,
    named,
)
from server.schemas.experiences import Situation

Instruction = Annotated[str, Field(json_schema_extra=hint(INSTRUCTION))]  # pyright: ignore[reportArgumentType] - JSON values

Most = Annotated[int, Field(strict=True, ge=1, le=MAX_MEMORIES)]


class DirectivesIn(In):
    """What the compiler does by itself; what is left out changes nothing."""

    order: Order = Order.STRONGEST
    max_memories: Most | None = None
    cross_category: CrossCategory = CrossCategory.ALLOW
    on_disagreement: OnDisagreement | None = None

    def to_directives(self) -> Directives:
        return Directives(
            order=self.order,
            max_memories=self.max_memories,
            cross_category=self.cross_category,
            on_disagreement=self.on_disagreement,
        )


class DirectivesOut(Out):
    """What the compiler does by itself."""

    order: Order
    max_memories: int | None
    cross_category: CrossCategory
    on_disagreement: OnDisagreement | None


class MetaGuidelineIn(In):
    """Why using memory failed, and how to use it instead; without a category for all tasks."""

    agent: Name
    failure_reason: Situation
    instruction: Instruction
    directives: DirectivesIn = DirectivesIn()
    category: Name | None = None
    subcategory: Name | None = None
    pinned: Flag = False
    weight: float = Field(1.0, strict=True, ge=MIN_WEIGHT, le=MAX_WEIGHT)
    learned_at: Moment | None = None
    metadata: Free = Field(default_factory=dict)

    def to_draft(self) -> MetaGuidelineDraft:
        return MetaGuidelineDraft(
            agent=self.agent,
            failure_reason=self.failure_reason,
            instruction=self.instruction,
            directives=self.directives.to_directives(),
            category=category_of(self.category, self.subcategory),
            pinned=self.pinned,
            weight=self.weight,
            learned_at=self.learned_at,
            metadata=self.metadata,
        )


class MetaGuidelinePatch(In):
    """A change of words or of what surrounds them; other directives are another meta-guideline."""

    failure_reason: Situation | None = None
    instruction: Instruction | None = None
    metadata: Free | None = None
    pinned: Flag | None = None
    known_at: Moment | None = None

    def to_edit(self, version: int) -> EditRequest:
        changed(self)
        edit = MemoryEdit(
            situation=optional(self.failure_reason, "failure_reason", SITUATION),
            lesson=optional(self.instruction, "instruction", INSTRUCTION),
            metadata=self.metadata,
            pinned=self.pinned,
        )
        return EditRequest(edit=edit, version=version, known_at=self.known_at)


class MetaGuidelineQuery(AgentQuery):
    """Which meta-guidelines to list."""

    status: Status | None = None
    category: Name | None = None

    def to_filter(self) -> MemoryFilter:
        category = named(self.category, "category")
        return MemoryFilter(status=self.status, category=category, agent=self.agent_name())


class MetaGuidelineOut(Out):
    """A meta-guideline as it stands; `origin` is reflection or written; default where the
    first release built it in, retired since.
    """

    id: UUID
    origin: str
    status: Status
    status_reason: str | None
    trust: Trust
    pinned: bool
    agent: str
    category: str
    subcategory: str | None
    task_id: UUID | None
    failure_reason: str
    instruction: str
    directives: DirectivesOut
    metadata: Free
    version: int
    evidence: int
    effective_weight: float
    learned_at: UtcTime
    recorded_at: UtcTime
    bank_version: int

    @classmethod
    def of(cls, meta: MetaGuideline) -> "MetaGuidelineOut":
        memory = meta.memory
        return cls(
            id=memory.id,
            origin=meta.origin,
            status=memory.status,
            status_reason=memory.status_reason,
            trust=memory.trust,
            pinned=memory.pinned,
            agent=memory.agent,
            category=memory.category.name,
            subcategory=memory.category.subcategory,
            task_id=memory.task_id,
            failure_reason=meta.failure_reason,
            instruction=meta.instruction,
            directives=DirectivesOut.model_validate(meta.directives),
            metadata=dict(memory.metadata),
            version=memory.version,
            evidence=memory.evidence,
            effective_weight=memory.effective_weight,
            learned_at=memory.learned_at,
            recorded_at=memory.recorded_at,
            bank_version=memory.bank_version,
        )


class MetaGuidelineServed(Out):
    """The meta-guideline a guideline was compiled by, and the numbers it was chosen by."""

    memory_id: UUID
    version: int
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    cited: bool
    failure_reason: str
    instruction: str
    directives: DirectivesOut
    agent: str
    category: str
    subcategory: str | None
    learned_at: UtcTime

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
            directives=DirectivesOut.model_validate(guidance.directives),
            agent=guidance.agent,
            category=guidance.category.name,
            subcategory=guidance.category.subcategory,
            learned_at=guidance.learned_at,
        )
