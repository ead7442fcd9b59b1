"""Shapes of tasks inside other shapes, and of their list."""

from pydantic import Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from memory.kernel.fields import TaskText
from memory.kernel.text import KEY
from memory.tasks.entities import TaskDraft
from server.schemas.base import CallerKey, Free, In, ListQuery, Moment, Name, named


class TaskIn(In):
    """A task in its caller's words; the same key is the same task.

    Differs from `TaskDraft`: a batch reads it before the limits of its items are looked at.
    """

    text: TaskText
    key: CallerKey | None = None
    category: Name | None = None
    subcategory: Name | None = None
    group_key: CallerKey | None = None
    metadata: Free = Field(default_factory=dict)
    closes_at: Moment | None = Field(
        None, description="when its window closes: from then on no prediction counts"
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Callers send one and the same shape, so the contract has it once."""
        del schema
        return handler(TypeAdapter(TaskDraft).core_schema)

    def to_draft(self) -> TaskDraft:
        return TaskDraft(
            text=self.text,
            key=self.key,
            category=self.category,
            subcategory=self.subcategory,
            group_key=self.group_key,
            metadata=self.metadata,
            closes_at=self.closes_at,
        )


class TaskQuery(ListQuery):
    """Tasks, all or the one with a caller's key."""

    key: str | None = Field(None, max_length=KEY)

    def caller_key(self) -> str | None:
        return named(self.key, "key")
