"""Shapes of constraints: when something applies, what to enforce and what to avoid."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.constraints.entities import (
    PART,
    Constraint,
    ConstraintDraft,
    Contradiction,
    PairClass,
    Resolution,
    Support,
    SupportCounts,
    Wording,
)
from memory.memories.entities import MAX_WEIGHT, MIN_WEIGHT, MemoryFilter, Status, Trust, Visibility
from server.schemas.actors import TaskIn
from server.schemas.base import (
    AgentQuery,
    Free,
    In,
    ListQuery,
    Moment,
    Name,
    Out,
    UtcTime,
    category_of,
    hint,
    named,
)

Part = Annotated[str, Field(json_schema_extra=hint(PART))]  # pyright: ignore[reportArgumentType] - JSON values
Origin = Literal["distilled", "written"]


class ConstraintIn(In):
    """A constraint in its author's words, with the task it was learned from; enforce, avoid, or
    both.
    """

    agent: Name
    trigger: Part
    enforce: Part | None = None
    avoid: Part | None = None
    task: TaskIn | None = None
    task_id: UUID | None = None
    category: Name | None = None
    subcategory: Name | None = None
    weight: float = Field(1.0, strict=True, ge=MIN_WEIGHT, le=MAX_WEIGHT)
    learned_at: Moment | None = None
    metadata: Free = Field(default_factory=dict)

    def to_draft(self) -> ConstraintDraft:
        return ConstraintDraft(
            agent=self.agent,
            wording=Wording(self.trigger, self.enforce, self.avoid),
            task=None if self.task is None else self.task.to_draft(),
            task_id=self.task_id,
            category=category_of(self.category, self.subcategory),
            weight=self.weight,
            learned_at=self.learned_at,
            metadata=self.metadata,
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


class SupportOut(Out):
    """What speaks for a constraint: distinct tasks, agent pairs, families and keys of what counts;
    `contrasts` is all of it.
    """

    contrasts: int
    tasks: int
    agent_pairs: int
    families: int
    keys: int
    agnostic_score: float

    @classmethod
    def of(cls, counts: SupportCounts) -> "SupportOut":
        return cls.model_validate(counts)


class ConstraintOut(Out):
    """A constraint as it stands; `origin` is distilled or written."""

    id: UUID
    origin: str
    status: Status
    status_reason: str | None
    trust: Trust
    visibility: Visibility
    pinned: bool
    agent: str
    category: str
    subcategory: str | None
    trigger: str
    enforce: str | None
    avoid: str | None
    lint: list[str]
    support: SupportOut
    task_ids: list[UUID]
    metadata: Free
    version: int
    evidence: int
    effective_weight: float
    learned_at: UtcTime
    recorded_at: UtcTime
    bank_version: int

    @classmethod
    def of(cls, one: Constraint) -> "ConstraintOut":
        memory, wording = one.memory, one.wording
        return cls(
            id=memory.id,
            origin=one.origin,
            status=memory.status,
            status_reason=memory.status_reason,
            trust=memory.trust,
            visibility=memory.visibility,
            pinned=memory.pinned,
            agent=memory.agent,
            category=memory.category,
            subcategory=memory.subcategory,
            trigger=wording.trigger if wording else "",
            enforce=wording.enforce if wording else None,
            avoid=wording.avoid if wording else None,
            lint=list(one.lint),
            support=SupportOut.of(one.support),
            task_ids=list(one.task_ids),
            metadata=dict(memory.metadata),
            version=memory.version,
            evidence=memory.evidence,
            effective_weight=memory.effective_weight,
            learned_at=memory.learned_at,
            recorded_at=memory.recorded_at,
            bank_version=memory.bank_version,
        )


class SupportItem(Out):
    """One piece of support: a contrast of two runs, or its author's word (no contrast)."""

    id: UUID
    contrast_id: UUID | None
    task_id: UUID
    preferred_agent: str | None
    unpreferred_agent: str | None
    preferred_family: str | None
    unpreferred_family: str | None
    preferred_size: str | None
    unpreferred_size: str | None
    pair_class: PairClass | None
    verifier: str
    counts: bool
    known_at: UtcTime
    recorded_at: UtcTime

    @classmethod
    def of(cls, one: Support) -> "SupportItem":
        return cls.model_validate(one)


class ContradictionQuery(ListQuery):
    """Which contradictions to list."""

    state: Literal["open", "resolved", "all"] = "open"

    def wanted(self) -> str | None:
        return None if self.state == "all" else self.state


class ContradictionOut(Out):
    """Two constraints that contradict each other; `likeness` is how alike their triggers are."""

    id: UUID
    first_id: UUID
    second_id: UUID
    category: str
    reason: str
    likeness: float
    state: str
    resolution: str | None
    resolution_reason: str | None
    recorded_at: UtcTime
    resolved_at: UtcTime | None

    @classmethod
    def of(cls, one: Contradiction) -> "ContradictionOut":
        fields = {name: getattr(one, name) for name in cls.model_fields if name != "category"}
        return cls(category=one.category.name, **fields)


class ResolutionIn(In):
    """Which of the two stays in use, and why."""

    keep: Literal["first", "second", "both", "neither"]
    reason: Name | None = None

    def to_resolution(self) -> Resolution:
        return Resolution(self.keep, self.reason)
