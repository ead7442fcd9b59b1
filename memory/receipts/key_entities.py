"""Receipts as who does not hold them knows them: by the key of their task, or by their trace."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ReceiptsOfKey:
    """The receipts of one task, by its caller's key, or of one trace; exactly one is named.

    `agent` and `key_id` narrow them to those of one agent, and to those that one key opened.
    """

    task_key: str | None = None
    trace_id: str | None = None
    agent: str | None = None
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class KeyedReceipt:
    """A receipt that was found by the key of its task, or by its trace."""

    retrieval_id: UUID
    agent: str
    known_at: datetime


@dataclass(frozen=True, slots=True)
class AgentTask:
    """An agent at a task, by id."""

    agent_id: UUID
    task_id: UUID
