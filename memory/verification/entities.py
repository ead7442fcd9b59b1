"""Verification's nouns: lessons that outcomes bring, tickets to try them, trials and their end."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.text import LESSON, NAME, SITUATION, cleaned, optional
from memory.tasks.entities import CategoryName

MAX_CLAIM = 64


@dataclass(frozen=True, slots=True)
class ReportedLesson:
    """What the reporter of an outcome would do otherwise; without `situation` the task stands for
    it.
    """

    lesson: str
    situation: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lesson", cleaned(self.lesson, "lesson.lesson", LESSON))
        situation = optional(self.situation, "lesson.situation", SITUATION)
        object.__setattr__(self, "situation", situation)

    def stored(self) -> dict[str, str | None]:
        return {"lesson": self.lesson, "situation": self.situation}


@dataclass(frozen=True, slots=True)
class Run:
    """A run with memory that has its reward. `group`: what its task stands or falls with."""

    id: UUID
    task: UUID
    group: str
    reward: float


class TicketState(StrEnum):
    """`decided`: trials or a manager said so. `expired`: nobody did in time, or the text changed.
    `quarantined`: claimed too often without a word.
    """

    OPEN = "open"
    LEASED = "leased"
    DECIDED = "decided"
    EXPIRED = "expired"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class TrialSlot:
    """A run that is asked for, and its reward once it is there.

    `reference` is the reward without the candidate; None: the trial brings its own, as `without`.
    """

    slot: int
    purpose: str
    task_id: UUID
    task: str
    reference: float | None
    reward: float | None
    reward_without: float | None
    agent: str | None
    self_verified: bool | None
    reported_at: datetime | None


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request to try a candidate before it is used."""

    id: UUID
    memory_id: UUID
    version: int
    author: str
    category: CategoryName
    guideline: str
    metric: str
    reward_kind: str
    state: TicketState
    claims: int
    leased_to: str | None
    lease_until: datetime | None
    decision: str | None
    reason: str | None
    evidence: str | None
    trials: tuple[TrialSlot, ...]
    known_at: datetime
    recorded_at: datetime
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class TicketFilter:
    state: str | None = None
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """An agent asks for candidates to try."""

    agent: str
    category: str | None = None
    limit: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", cleaned(self.agent, "agent", NAME))
        object.__setattr__(self, "category", optional(self.category, "category", NAME))
        if not 1 <= self.limit <= MAX_CLAIM:
            raise Rejected(f"limit must lie in 1…{MAX_CLAIM}", field="limit", limit=MAX_CLAIM)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """How one trial went: `reward`, or `value` with `truth` in the ticket's metric; `without` is
    the same agent's result without the candidate.
    """

    slot: int
    reward: float | None = None
    value: Mapping[str, object] | None = None
    truth: Mapping[str, object] | None = None
    without: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class TrialReport:
    """What the holder of a ticket found out."""

    agent: str
    metric: str
    trials: tuple[TrialResult, ...]
    known_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", cleaned(self.agent, "agent", NAME))


@dataclass(frozen=True, slots=True)
class Reported:
    """The ticket after a report; `replayed` where every trial of it was known already."""

    ticket: Ticket
    replayed: bool


@dataclass(frozen=True, slots=True)
class CandidateView:
    """An outcome that was bad enough to learn from, and what became of its lesson."""

    outcome_id: UUID
    state: str
    reason: str | None
    claims: int
    memory_id: UUID | None
    recorded_at: datetime
    finished_at: datetime | None
