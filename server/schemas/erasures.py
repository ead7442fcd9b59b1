"""Shapes of erasures: whose text goes, how much of it, and what rests on it."""

from uuid import UUID

from memory.erasure.entities import Erased, Erasure
from memory.memories.entities import Kind
from server.schemas.base import Flag, In, Name, Out, named


class ErasureIn(In):
    """Whose text to erase: exactly one of these. A dry run changes nothing and tells the same."""

    memory_id: UUID | None = None
    agent: Name | None = None
    key_id: UUID | None = None
    task_id: UUID | None = None
    dry_run: Flag = False

    def to_erasure(self) -> Erasure:
        agent = named(self.agent, "agent")
        return Erasure(self.memory_id, agent, self.key_id, self.task_id)


class ErasedCounts(Out):
    """How many rows lost their text."""

    memories: int
    versions: int
    embeddings: int
    lines: int
    tasks: int
    writings: int
    trajectories: int


class DerivedOut(Out):
    """A memory that stays, and how many of its `supports` it would lose."""

    memory_id: UUID
    kind: Kind
    lost: int
    supports: int


class ReachOut(Out):
    """What a dry run reached, at most 500 of each; `retrieval_ids` would lose lines."""

    memory_ids: list[UUID]
    retrieval_ids: list[UUID]
    derived: list[DerivedOut]


class ErasedOut(Out):
    """What was erased, or (`dry_run`) what would be; `reach` is told by a dry run alone."""

    erased: ErasedCounts
    dry_run: bool = False
    reach: ReachOut | None = None

    @classmethod
    def of(cls, erased: Erased) -> "ErasedOut":
        return cls(erased=ErasedCounts.model_validate(erased))

    @classmethod
    def of_foreseen(cls, foreseen: ForeseenErasure) -> "ErasedOut":
        counts = ErasedCounts.model_validate(foreseen.erased)
        return cls(erased=counts, dry_run=True, reach=ReachOut.model_validate(foreseen))
