"""What an erasure names, what it takes, and what it would reach."""

from dataclasses import dataclass
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Flag, Name
from memory.kernel.text import NAME, optional
from memory.memories.entities import Kind

MAX_REACHED = 500
"""How many rows of a kind a preview names; its counts count all."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """Whose text to erase: exactly one of memory, agent, key and task."""

    __pydantic_config__ = INPUT

    memory_id: UUID | None = None
    """One memory."""
    agent: Name | None = None
    """What this agent brought."""
    key_id: UUID | None = None
    """What came through this key."""
    task_id: UUID | None = None
    """A task and what was learned on it."""
    dry_run: Flag = False
    """Changes nothing and tells the same."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", optional(self.agent, "agent", NAME))
        named = (self.memory_id, self.agent, self.key_id, self.task_id)
        if sum(part is not None for part in named) != 1:
            raise Rejected("name exactly one of memory_id, agent, key_id, task_id", field="body")

    @property
    def subject(self) -> str:
        """What is named, for the audit trail."""
        return str(self.memory_id or self.agent or self.key_id or self.task_id)


@dataclass(frozen=True, slots=True)
class ErasedCounts:
    """How many rows lost their text."""

    __pydantic_config__ = OUTPUT

    memories: int
    """Memories."""
    versions: int
    """Texts of memories."""
    embeddings: int
    """Vectors."""
    lines: int
    """Guidelines that cited one of the memories."""
    tasks: int
    """Tasks."""
    llm_calls: int
    """Calls of a language model that carried what was erased."""
    trajectories: int
    """Recorded runs."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A memory that stays but rests on what goes."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """The memory."""
    kind: Kind
    """A constraint rests on its supports, a merged memory on those it was derived from."""
    lost: int
    """How many of its supports it would lose."""
    supports: int
    """How many it has now."""


@dataclass(frozen=True, slots=True)
class ErasureReach:
    """The rows that an erasure would reach, at most 500 of each kind."""

    __pydantic_config__ = OUTPUT

    memory_ids: tuple[UUID, ...]
    """Memories that would lose their text."""
    retrieval_ids: tuple[UUID, ...]
    """Receipts that would lose lines, the newest first."""
    derived: tuple[Derived, ...]
    """Memories that would lose support, those that lose most first."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased, or would be."""

    __pydantic_config__ = OUTPUT

    erased: ErasedCounts
    """How many rows lost their text, or would."""
    dry_run: bool = False
    """Whether nothing was changed."""
    reach: ErasureReach | None = None
    """What a dry run would reach; null otherwise."""
