"""Shapes of weights, the events that moved them, effects, and jobs."""

from typing import Literal
from uuid import UUID

from memory.domain.bank import Kind
from memory.domain.learning import (
    EffectView,
    JobRequest,
    JobRun,
    WeightEvent,
    WeightOrder,
    WeightRow,
    WeightView,
)
from server.schemas.base import (
    AgentQuery,
    Flag,
    Free,
    In,
    ListQuery,
    Moment,
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
    """One entry of the ledger."""

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


class PairedOut(Out):
    """Mean reward with memory minus without, on the same task."""

    n: int
    mean_difference: float
    standard_error: float | None


class EffectOut(Out):
    """What memory did for one agent in one category; arms are compared only where drawn by lot."""

    agent: str
    category: str
    n: int
    arms: dict[str, ArmOut]
    paired: PairedOut | None
    method: str = "counts and means"

    @classmethod
    def of(cls, view: EffectView) -> "EffectOut":
        return cls.model_validate(view)


class EffectsOut(Out):
    items: list[EffectOut]


class JobOut(Out):
    """A job of the timetable."""

    name: str
    every_seconds: float
    description: str


class JobsOut(Out):
    items: list[JobOut]


class JobRunIn(In):
    """`now` is required in `replay` namespaces and refused in `wall` ones."""

    now: Moment | None = None
    dry_run: Flag = False

    def to_request(self) -> JobRequest:
        return JobRequest(now=self.now, dry_run=self.dry_run)


class JobRunOut(Out):
    """One run of a job; `result` names each memory examined and changed."""

    id: UUID
    job: str
    period: str
    dry_run: bool
    state: str
    now: UtcTime
    started_at: UtcTime
    finished_at: UtcTime | None
    result: Free | None

    @classmethod
    def of(cls, run: JobRun) -> "JobRunOut":
        return cls.model_validate(run)


class RunQuery(ListQuery):
    """Runs of jobs, newest first."""
