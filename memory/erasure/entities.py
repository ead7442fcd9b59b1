"""What an erasure names, takes and would reach; rollbacks on record, and what undoing one gives
back.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from memory.insight.entities import BankDifference
from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Flag, Name
from memory.kernel.text import optional_known_name
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
        object.__setattr__(self, "agent", optional_known_name(self.agent, "agent"))
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
    """Memories that would lose their text; the nil UUID for a private one."""
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


@dataclass(frozen=True, slots=True)
class RollbackRecord:
    """A rollback on record: whose word was withdrawn, how much of it there was, whether it was
    undone.
    """

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the rollback."""
    agent: str | None
    """Name of the agent whose word was withdrawn."""
    key_id: UUID | None
    """Names the key whose word was withdrawn."""
    claims: Literal["too_high"] | None
    """`too_high` where only outcomes went that claimed too much."""
    since: datetime | None
    """Only what was recorded at this time or later."""
    until: datetime | None
    """Only what was recorded before this time."""
    outcomes: int
    """How many outcomes were withdrawn."""
    memories: int
    """How many memories retired."""
    trajectories: int
    """How many runs lost their verdict."""
    weakened: int
    """How many constraints lost support."""
    bank_version: int
    """The version of the bank after it."""
    recorded_at: datetime
    """When it was done."""
    recorded_by: UUID | None
    """The key that did it."""
    undone_at: datetime | None
    """When it was undone; null where it stands."""
    undone_by: UUID | None
    """The key that undid it."""
    can_undo: bool
    """Whether it is the newest that stands: only that one can be undone."""


@dataclass(frozen=True, slots=True)
class RollbackUndone:
    """What the undoing of a rollback gave back."""

    __pydantic_config__ = OUTPUT

    rollback_id: UUID
    """The rollback that was undone."""
    outcomes: tuple[UUID, ...]
    """The outcomes that stand again; those that had not been applied wait for it."""
    restored: tuple[UUID, ...]
    """The memories that are as they were before the rollback."""
    left: tuple[UUID, ...]
    """Those that are left as they are: changed or erased since, or another says the same now."""
    trajectories: tuple[UUID, ...]
    """The runs whose verdicts stand again."""
    supported: tuple[UUID, ...]
    """The constraints that got their support back."""
    difference: BankDifference
    """What that changed in the bank."""
    bank_version: int
    """The version of the bank afterwards."""
