"""Shapes of what a language model was asked and said."""

from datetime import date
from typing import Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.ports import Writer
from memory.llm.entities import TokenBudget, Writing, WritingFilter
from server.schemas.base import ListQuery, Out, UtcTime


class WritingQuery(ListQuery):
    role: Literal["compile", "reflect", "summarise"] | None = None
    status: Literal["done", "failed", "stopped"] | None = None
    retrieval_id: UUID | None = None
    memory_id: UUID | None = None

    def to_filter(self) -> WritingFilter:
        return WritingFilter(self.role, self.status, self.retrieval_id, self.memory_id)


class WritingOut(Out):
    """One try. `prompt` and `answer` are empty where they were erased, where nothing was sent, and
    where `private` says that they carry text this key may not see.
    """

    id: UUID
    role: str
    model: str
    attempt: int
    status: str
    fault: str | None = Field(description="why the answer was not used, or nothing was sent")
    detail: str | None
    prompt: str
    answer: str
    tokens: int
    duration_ms: float
    retrieval_id: UUID | None
    memory_id: UUID | None
    ticket_id: UUID | None
    task_id: UUID | None
    agent: str | None
    memory_ids: list[UUID]
    private: bool
    recorded_at: UtcTime
    erased_at: UtcTime | None
    key_id: UUID | None

    @classmethod
    def of(cls, writing: Writing) -> "WritingOut":
        return cls.model_validate(writing)


class TokenBudgetOut(Out):
    """The tokens of one UTC day; `stopped` counts questions that were not asked for want of
    them.
    """

    model: str | None = Field(description="null where no language model is configured")
    day: date
    limit: int
    spent: int
    reserved: int
    left: int
    stopped: int

    @classmethod
    def of(cls, budget: TokenBudget, writer: Writer | None) -> "TokenBudgetOut":
        return cls(
            model=None if writer is None else writer.name,
            day=budget.day,
            limit=budget.limit,
            spent=budget.spent,
            reserved=budget.reserved,
            left=budget.left,
            stopped=budget.stopped,
        )
