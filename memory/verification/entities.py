"""Verification's nouns: lessons that outcomes bring, tickets to try them, trials and their end."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Lesson, Moment, Name, Share, Situation, Whole
from memory.kernel.text import (
    LESSON,
    SITUATION,
    cleaned,
    cleaned_json,
    known_name,
    optional,
    optional_known_name,
)
from memory.receipts.entities import Free, RunResult

MAX_CLAIM = 64
MAX_SLOT = 31


@dataclass(frozen=True, slots=True)
class ReportedLesson:
    """What the reporter of an outcome would do otherwise."""

    __pydantic_config__ = INPUT

    lesson: Lesson
    """What to do, in the imperative."""
    situation: Situation | None = None
    """When it applies; without it the task stands for it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lesson", cleaned(self.lesson, "lesson.lesson", LESSON))
        situation = optional(self.situation, "lesson.situation", SITUATION)
        object.__setattr__(self, "situation", situation)

    def stored(self) -> dict[str, str | None]:
        return {"lesson": self.lesson, "situation": self.situation}


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has its reward. `group`: what its task stands or falls with; `expected`: what was
    expected of its agent at such tasks before it, without memory; None where nothing was.
    """

    id: UUID
    task: UUID
    group: str
    reward: float
    expected: float | None = None


class TicketState(StrEnum):
    """`decided`: by trials or by a manager. `expired`: nobody did in time, or the text changed.
    `quarantined`: claimed too often without a result.
    """

    OPEN = "open"
    LEASED = "leased"
    DECIDED = "decided"
    EXPIRED = "expired"
    QUARANTINED = "quarantined"


class TrialPurpose(StrEnum):
    """`source`: the task the candidate came from. `other`: another task of the category, for a
    lesson that holds only where it was learned is a copy. `anchor`: a task that went well before.
    """

    SOURCE = "source"
    OTHER = "other"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class TrialSlot:
    """A run that is asked for, and its reward once it is there."""

    __pydantic_config__ = OUTPUT

    slot: int
    """Which trial of its ticket, counted from 0."""
    purpose: TrialPurpose
    """What it is to show, such as whether the lesson helps its own task or harms another."""
    task_id: UUID
    """The task to run."""
    task: str
    """The text of the task."""
    reference: float | None
    """The reward without the candidate; null where the trial brings its own, as `without`."""
    reward: float | None
    """The reward with the candidate, once it was reported."""
    reward_without: float | None
    """The reward without it that the trial brought along."""
    agent: str | None
    """Who ran it."""
    self_verified: bool | None
    """Whether the author of the candidate ran it."""
    reported_at: datetime | None
    """When it was reported."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request to try a candidate before it is used, and the result."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the ticket for ever."""
    memory_id: UUID
    """The candidate."""
    version: int
    """The version of its text that is tried."""
    author: str
    """The agent that the candidate is of."""
    category: str
    """The category of its source."""
    subcategory: str | None
    """The subcategory of its source."""
    guideline: str
    """The guideline to run the trials with."""
    metric: str
    """What the rewards are computed by."""
    reward_kind: str
    """Whether a reward is a degree (`continuous`), or 0 or 1 (`binary`)."""
    rule: Literal["gain", "wins"]
    """How its trials decide: by the gain they show or, of a changeset, by wins and losses."""
    state: TicketState
    """Whether it waits, is leased, or has its end."""
    claims: int
    """How often it was claimed."""
    leased_to: str | None
    """The agent that holds it."""
    lease_until: datetime | None
    """Until when it is held."""
    decision: str | None
    """The result for the candidate: `admitted`, `rejected` or `probation`."""
    reason: str | None
    """Why."""
    evidence: str | None
    """On what the decision rests."""
    trials: tuple[TrialSlot, ...]
    """The runs that are asked for."""
    known_at: datetime
    """When its source became known."""
    recorded_at: datetime
    """When it was made."""
    decided_at: datetime | None
    """When it had its end."""


@dataclass(frozen=True, slots=True)
class TicketFilter:
    state: str | None = None
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class TicketClaim:
    """An agent asks for candidates to try, for half an hour."""

    __pydantic_config__ = INPUT

    agent: Name
    """Who is going to try them."""
    category: Name | None = None
    """Only candidates of this category."""
    limit: Annotated[Whole, Field(ge=1, le=MAX_CLAIM)] = 1
    """How many at most."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        object.__setattr__(self, "category", optional_known_name(self.category, "category"))
        if not 1 <= self.limit <= MAX_CLAIM:
            raise Rejected(f"limit must lie in 1…{MAX_CLAIM}", field="limit", limit=MAX_CLAIM)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """How one trial went: `reward`, or `value` with `truth` in the ticket's metric."""

    __pydantic_config__ = INPUT

    slot: Annotated[Whole, Field(ge=0, le=MAX_SLOT)]
    """Which trial of the ticket."""
    reward: Share | None = None
    """The reward, 0 to 1."""
    value: Free | None = None
    """What the agent answered, in the form of the metric."""
    truth: Free | None = None
    """What came true, in the form of the metric."""
    without: RunResult | None = None
    """The same agent's result without the candidate."""

    def cleaned(self, field: str) -> "TrialResult":
        """The same, its free parts cleaned. Raises Rejected under this field's name."""
        return replace(
            self,
            value=None if self.value is None else cleaned_json(self.value, f"{field}.value"),
            truth=None if self.truth is None else cleaned_json(self.truth, f"{field}.truth"),
            without=None if self.without is None else self.without.cleaned(f"{field}.without"),
        )


@dataclass(frozen=True, slots=True)
class TrialReport:
    """What the holder of a ticket found out."""

    __pydantic_config__ = INPUT

    agent: Name
    """Who ran the trials."""
    trials: Annotated[tuple[TrialResult, ...], Field(min_length=1, max_length=MAX_SLOT + 1)]
    """How they went."""
    metric: Name = "reward"
    """What the rewards are computed by: the ticket's metric."""
    known_at: Moment | None = None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        clean = (one.cleaned(f"trials.{place}") for place, one in enumerate(self.trials))
        object.__setattr__(self, "trials", tuple(clean))


@dataclass(frozen=True, slots=True)
class TrialsReported:
    """The ticket after a report; `replayed` where every trial of it was known already."""

    ticket: Ticket
    replayed: bool


class CandidateState(StrEnum):
    """`twin`, `rejected_twin`: a memory says the same already. `nothing`: no lesson was found."""

    WAITING = "waiting"
    PROPOSED = "proposed"
    TWIN = "twin"
    REJECTED_TWIN = "rejected_twin"
    NOTHING = "nothing"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class LessonCandidate:
    """An outcome that was bad enough to learn from, and the state of its lesson."""

    __pydantic_config__ = OUTPUT

    outcome_id: UUID
    """The bad outcome."""
    state: CandidateState
    """Whether it waits, became a memory, or why not."""
    reason: str | None
    """Why it was set aside."""
    expected: float | None
    """The reward that was expected of its agent at such tasks; null where nothing was."""
    claims: int
    """How often it was worked on."""
    memory_id: UUID | None
    """The memory made of it, or the twin that was there; the nil UUID for a private one."""
    recorded_at: datetime
    """When it was queued."""
    finished_at: datetime | None
    """When it was done with."""
