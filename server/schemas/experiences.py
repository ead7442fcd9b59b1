"""Shapes of memories: as agents bring them, as they stand, as they were."""

import json
from typing import cast
from uuid import UUID

from pydantic import Field

from memory.curation.entities import StatusChange
from memory.kernel.errors import Rejected
from memory.kernel.fields import Lesson, Situation
from memory.kernel.text import METADATA_BYTES, cleaned_json
from memory.memories.entities import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    ExperienceDraft,
    MemoryFilter,
    Status,
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
    named,
)
from server.schemas.problems import Problem


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
            category=self.category,
            subcategory=self.subcategory,
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


class RememberedItem(Out):
    """What became of one item of a batch. Differs from `Remembered`: an item may have a problem
    instead.
    """

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


class StatusReason(In):
    """Why a memory's status changes. Differs from `StatusChange`: the path says how."""

    reason: Name | None = None

    def to_change(self, action: str) -> StatusChange:
        return StatusChange(action=action, reason=self.reason)
