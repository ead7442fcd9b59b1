"""Shapes of memories of all kinds: looked through, near one another, changed many at once."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from memory.curation.entities import MAX_BULK, BulkChange, TrustChange
from memory.memories.browse_entities import (
    SOUGHT,
    AgentRecord,
    BankMoment,
    Browse,
    Episode,
    ListedMemory,
    MemoryCriteria,
    Neighbour,
    Sort,
)
from memory.memories.entities import MAX_WEIGHT, Kind, Memory, Status, Trust
from server.schemas.base import AgentQuery, In, Moment, Name, Out, UtcTime, named
from server.schemas.experiences import MemoryOut
from server.schemas.history import MAX_VERSION
from server.schemas.problems import Problem


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
        sought = MemoryCriteria(
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
        return Browse(sought, self.sort, self.order == "desc", moment)


class BrowsedOut(MemoryOut):
    """A memory in a list; `served` and `credited` count until now."""

    served: int
    credited: int

    @classmethod
    def of_browsed(cls, row: ListedMemory) -> "BrowsedOut":
        known = MemoryOut.of(row.memory).model_dump()
        return cls(**known, served=row.served, credited=row.credited)


class NeighbourOut(Out):
    """A memory whose situation is near: the cosine of the vectors of the two situations."""

    memory_id: UUID
    kind: Kind
    status: Status
    agent: str
    category: str
    situation: str
    lesson: str
    effective_weight: float
    cosine: float

    @classmethod
    def of(cls, near: Neighbour) -> "NeighbourOut":
        memory = near.memory
        return cls(
            memory_id=memory.id,
            kind=memory.kind,
            status=memory.status,
            agent=memory.agent,
            category=memory.category.name,
            situation=memory.situation,
            lesson=memory.lesson,
            effective_weight=memory.effective_weight,
            cosine=near.cosine,
        )


class EpisodeOut(Out):
    """A receipt in which the memory was served; rewards of the outcome in effect, null while there
    is none, and the memory's weight around the step that it was.
    """

    retrieval_id: UUID
    known_at: UtcTime
    agent: str
    category: str
    arm: str
    version: int
    rank: int
    similarity: float
    cited: bool
    outcome_id: UUID | None
    status: str | None
    evidence: str | None
    reason: str | None
    reward: float | None
    reward_without: float | None
    weight_before: float | None
    weight_after: float | None

    @classmethod
    def of(cls, episode: Episode) -> "EpisodeOut":
        return cls.model_validate(episode)


class AgentRecordOut(Out):
    """What came of the memory for one agent in one category: means over the `n` outcomes that
    moved something, `n_pairs` of them with a reward without memory. `deviation` is the agent's, in
    reward, over all of its categories.
    """

    agent: str
    category: str
    served: int
    n: int
    reward: float | None
    n_pairs: int
    reward_without: float | None
    deviation: float | None
    effective_weight: float

    @classmethod
    def of(cls, record: AgentRecord) -> "AgentRecordOut":
        return cls.model_validate(record)


class TrustIn(In):
    """Whether the memory's source is believed; `quarantined` keeps it from all retrievals."""

    trust: Trust
    reason: Name | None = None

    def to_change(self) -> TrustChange:
        return TrustChange(self.trust, self.reason)


class BulkIn(In):
    """One action on many memories; `trust` is given with the action of that name alone."""

    ids: list[UUID] = Field(min_length=1, max_length=MAX_BULK)
    action: Literal["suspend", "retire", "restore", "trust"]
    trust: Trust | None = None
    reason: Name | None = None

    def to_bulk(self) -> BulkChange:
        return BulkChange(self.ids, self.action, self.trust, self.reason)


class BulkItem(Out):
    """What became of one memory: its status and trust now, or the problem that kept it."""

    index: int
    status: int
    id: UUID
    memory_status: Status | None = None
    trust: Trust | None = None
    problem: Problem | None = None

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
