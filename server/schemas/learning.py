"""Queries of weights and effects, and shapes of jobs."""

from uuid import UUID

from memory.insight.entities import Order, WeightOrder
from memory.jobs.service import JobRequest
from memory.kernel.postgres.leadership import JobRun
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


class AgentOnly(In):
    """For which agent."""

    agent: Name | None = None

    def agent_name(self) -> str | None:
        return named(self.agent, "agent")


class WeightQuery(AgentQuery):
    """Strongest or weakest first, as one agent's deviations have it.

    Differs from `WeightOrder`: it is a query, and pages.
    """

    order: Order = "strongest"

    def to_order(self) -> WeightOrder:
        return WeightOrder(agent=self.agent_name(), order=self.order)


class EffectQuery(AgentOnly):
    """For which agent and category."""

    category: Name | None = None

    def category_name(self) -> str | None:
        return named(self.category, "category")


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
