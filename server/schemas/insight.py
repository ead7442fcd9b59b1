"""Queries of weights, effects and history, and the timetable of jobs."""

from pydantic import Field

from memory.insight.entities import Order, WeightOrder
from memory.memories.browse_entities import BankMoment
from server.schemas.base import (
    AgentQuery,
    In,
    ListQuery,
    Moment,
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
    """Its name in paths."""
    every_seconds: float
    """How often it runs."""
    description: str
    """What it does, in a sentence."""


class JobTimetable(Out):
    """All jobs, in the order in which they run."""

    items: list[TimetableEntry]
    """The items, in the order of the batch."""


class RunQuery(ListQuery):
    """Runs of jobs, newest first."""


MAX_VERSION = 2**62


class MomentQuery(ListQuery):
    """A moment of the bank: what was known by `as_of`, or as recorded in `bank_version`.

    Differs from `BankMoment`: it is a query, and pages.
    """

    as_of: Moment | None = None
    bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)

    def to_moment(self) -> BankMoment:
        return BankMoment(self.as_of, self.bank_version)


class DifferenceQuery(In):
    """Two moments, each by time or by version; a moment without either is now."""

    from_as_of: Moment | None = None
    from_bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)
    to_as_of: Moment | None = None
    to_bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)

    def first_moment(self) -> BankMoment:
        return BankMoment(self.from_as_of, self.from_bank_version)

    def second_moment(self) -> BankMoment:
        return BankMoment(self.to_as_of, self.to_bank_version)
