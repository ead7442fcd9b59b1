"""Shapes of settlements where the wire differs from the nouns."""

from typing import Annotated

from pydantic import Field

from memory.forecasts.entities import Settled, Settlement, SettlementDraft
from memory.kernel.text import KEY
from memory.retrieval.entities import MAX_BATCH
from server.schemas.base import In, ListQuery, Out, Refusable, named
from server.schemas.problems import Problem


class SettlementBatch(In):
    """Settlements that are taken in one by one, in the order given."""

    items: list[Annotated[SettlementDraft, Refusable]] = Field(min_length=1, max_length=MAX_BATCH)


class SettlementItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    settlement: Settlement | None = None
    problem: Problem | None = None


class SettlementsTaken(Out):
    """What became of each settlement of a batch."""

    items: list[SettlementItem]


class SettlementQuery(ListQuery):
    """Settlements, all or those of an event."""

    event: str | None = Field(None, max_length=KEY)

    def event_name(self) -> str | None:
        return named(self.event, "event")


def status_of_settlement(settled: Settled) -> int:
    return 201 if settled.created else 200
