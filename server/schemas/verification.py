"""Shapes of tickets and trials where the wire differs."""

from uuid import UUID

from pydantic import Field

from memory.kernel.fields import Lesson, Situation
from memory.memories.entities import MemoryEdit
from memory.verification.changeset_entities import ChangesetState
from memory.verification.entities import CandidateState, Ticket, TicketFilter, TicketState
from server.schemas.base import In, ListQuery, Moment, Out


class ClaimedTickets(Out):
    """The tickets leased by this call; none where nothing waits."""

    items: list[Ticket]
    """The items, in the order of the batch."""


class TicketQuery(ListQuery):
    """Which tickets to list. Differs from `TicketFilter`: it is paged."""

    state: TicketState | None = None
    memory_id: UUID | None = None

    def to_filter(self) -> TicketFilter:
        return TicketFilter(self.state, self.memory_id)


class Refinement(In):
    """A candidate in other words; what is left out stays. Differs from `MemoryEdit`: nothing but
    the words can be changed.
    """

    situation: Situation | None = None
    lesson: Lesson | None = None
    known_at: Moment | None = Field(None, description="when it was refined")

    def to_edit(self) -> MemoryEdit:
        return MemoryEdit(self.situation, self.lesson, known_at=self.known_at)


class ChangesetQuery(ListQuery):
    """Which changesets to list."""

    state: ChangesetState | None = None


class CandidateQuery(ListQuery):
    """Which candidates to list."""

    state: CandidateState | None = None
