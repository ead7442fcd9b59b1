"""What the server answers about candidates and their verification, frozen. Ids are text."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Trial:
    """A run that is asked for, and its reward once it is there.

    `reference` is the reward without the candidate; None: report the trial with `without`.
    """

    slot: int
    purpose: str
    task_id: str
    task: str
    reference: float | None
    reward: float | None
    reward_without: float | None
    agent: str | None
    self_verified: bool | None
    reported_at: datetime | None


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request to try a candidate before it is used, and what came of it."""

    id: str
    memory_id: str
    version: int
    author: str
    category: str
    subcategory: str | None
    guideline: str
    metric: str
    reward_kind: str
    state: str
    claims: int
    leased_to: str | None
    lease_until: datetime | None
    decision: str | None
    reason: str | None
    evidence: str | None
    trials: tuple[Trial, ...]
    known_at: datetime
    recorded_at: datetime
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bad outcome, and what became of its lesson."""

    outcome_id: str
    state: str
    reason: str | None
    claims: int
    memory_id: str | None
    recorded_at: datetime
    finished_at: datetime | None
