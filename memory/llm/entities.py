"""What a language model was asked and what it said: the record of each try, and the budget."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Subject:
    """What a writing belongs to, and whose text its prompt carries.

    `retrieval_id`, `memory_id` and `ticket_id` name what came of it; `memory_ids`, `task_id` and
    `agent` are the sources that an erasure may reach.
    """

    retrieval_id: UUID | None = None
    memory_id: UUID | None = None
    ticket_id: UUID | None = None
    task_id: UUID | None = None
    agent: str | None = None
    memory_ids: tuple[UUID, ...] = ()
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Writing:
    """One try, without secrets. `status`: done; failed (`fault` says how); stopped by the budget,
    when nothing was sent. `private`: the prompt carries text that one agent alone may see.
    """

    id: UUID
    role: str
    model: str
    attempt: int
    prompt: str
    answer: str
    tokens: int
    duration_ms: float
    status: str
    fault: str | None
    detail: str | None
    retrieval_id: UUID | None
    memory_id: UUID | None
    ticket_id: UUID | None
    task_id: UUID | None
    agent: str | None
    memory_ids: tuple[UUID, ...]
    recorded_at: datetime
    erased_at: datetime | None
    key_id: UUID | None
    private: bool = False


@dataclass(frozen=True, slots=True)
class WritingFilter:
    """Which writings to list; None does not filter."""

    role: str | None = None
    status: str | None = None
    retrieval_id: UUID | None = None
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens of one namespace and UTC day; reserved ones belong to tries under way, or to
    tries whose process died. `stopped` counts the tries that were not made.
    """

    day: date
    limit: int
    spent: int
    reserved: int
    stopped: int

    @property
    def left(self) -> int:
        return max(0, self.limit - self.spent - self.reserved)
