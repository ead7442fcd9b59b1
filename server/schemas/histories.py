"""Shapes of history: experiences from before this server, taken in as a stranger's word."""

from uuid import UUID

from pydantic import Field

from memory.kernel.fields import Lesson, Situation
from memory.memories.entities import HistoryDraft, Verification, Visibility
from memory.retrieval.entities import MAX_BATCH
from server.schemas.actors import TaskIn
from server.schemas.base import Free, In, Moment, Name


class HistoryIn(In):
    """An experience of another time. It starts neutral and unpinned, for weight is earned here."""

    agent: Name
    situation: Situation
    lesson: Lesson
    category: Name | None = None
    subcategory: Name | None = None
    task: TaskIn | None = None
    task_id: UUID | None = None
    visibility: Visibility = Visibility.NAMESPACE
    learned_at: Moment | None = None
    metadata: Free = Field(default_factory=dict)
    verification: Verification

    def to_draft(self) -> HistoryDraft:
        return HistoryDraft(
            agent=self.agent,
            situation=self.situation,
            lesson=self.lesson,
            category=self.category,
            subcategory=self.subcategory,
            task=None if self.task is None else self.task.to_draft(),
            task_id=self.task_id,
            visibility=self.visibility,
            learned_at=self.learned_at,
            metadata=self.metadata,
            verification=self.verification,
        )


class HistoryBatch(In):
    """A piece of history, taken in item by item: a bad one does not lose the rest."""

    items: list[HistoryIn] = Field(min_length=1, max_length=MAX_BATCH)
