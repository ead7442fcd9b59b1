"""Queries of weights and effects, and shapes of jobs."""

from memory.insight.entities import Order, WeightOrder
from server.schemas.base import (
    AgentQuery,
    In,
    ListQuery,
    Name,
    Out,
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
