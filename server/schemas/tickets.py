"""Shapes of verification: candidates, tickets to try them, trials and their results."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.fields import Lesson, Situation
from memory.kernel.text import cleaned_json
from memory.memories.entities import MemoryEdit
from memory.verification.entities import (
    MAX_CLAIM,
    CandidateView,
    Claim,
    Ticket,
    TicketFilter,
    TrialReport,
    TrialResult,
    TrialSlot,
)
from server.schemas.base import Free, In, ListQuery, Moment, Name, Out, Share, UtcTime, Whole
from server.schemas.outcomes import Result

MAX_SLOT = 31
State = Literal["open", "leased", "decided", "expired", "quarantined"]


class ClaimIn(In):
    """An agent asks for candidates to try, for half an hour."""

    agent: Name
    category: Name | None = None
    limit: Whole = Field(1, ge=1, le=MAX_CLAIM)

    def to_claim(self) -> Claim:
        return Claim(self.agent, self.category, self.limit)


class TrialOut(Out):
    """A run that is asked for, and its reward once it is there. `reference` is the reward without
    the candidate; null: the trial brings its own, as `without`.
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
    reported_at: UtcTime | None

    @classmethod
    def of(cls, slot: TrialSlot) -> "TrialOut":
        return cls.model_validate(slot)


class TicketOut(Out):
    """A request to try a candidate before it is used, and what came of it."""

    id: UUID
    memory_id: UUID
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
    lease_until: UtcTime | None
    decision: str | None
    reason: str | None
    evidence: str | None
    trials: list[TrialOut]
    known_at: UtcTime
    recorded_at: UtcTime
    decided_at: UtcTime | None

    @classmethod
    def of(cls, ticket: Ticket) -> "TicketOut":
        named = {"category", "trials", "state"}
        plain = {name: getattr(ticket, name) for name in Ticket.__slots__ if name not in named}
        return cls(
            category=ticket.category.name,
            subcategory=ticket.category.subcategory,
            state=ticket.state.value,
            trials=[TrialOut.of(slot) for slot in ticket.trials],
            **plain,
        )


class ClaimedOut(Out):
    """The tickets leased by this call; none where nothing waits."""

    items: list[TicketOut]


class TicketQuery(ListQuery):
    """Which tickets to list."""

    state: State | None = None
    memory_id: UUID | None = None

    def to_filter(self) -> TicketFilter:
        return TicketFilter(self.state, self.memory_id)


class TrialIn(In):
    """How one trial went: `reward`, or `value` with `truth` in the ticket's metric. `without` is
    the same agent's result without the candidate.
    """

    slot: Annotated[int, Field(strict=True, ge=0, le=MAX_SLOT)]
    reward: Share | None = None
    value: Free | None = None
    truth: Free | None = None
    without: Result | None = None

    def to_result(self, place: int) -> TrialResult:
        field = f"trials.{place}"
        return TrialResult(
            slot=self.slot,
            reward=self.reward,
            value=None if self.value is None else cleaned_json(self.value, f"{field}.value"),
            truth=None if self.truth is None else cleaned_json(self.truth, f"{field}.truth"),
            without=None if self.without is None else self.without.to_mapping(f"{field}.without"),
        )


class TrialsIn(In):
    """What the holder of a ticket found out; `metric` must be the ticket's."""

    agent: Name
    metric: Name = "reward"
    trials: list[TrialIn] = Field(min_length=1, max_length=MAX_SLOT + 1)
    known_at: Moment | None = None

    def to_report(self) -> TrialReport:
        results = tuple(trial.to_result(place) for place, trial in enumerate(self.trials))
        return TrialReport(self.agent, self.metric, results, self.known_at)


class RefineIn(In):
    """A candidate in other words; what is left out stays."""

    situation: Situation | None = None
    lesson: Lesson | None = None
    known_at: Moment | None = None

    def to_edit(self) -> MemoryEdit:
        return MemoryEdit(self.situation, self.lesson, known_at=self.known_at)


class CandidateOut(Out):
    """A bad outcome, and what became of its lesson: `memory_id` is the memory made of it, or the
    twin that was there.
    """

    outcome_id: UUID
    state: str
    reason: str | None
    claims: int
    memory_id: UUID | None
    recorded_at: UtcTime
    finished_at: UtcTime | None

    @classmethod
    def of(cls, view: CandidateView) -> "CandidateOut":
        return cls.model_validate(view)


class CandidateQuery(ListQuery):
    """Which candidates to list."""

    state: (
        Literal["waiting", "proposed", "twin", "rejected_twin", "nothing", "quarantined"] | None
    ) = None
