"""Constraints as a retrieval serves them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.constraint import SupportCounts, Wording
from memory.domain.task import CategoryName


@dataclass(frozen=True, slots=True)
class ServedConstraint:
    """A served constraint's content, beside its Item; `task_ids` are the near tasks by which it was
    found, the nearest first.
    """

    memory_id: UUID
    wording: Wording
    origin: str
    support: SupportCounts
    task_ids: tuple[UUID, ...]
    agent: str
    category: CategoryName
    learned_at: datetime
