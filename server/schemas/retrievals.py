"""Shapes of what an agent asks and what it gets."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal
from uuid import UUID

from pydantic import Field

from memory.constraints.entities import ServedConstraint
from memory.kernel.text import TASK
from memory.receipts.entities import Format, Item, Receipt
from memory.retrieval.entities import (
    MAX_BATCH,
    MAX_EXPIRY,
    MAX_K,
    MAX_QUERIES,
    MAX_TOKENS,
    MIN_EXPIRY,
    Ask,
    Query,
    Served,
    ServedMemory,
    Target,
)
from server.schemas.actors import TaskIn
from server.schemas.base import Flag, Free, In, Moment, Name, Out, UtcTime, Whole, hint
from server.schemas.binding import ConstraintServed
from server.schemas.meta_guidelines import MetaGuidelineServed
from server.schemas.problems import Problem
from server.schemas.receipts import Gates, Guideline, Timings
from server.schemas.workings import WorkingsOut

PREVIEW = "preview"


class QueryIn(In):
    """One angle of search: a text, and which text of a memory it is held against."""

    text: str = Field(json_schema_extra=hint(TASK))  # pyright: ignore[reportArgumentType] - JSON values
    target: Target = Target.SITUATION

    def to_query(self) -> Query:
        return Query(self.text, self.target)


class RetrievalIn(In):
    """What an agent asks before it acts; `as_of` is required in `replay` namespaces."""

    agent: Name
    task: TaskIn | None = None
    task_id: UUID | None = None
    k: Whole = Field(3, ge=1, le=MAX_K)
    max_tokens: Whole = Field(1_000, ge=0, le=MAX_TOKENS)
    all_rankers: Flag = False
    arm: Literal["auto", "on", "off"] = "auto"
    purpose: Literal["act", "paired", "replay", "preview"] = "act"
    queries: list[QueryIn] = Field(default_factory=list, max_length=MAX_QUERIES)
    as_of: Moment | None = None
    expires_in: float | None = Field(
        None,
        strict=True,
        ge=MIN_EXPIRY.total_seconds(),
        le=MAX_EXPIRY.total_seconds(),
        description="seconds after which the outcome moves nothing",
    )
    format: Format = Format.GUIDELINE
    explain: Flag = Field(
        default=False, description="show the workings; with purpose act or preview"
    )

    def to_ask(self) -> Ask:
        return Ask(
            agent=self.agent,
            task=None if self.task is None else self.task.to_draft(),
            task_id=self.task_id,
            k=self.k,
            max_tokens=self.max_tokens,
            all_rankers=self.all_rankers,
            arm=self.arm,
            purpose=self.purpose,
            queries=tuple(query.to_query() for query in self.queries),
            as_of=self.as_of,
            expires_in=None if self.expires_in is None else timedelta(seconds=self.expires_in),
            format=self.format,
            explain=self.explain,
        )


class RetrievalBatch(In):
    """Retrievals that are served one by one."""

    items: list[RetrievalIn] = Field(min_length=1, max_length=MAX_BATCH)


class MemoryServed(Out):
    """A served memory: its texts, and the numbers it was chosen by."""

    memory_id: UUID
    version: int
    rank: int
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    scores: dict[str, float | None] | None
    propensity: float
    cited: bool
    situation: str
    lesson: str
    metadata: Free
    agent: str
    category: str
    subcategory: str | None
    learned_at: UtcTime

    @classmethod
    def of(cls, memory: ServedMemory, item: Item) -> "MemoryServed":
        return cls(
            memory_id=item.memory_id,
            version=item.version,
            rank=item.rank,
            similarity=item.similarity,
            relevance=item.relevance,
            effective_weight=item.effective_weight,
            ranking_weight=item.ranking_weight,
            score=item.score,
            scores=None if item.scores is None else dict(item.scores),
            propensity=item.propensity,
            cited=item.cited,
            situation=memory.situation,
            lesson=memory.lesson,
            metadata=dict(memory.metadata),
            agent=memory.agent,
            category=memory.category.name,
            subcategory=memory.category.subcategory,
            learned_at=memory.learned_at,
        )


class Retrieval(Out):
    """A guideline with its receipt. With arm `control`, `forced_off`, `empty` or `suspended` the
    guideline is empty and `reason` says why; a preview has no receipt.
    """

    retrieval_id: UUID | None
    agent: str
    task_id: UUID | None
    category: str
    subcategory: str | None
    confidence: float
    purpose: str
    arm: str
    propensity: float
    eligible: bool
    reason: str | None
    bank_version: int
    as_of: UtcTime
    ranker: str
    rankers: dict[str, float]
    strength: float
    policy: str
    compiler: str
    guideline: Guideline
    memories: list[MemoryServed]
    constraints: list[ConstraintServed]
    meta_guideline: MetaGuidelineServed | None
    gates: Gates
    expires_at: UtcTime
    timings: Timings
    sentences: dict[UUID, str] | None = None
    explanation: WorkingsOut | None = None

    @classmethod
    def of(cls, served: Served, sentences: Mapping[UUID, str] | None = None) -> "Retrieval":
        receipt = served.receipt
        preview = receipt.purpose == PREVIEW
        return cls(
            retrieval_id=None if preview else receipt.id,
            agent=receipt.agent,
            task_id=receipt.task_id,
            category=receipt.category.name,
            subcategory=receipt.category.subcategory,
            confidence=receipt.confidence,
            purpose=receipt.purpose,
            arm=receipt.arm,
            propensity=receipt.propensity,
            eligible=receipt.eligible,
            reason=receipt.reason,
            bank_version=receipt.bank_version,
            as_of=receipt.as_of,
            ranker=receipt.ranker,
            rankers=dict(receipt.rankers),
            strength=receipt.strength,
            policy=receipt.policy,
            compiler=receipt.compiler,
            guideline=Guideline.of(receipt, text=receipt.text or ""),
            memories=_memories(receipt, served.memories),
            constraints=_constraints(receipt, served.constraints),
            meta_guideline=_meta_guideline(served),
            gates=Gates(raw=receipt.raw_gate, score=receipt.score_floor),
            expires_at=receipt.expires_at,
            timings=Timings.of(receipt.timings),
            sentences=None if sentences is None else dict(sentences),
            explanation=None if served.workings is None else WorkingsOut.of(served.workings),
        )


def _memories(receipt: Receipt, memories: tuple[ServedMemory, ...]) -> list[MemoryServed]:
    items = {item.memory_id: item for item in receipt.items}
    return [MemoryServed.of(memory, items[memory.memory_id]) for memory in memories]


def _constraints(
    receipt: Receipt, constraints: tuple[ServedConstraint, ...]
) -> list[ConstraintServed]:
    items = {item.memory_id: item for item in receipt.items}
    return [ConstraintServed.of(one, items[one.memory_id]) for one in constraints]


def _meta_guideline(served: Served) -> MetaGuidelineServed | None:
    if served.guidance is None:
        return None
    items = {item.memory_id: item for item in served.receipt.items}
    return MetaGuidelineServed.of(served.guidance, items[served.guidance.memory_id])


class RetrievalItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    retrieval: Retrieval | None = None
    problem: Problem | None = None


class RetrievalsOut(Out):
    items: list[RetrievalItem]
