"""What an agent is about to attempt, and how tasks are sorted."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Flag, Name
from memory.kernel.text import KEY, NAME, TASK, cleaned, cleaned_json, optional

DISTILLER = "memlift-contrast"
"""Whom the server names as author of what it distils."""


OWN_AGENT, REFLECTOR = "memlift", "memlift-reflection"


OWN_NAMES = frozenset({OWN_AGENT, REFLECTOR, DISTILLER})
"""Whom the server names as author of what it writes itself; no caller may speak for them."""


@dataclass(frozen=True, slots=True)
class CategoryName:
    """A kind of task, on two levels; the first names the cell in which learning is kept."""

    name: str
    subcategory: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", cleaned(self.name, "category", NAME))
        object.__setattr__(self, "subcategory", optional(self.subcategory, "subcategory", NAME))

    @classmethod
    def of(cls, category: str | None, subcategory: str | None) -> "CategoryName | None":
        """Two flat fields as one name. Raises Rejected for a subcategory of nothing."""
        if category is not None:
            return cls(category, subcategory)
        if subcategory is not None:
            raise Rejected("subcategory needs a category", field="category")
        return None


@dataclass(frozen=True, slots=True)
class CategoryIds:
    """A category and, where there is one, its subcategory, as stored."""

    category: UUID
    subcategory: UUID | None = None

    @property
    def deepest(self) -> UUID:
        """The subcategory; else the category."""
        return self.subcategory or self.category

    @property
    def levels(self) -> tuple[UUID, ...]:
        """The category first."""
        return (self.category,) if self.subcategory is None else (self.category, self.subcategory)


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """A task in its caller's words.

    `key` is the caller's own id: the same key is the same task. `group_key` joins tasks that stand
    or fall together. From `closes_at` on no prediction counts.
    """

    text: str
    key: str | None = None
    category: CategoryName | None = None
    group_key: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    closes_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", cleaned(self.text, "task.text", TASK))
        object.__setattr__(self, "key", optional(self.key, "task.key", KEY))
        object.__setattr__(self, "group_key", optional(self.group_key, "task.group_key", KEY))
        object.__setattr__(self, "metadata", cleaned_json(self.metadata, "task.metadata"))
        if self.closes_at is not None and self.closes_at.tzinfo is None:
            raise Rejected("task.closes_at has no time zone", field="task.closes_at")

    @property
    def digest(self) -> bytes:
        return sha256(self.text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Task:
    """A task as stored."""

    id: UUID
    key: str | None
    text: str
    category_id: UUID
    subcategory_id: UUID | None
    category: CategoryName
    group_key: str | None
    metadata: Mapping[str, object]
    closes_at: datetime | None
    known_at: datetime
    recorded_at: datetime

    @property
    def category_ids(self) -> CategoryIds:
        return CategoryIds(self.category_id, self.subcategory_id)

    @property
    def source_group(self) -> str:
        """What at most one served memory may come from."""
        return f"group:{self.group_key}" if self.group_key else f"task:{self.id}"


@dataclass(frozen=True, slots=True)
class AgentDraft:
    """An agent as its owner describes it."""

    __pydantic_config__ = INPUT

    name: Name
    """How the agent is known within its namespace."""
    model: Name | None = None
    """The language model it runs on, by any name; a pair of runs needs the same one."""
    family: Name | None = None
    """Its family of models, such as `llama`; constraints travel between families."""
    size_class: Name | None = None
    """How large it is, in its owner's words."""
    own_information: Flag = False
    """Whether it brings a price, a tool or a source of its own beside memory."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", cleaned(self.name, "agent", NAME))
        for name in ("model", "family", "size_class"):
            object.__setattr__(self, name, optional(getattr(self, name), name, NAME))


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as it stands."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the agent for ever."""
    name: str
    """How the agent is known within its namespace."""
    model: str | None
    """The language model it runs on."""
    family: str | None
    """Its family of models."""
    size_class: str | None
    """How large it is, in its owner's words."""
    own_information: bool
    """Whether it brings a price, a tool or a source of its own beside memory."""
    version: int
    """Grows with each change; the ETag."""
    created_at: datetime
    """When it was first seen."""


@dataclass(frozen=True, slots=True)
class Category:
    """A category as stored; metric and reward kind are fixed by its first outcome."""

    id: UUID
    name: str
    parent: str | None
    metric: str | None
    reward_kind: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AgentChange:
    """What to change of an agent; null leaves it as it is. Raises Rejected where all are null."""

    __pydantic_config__ = INPUT

    model: Name | None = None
    """The language model it runs on."""
    family: Name | None = None
    """Its family of models."""
    size_class: Name | None = None
    """How large it is, in its owner's words."""
    own_information: Flag | None = None
    """Whether it brings information of its own beside memory."""

    def __post_init__(self) -> None:
        if all(getattr(self, field.name) is None for field in fields(self)):
            raise Rejected("the body changes nothing", field="body")
        for name in ("model", "family", "size_class"):
            object.__setattr__(self, name, optional(getattr(self, name), name, NAME))


GENERAL_NAME = "general"
"""Where a task goes that names no category and is like none; no taxonomy defines it."""
