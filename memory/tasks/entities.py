"""What an agent is about to attempt, and how tasks are sorted."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, CallerKey, Flag, Moment, Name, TaskText
from memory.kernel.metrics import METRICS, RewardKind
from memory.kernel.text import (
    KEY,
    TASK,
    cleaned,
    cleaned_json,
    cleaned_name,
    known_name,
    optional_exact,
    optional_known_name,
    optional_name,
)

DISTILLER = "memlift-contrast"
"""Whom the server names as author of what it distils."""


CHECKER = "memlift-checks"
"""Whom the server names as author of what checks of runs teach."""


OWN_AGENT, REFLECTOR = "memlift", "memlift-reflection"


OWN_NAMES = frozenset({OWN_AGENT, REFLECTOR, DISTILLER, CHECKER})
"""Whom the server names as author of what it writes itself; no caller may speak for them."""


@dataclass(frozen=True, slots=True)
class CategoryName:
    """A kind of task, on two levels; the first names the cell in which learning is kept."""

    __pydantic_config__ = INPUT

    name: Name
    """The category; made at first use, unless the namespace's list of categories is closed."""
    subcategory: Name | None = None
    """A finer kind within it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", known_name(self.name, "category"))
        object.__setattr__(
            self, "subcategory", optional_known_name(self.subcategory, "subcategory")
        )

    @classmethod
    def of(cls, category: str | None, subcategory: str | None) -> "CategoryName | None":
        """Two flat fields as one name. Raises Rejected for a subcategory of nothing."""
        if category is not None:
            return cls(category, subcategory)
        if subcategory is not None:
            raise Rejected("subcategory needs a category", field="category")
        return None


def category_of(category: str | None, subcategory: str | None) -> CategoryName | None:
    """Both levels as one. Raises Rejected where only the lower one is given."""
    if category is not None:
        return CategoryName(category, subcategory)
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
    """A task in its caller's words."""

    __pydantic_config__ = INPUT

    text: TaskText
    """What the agent is to do, in the caller's words."""
    key: CallerKey | None = None
    """The caller's own id: the same key is the same task."""
    category: Name | None = None
    """Its kind; where it is left out, the nearest by meaning, else `general`."""
    subcategory: Name | None = None
    """A finer kind within its category."""
    group_key: CallerKey | None = None
    """Joins tasks that stand or fall together, such as questions about one event."""
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    """Free JSON of at most 8,192 bytes, kept and shown as it is."""
    closes_at: Moment | None = None
    """When its window closes: from then on no prediction counts."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", cleaned(self.text, "text", TASK))
        object.__setattr__(self, "key", optional_exact(self.key, "key", KEY))
        category = self.category_name
        if category is not None:
            object.__setattr__(self, "category", category.name)
            object.__setattr__(self, "subcategory", category.subcategory)
        object.__setattr__(self, "group_key", optional_exact(self.group_key, "group_key", KEY))
        object.__setattr__(self, "metadata", cleaned_json(self.metadata, "metadata"))
        if self.closes_at is not None and self.closes_at.tzinfo is None:
            raise Rejected("closes_at has no time zone", field="closes_at")

    @property
    def category_name(self) -> CategoryName | None:
        return category_of(self.category, self.subcategory)

    def in_category(self, name: CategoryName) -> "TaskDraft":
        """The same task, in the category that was found for it."""
        return replace(self, category=name.name, subcategory=name.subcategory)

    @property
    def digest(self) -> bytes:
        return sha256(self.text.encode()).digest()


@dataclass(frozen=True, slots=True)
class TaskEntry(TaskDraft):
    """A task to be stored by itself."""

    __pydantic_config__ = INPUT

    known_at: Moment | None = None
    """When it could be known; only in namespaces with clock `replay`, and required there."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task as stored."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the task for ever."""
    key: str | None
    """Its caller's own id."""
    text: str
    """What is to be done; empty once it was erased."""
    category_id: Annotated[UUID, Field(exclude=True)]
    subcategory_id: Annotated[UUID | None, Field(exclude=True)]
    category: str
    """Its kind, given or found."""
    subcategory: str | None
    """A finer kind within its category."""
    group_key: str | None
    """Joins tasks that stand or fall together."""
    metadata: Mapping[str, object]
    """Free JSON, as its caller gave it."""
    closes_at: datetime | None
    """When its window closes: from then on no prediction counts."""
    known_at: datetime
    """When it could be known."""
    recorded_at: datetime
    """When the server stored it."""

    @property
    def category_ids(self) -> CategoryIds:
        return CategoryIds(self.category_id, self.subcategory_id)

    @property
    def category_name(self) -> CategoryName:
        return CategoryName(self.category, self.subcategory)

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
        object.__setattr__(self, "name", cleaned_name(self.name, "agent"))
        for name in ("model", "family", "size_class"):
            object.__setattr__(self, name, optional_name(getattr(self, name), name))


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


MeasureSource = Literal["outcomes", "admin"]


@dataclass(frozen=True, slots=True)
class Measure:
    """What a category's rewards are: free, where neither is given, until an outcome fixes both."""

    __pydantic_config__ = INPUT

    metric: Name | None = None
    """What they are computed by."""
    reward_kind: RewardKind | None = None
    """Whether a reward is a degree, or 0 or 1."""

    def __post_init__(self) -> None:
        if (self.metric is None) != (self.reward_kind is None):
            raise Rejected(
                "metric and reward_kind are fixed, or left free, together", field="metric"
            )
        if self.metric is not None and self.metric not in METRICS:
            raise Rejected(f"metric must be one of {METRICS}", field="metric", limit=list(METRICS))

    @property
    def is_free(self) -> bool:
        return self.metric is None

    def __str__(self) -> str:
        return "free" if self.is_free else f"{self.metric}, {self.reward_kind}"


@dataclass(frozen=True, slots=True)
class Category:
    """A category as stored."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the category for ever."""
    name: str
    """Its name among those of its level."""
    parent: str | None
    """The category it is a subcategory of."""
    metric: str | None
    """What its rewards are computed by; fixed by the first outcome that counts, or by an admin."""
    reward_kind: RewardKind | None
    """Whether a reward is a degree, or 0 or 1; fixed with the metric."""
    fixed_by: MeasureSource | None
    """Who fixed both: outcomes, and then they are free again when none that counts is left, or an
    admin.
    """
    created_at: datetime
    """When it was first used or described."""


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
            object.__setattr__(self, name, optional_name(getattr(self, name), name))


GENERAL_NAME = "general"
"""Where a task goes that names no category and is like none; no taxonomy defines it."""


def claims_general(name: str) -> bool:
    """Whether a name of the first level could be taken for `general`, in whatever case."""
    return name.casefold() == GENERAL_NAME


GENERAL_KEPT = (
    f"`{GENERAL_NAME}` collects what fits no category: it cannot be renamed, and no other may take"
    " the name"
)
