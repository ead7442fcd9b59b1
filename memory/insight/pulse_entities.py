"""What stirs in a namespace just now: little enough to be asked for every few seconds."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.kernel.fields import OUTPUT


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """One of the newest receipts."""

    retrieval_id: UUID
    known_at: datetime
    agent: str
    category: str
    arm: str


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run of a job."""

    job: str
    state: str
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Pulse:
    """Counts that every key of the namespace may read, its newest receipts, and its jobs."""

    __pydantic_config__ = OUTPUT

    memories: int
    """Living memories of everybody, as the list of namespaces has them."""
    bank_version: int
    waiting: int
    """Outcomes that wait to be applied."""
    receipts: tuple[NewReceipt, ...]
    """The newest first."""
    jobs: tuple[LastRun, ...]
    """Each job's newest run that is not a dry one, by the job's name."""
