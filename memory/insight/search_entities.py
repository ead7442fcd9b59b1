"""What a search over a whole namespace finds beside memories."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class FoundReceipt:
    """A receipt whose id, task key, trace or task text was looked for."""

    retrieval_id: UUID
    known_at: datetime
    agent: str
    category: str
    arm: str
    task: str | None
    """The task's text; null once it was erased."""
