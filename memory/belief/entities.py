"""A change of a belief, as the ledger holds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class WeightEvent:
    """One entry of the ledger; `retrieval_id` is the receipt of its outcome."""

    bank_version: int
    position: int
    subject: str
    kind: str
    reason: str
    policy: str
    weight_before: float | None
    weight_after: float | None
    state_before: Sequence[float] | None
    state_after: Sequence[float]
    agent: str | None
    outcome_id: UUID | None
    known_at: datetime
    recorded_at: datetime
    superseded_by: int | None
    retrieval_id: UUID | None = None
