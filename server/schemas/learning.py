"""Shapes of weights, the events that moved them, effects, and jobs."""

from typing import Literal
from uuid import UUID

from memory.belief.entities import WeightEvent
from memory.insight.entities import EffectView, RankersView, WeightOrder, WeightRow, WeightView
from memory.memories.entities import Kind
from server.schemas.base import (
    AgentQuery,
    In,
    ListQuery,
    Name,
    Out,
    UtcTime,
    named,
)


class WeightOut(Out):
    """A memory's weight for one agent, or for none in particular."""

    memory_id: UUID
    agent: str | None
    effective_weight: float
    ranking_weight: float
    state: dict[str, float]
    deviation: dict[str, float] | None
    served: int
    credited: int
    helpful: int
    harmful: int
    touched_at: UtcTime | None

    @classmethod
    def of(cls, view: WeightView) -> "WeightOut":
        return cls.model_validate(view)


class WeightEventOut(Out):
    """One entry of the ledger; `retrieval_id` is the receipt of its outcome."""

    bank_version: int
    position: int
    subject: str
    kind: str
    reason: str
    policy: str
    weight_before: float | None
    weight_after: float | None
    state_before: list[float] | None
    state_after: list[float]
    agent: str | None
    outcome_id: UUID | None
    known_at: UtcTime
    recorded_at: UtcTime
    superseded_by: int | None
    retrieval_id: UUID | None

    @classmethod
    def of(cls, event: WeightEvent) -> "WeightEventOut":
        return cls.model_validate(event)


class WeightRowOut(Out):
    """A line in the list of weights."""

    memory_id: UUID
    situation: str
    lesson: str
    category: str
    effective_weight: float
    served: int
    credited: int
    touched_at: UtcTime | None
    kind: Kind

    @classmethod
    def of(cls, row: WeightRow) -> "WeightRowOut":
        return cls.model_validate(row)


class AgentOnly(In):
    """For which agent."""

    agent: Name | None = None

    def agent_name(self) -> str | None:
        return named(self.agent, "agent")


class WeightQuery(AgentQuery):
    """Strongest or weakest first, as one agent's deviations have it."""

    order: Literal["strongest", "weakest"] = "strongest"

    def to_order(self) -> WeightOrder:
        return WeightOrder(agent=self.agent_name(), order=self.order)


class EffectQuery(AgentOnly):
    """For which agent and category."""

    category: Name | None = None

    def category_name(self) -> str | None:
        return named(self.category, "category")


class ArmOut(Out):
    n: int
    mean: float


class EstimateOut(Out):
    """What memory added to the reward: an error clustered by feedback date, and an interval that
    holds at every look (asymptotic, 95 %); null while too little is known to say.
    """

    n: int
    dates: int
    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    label: str


class EffectOut(Out):
    """What memory did for one agent in one category, pairs and randomised outcomes apart, and how
    far (`strength`, 0 to 1) memory is to be followed there.
    """

    agent: str
    category: str
    n: int
    arms: dict[str, ArmOut]
    paired: EstimateOut
    randomised: EstimateOut
    strength: float
    suspended: bool
    feedback_dates: int

    @classmethod
    def of(cls, view: EffectView) -> "EffectOut":
        return cls.model_validate(view)


class RankersOut(Out):
    """The guard's record of one category, or (null) of the whole namespace."""

    category: str | None
    feedback_dates: int
    probabilities: dict[str, float]
    losses: dict[str, float]

    @classmethod
    def of(cls, view: RankersView) -> "RankersOut":
        return cls.model_validate(view)


class RankerListOut(Out):
    items: list[RankersOut]


class EffectsOut(Out):
    items: list[EffectOut]


class TimetableEntry(Out):
    """A job of the timetable. Differs from `Job`: what it does is the server's."""

    name: str
    every_seconds: float
    description: str


class JobTimetable(Out):
    """All jobs, in the order in which they run."""

    items: list[TimetableEntry]


class RunQuery(ListQuery):
    """Runs of jobs, newest first."""
