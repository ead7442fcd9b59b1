"""Shapes of memories of all kinds: looked through, near one another, changed many at once."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from memory.memories.browse_entities import SOUGHT, BankMoment, Browse, MemoryCriteria, Sort
from memory.memories.entities import MAX_WEIGHT, Kind, Memory, Status, Trust
from server.schemas.base import AgentQuery, Moment, Name, Out, named
from server.schemas.insight import MAX_VERSION
from server.schemas.problems import BatchItem


class MemoryQuery(AgentQuery):
    """Which memories to list, in which order, and as of when: what was known by `as_of`, or as
    recorded in `bank_version`. `text` is looked for in situation and lesson, in any case.
    """

    kind: Kind | None = None
    status: Status | None = None
    trust: Trust | None = None
    category: Name | None = None
    text: str | None = Field(None, min_length=1, max_length=SOUGHT)
    min_weight: float | None = Field(None, ge=0, le=MAX_WEIGHT)
    max_weight: float | None = Field(None, ge=0, le=MAX_WEIGHT)
    sort: Sort = Sort.RECORDED
    order: Literal["asc", "desc"] = "asc"
    as_of: Moment | None = None
    bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)

    def to_browse(self) -> Browse:
        criteria = MemoryCriteria(
            kind=self.kind,
            status=self.status,
            trust=self.trust,
            category=named(self.category, "category"),
            agent=self.agent_name(),
            text=self.text,
            min_weight=self.min_weight,
            max_weight=self.max_weight,
        )
        moment = BankMoment(self.as_of, self.bank_version)
        return Browse(criteria, self.sort, self.order == "desc", moment)


class BulkItem(BatchItem):
    """The result for one memory: its status and trust now, or the problem that kept it."""

    id: UUID
    """Names the memory."""
    memory_status: Status | None = None
    """Its status now."""
    trust: Trust | None = None
    """Whether its source is believed now."""

    @classmethod
    def of(cls, index: int, memory: Memory) -> "BulkItem":
        return cls(
            index=index,
            status=200,
            id=memory.id,
            memory_status=memory.status,
            trust=memory.trust,
        )


class BulkOut(Out):
    items: list[BulkItem]
    """The items, in the order of the batch."""
