"""Shapes of memories: as agents bring them, as they stand, as they were."""

import json
from typing import Annotated, cast
from uuid import UUID

from pydantic import Field

from memory.curation.entities import StatusChange
from memory.kernel.errors import Rejected
from memory.kernel.text import LESSON, METADATA_BYTES, SITUATION, cleaned_json
from memory.memories.entities import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    ExperienceDraft,
    Kind,
    Memory,
    MemoryEdit,
    MemoryFilter,
    MemoryVersion,
    Remembered,
    Status,
    Trust,
    Visibility,
)
from memory.retrieval.entities import MAX_BATCH
from server.schemas.actors import TaskIn
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
from server.schemas.problems import Problem

Situation = Annotated[str, Field(json_schema_extra=hint(SITUATION))]  # pyright: ignore[reportArgumentType] - JSON values
Lesson = Annotated[str, Field(json_schema_extra=hint(LESSON))]  # pyright: ignore[reportArgumentType] - JSON values


class ExperienceIn(In):
    """What a past task taught: when it applies, and what to do. `verify`: it is tried on its task
    before it is used.
    """

    agent: Name
    situation: Situation
    lesson: Lesson
    category: Name | None = None
    subcategory: Name | None = None
    task: TaskIn | None = None
    task_id: UUID | None = None
    visibility: Visibility = Visibility.NAMESPACE
    pinned: Flag = False
    weight: float = Field(1.0, strict=True, ge=MIN_WEIGHT, le=MAX_WEIGHT)
    learned_at: Moment | None = None
    metadata: Free = Field(default_factory=dict)
    verify: Flag = False

    def to_draft(self) -> ExperienceDraft:
        return ExperienceDraft(
            agent=self.agent,
            situation=self.situation,
            lesson=self.lesson,
            category=category_of(self.category, self.subcategory),
            task=None if self.task is None else self.task.to_draft(),
            task_id=self.task_id,
            visibility=self.visibility,
            pinned=self.pinned,
            weight=self.weight,
            learned_at=self.learned_at,
            metadata=self.metadata,
            verify=self.verify,
        )


class ExperienceBatch(In):
    """Experiences that are taken in one by one: a bad one does not lose the rest."""

    items: list[ExperienceIn] = Field(min_length=1, max_length=MAX_BATCH)


class RememberedOut(Out):
    """What became of an experience: `deduplicated` where a memory already said the same.

    `echo`: it only repeats what this key was served lately (`echoes`), so nothing was stored and
    nothing counts as evidence; `id` is the memory it repeats most.
    """

    id: UUID
    version: int
    deduplicated: bool
    bank_version: int
    memory_status: Status
    echo: bool = False
    echoes: list[UUID] = Field(default_factory=list[UUID])

    @classmethod
    def of(cls, remembered: Remembered) -> "RememberedOut":
        return cls.model_validate(remembered)


class RememberedItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    id: UUID | None = None
    version: int | None = None
    deduplicated: bool | None = None
    bank_version: int | None = None
    memory_status: Status | None = None
    echo: bool | None = None
    echoes: list[UUID] | None = None
    problem: Problem | None = None


class RememberedBatch(Out):
    items: list[RememberedItem]


class ExperienceQuery(AgentQuery):
    """Which memories to list; `metadata` is a JSON object that the memory's must contain."""

    status: Status | None = None
    category: Name | None = None
    metadata: str | None = Field(None, max_length=METADATA_BYTES)

    def to_filter(self) -> MemoryFilter:
        return MemoryFilter(
            status=self.status,
            category=named(self.category, "category"),
            agent=self.agent_name(),
            metadata=None if self.metadata is None else _contained(self.metadata),
        )


def _contained(text: str) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise Rejected("metadata is not JSON", field="metadata") from fault
    if not isinstance(value, dict):
        raise Rejected("metadata must be a JSON object", field="metadata")
    return cleaned_json(cast("dict[str, object]", value), "metadata")


class MemoryOut(Out):
    """A memory as it stands; `effective_weight` is for no agent in particular."""

    id: UUID
    kind: Kind
    status: Status
    status_reason: str | None
    trust: Trust
    visibility: Visibility
    pinned: bool
    agent: str
    category: str
    subcategory: str | None
    task_id: UUID | None
    situation: str
    lesson: str
    metadata: Free
    version: int
    evidence: int
    effective_weight: float
    learned_at: UtcTime
    recorded_at: UtcTime
    bank_version: int

    @classmethod
    def of(cls, memory: Memory) -> "MemoryOut":
        return cls(
            id=memory.id,
            kind=memory.kind,
            status=memory.status,
            status_reason=memory.status_reason,
            trust=memory.trust,
            visibility=memory.visibility,
            pinned=memory.pinned,
            agent=memory.agent,
            category=memory.category.name,
            subcategory=memory.category.subcategory,
            task_id=memory.task_id,
            situation=memory.situation,
            lesson=memory.lesson,
            metadata=dict(memory.metadata),
            version=memory.version,
            evidence=memory.evidence,
            effective_weight=memory.effective_weight,
            learned_at=memory.learned_at,
            recorded_at=memory.recorded_at,
            bank_version=memory.bank_version,
        )


class ExperiencePatch(In):
    """A change of text or of what surrounds it; null leaves the part as it is."""

    situation: Situation | None = None
    lesson: Lesson | None = None
    metadata: Free | None = None
    pinned: Flag | None = None
    known_at: Moment | None = None

    def to_edit(self, version: int) -> EditRequest:
        changed(self)
        edit = MemoryEdit(
            situation=self.situation,
            lesson=self.lesson,
            metadata=self.metadata,
            pinned=self.pinned,
        )
        return EditRequest(edit=edit, version=version, known_at=self.known_at)


class StatusIn(In):
    """Why a memory's status changes."""

    reason: Name | None = None

    def to_change(self, action: str) -> StatusChange:
        return StatusChange(action=action, reason=self.reason)


class VersionOut(Out):
    """The texts of one version."""

    version: int
    situation: str
    lesson: str
    known_at: UtcTime
    recorded_at: UtcTime
    bank_version: int

    @classmethod
    def of(cls, text: MemoryVersion) -> "VersionOut":
        return cls.model_validate(text)
