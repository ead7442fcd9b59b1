"""Shapes of agents, categories and tasks."""

from uuid import UUID

from pydantic import Field

from memory.kernel.text import KEY, TASK
from memory.tasks.entities import (
    Category,
    CategoryName,
    Task,
    TaskDraft,
)
from server.schemas.base import (
    CallerKey,
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


class CategoryIn(In):
    """A category to be made, on one or two levels."""

    name: Name
    subcategory: Name | None = None

    def to_name(self) -> CategoryName:
        return CategoryName(self.name, self.subcategory)


class CategoryOut(Out):
    """A category; metric and reward kind are fixed by its first outcome."""

    id: UUID
    name: str
    parent: str | None
    metric: str | None
    reward_kind: str | None
    created_at: UtcTime

    @classmethod
    def of(cls, category: Category) -> "CategoryOut":
        return cls.model_validate(category)


class TaskIn(In):
    """A task in its caller's words; the same key is the same task."""

    text: str = Field(json_schema_extra=hint(TASK))  # pyright: ignore[reportArgumentType] - JSON values
    key: CallerKey | None = None
    category: Name | None = None
    subcategory: Name | None = None
    group_key: CallerKey | None = None
    metadata: Free = Field(default_factory=dict)
    closes_at: Moment | None = Field(
        None, description="when its window closes: from then on no prediction counts"
    )

    def to_draft(self) -> TaskDraft:
        return TaskDraft(
            text=self.text,
            key=self.key,
            category=category_of(self.category, self.subcategory),
            group_key=self.group_key,
            metadata=self.metadata,
            closes_at=self.closes_at,
        )


class TaskPost(TaskIn):
    """A task to be stored by itself; `known_at` is set in `replay` namespaces alone."""

    known_at: Moment | None = None


class TaskOut(Out):
    """A task as stored."""

    id: UUID
    key: str | None
    text: str
    category: str
    subcategory: str | None
    group_key: str | None
    metadata: Free
    closes_at: UtcTime | None
    known_at: UtcTime
    recorded_at: UtcTime

    @classmethod
    def of(cls, task: Task) -> "TaskOut":
        return cls(
            id=task.id,
            key=task.key,
            text=task.text,
            category=task.category.name,
            subcategory=task.category.subcategory,
            group_key=task.group_key,
            metadata=dict(task.metadata),
            closes_at=task.closes_at,
            known_at=task.known_at,
            recorded_at=task.recorded_at,
        )


class TaskQuery(ListQuery):
    """Tasks, all or the one with a caller's key."""

    key: str | None = Field(None, max_length=KEY)

    def caller_key(self) -> str | None:
        return named(self.key, "key")
