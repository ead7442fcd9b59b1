"""Shapes of what an agent asks and what it gets."""

from datetime import timedelta
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import MemoryFault
from memory.receipts.entities import Arm, Format, Gates, Guideline, Purpose, Reason, Timings
from memory.retrieval.entities import (
    MAX_BATCH,
    MAX_EXPIRY,
    MAX_K,
    MAX_QUERIES,
    MAX_TOKENS,
    MIN_EXPIRY,
    Advice,
    Explanation,
    Query,
    RetrievalRequest,
    ServedMemory,
)
from server.schemas.actors import TaskIn
from server.schemas.base import Flag, In, Moment, Name, Out, Refusable, UtcTime, Whole
from server.schemas.constraints import ConstraintServed
from server.schemas.meta_guidelines import MetaGuidelineServed
from server.schemas.problems import Problem


class RetrievalIn(In):
    """What an agent asks before it acts; `as_of` is required in `replay` namespaces.

    Differs from `RetrievalRequest`: the category of its task is flat and its expiry in seconds.
    """

    agent: Name
    task: TaskIn | None = None
    task_id: UUID | None = None
    k: Whole = Field(3, ge=1, le=MAX_K)
    max_tokens: Whole = Field(1_000, ge=0, le=MAX_TOKENS)
    all_rankers: Flag = False
    arm: Literal["auto", "on", "off"] = "auto"
    purpose: Purpose = Purpose.ACT
    queries: list[Annotated[Query, Refusable]] = Field(
        default_factory=list[Query], max_length=MAX_QUERIES
    )
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
        default=False, description="show how it came about; with purpose act or preview"
    )

    def to_request(self) -> RetrievalRequest:
        """Raises what broke a limit."""
        for query in self.queries:
            if isinstance(query, MemoryFault):
                raise query
        return RetrievalRequest(
            agent=self.agent,
            task=None if self.task is None else self.task.to_draft(),
            task_id=self.task_id,
            k=self.k,
            max_tokens=self.max_tokens,
            all_rankers=self.all_rankers,
            arm=self.arm,
            purpose=self.purpose,
            queries=tuple(self.queries),
            as_of=self.as_of,
            expires_in=None if self.expires_in is None else timedelta(seconds=self.expires_in),
            format=self.format,
            explain=self.explain,
        )


class RetrievalBatch(In):
    """Retrievals that are served one by one."""

    items: list[RetrievalIn] = Field(min_length=1, max_length=MAX_BATCH)


class Retrieval(Out):
    """A guideline with its receipt. With arm `control`, `forced_off`, `empty` or `suspended` the
    guideline is empty and `reason` says why; a preview has no receipt.

    Differs from `Receipt`: it has the content of what was served instead of the items.
    """

    retrieval_id: UUID | None
    agent: str
    task_id: UUID | None
    category: str
    subcategory: str | None
    confidence: float
    purpose: Purpose
    arm: Arm
    propensity: float
    eligible: bool
    reason: Reason | None
    bank_version: int
    as_of: UtcTime
    ranker: str
    rankers: dict[str, float]
    strength: float
    policy: str
    compiler: str
    guideline: Guideline
    memories: tuple[ServedMemory, ...]
    constraints: list[ConstraintServed]
    meta_guideline: MetaGuidelineServed | None
    gates: Gates
    expires_at: UtcTime
    timings: Timings
    sentences: dict[UUID, str] | None = None
    explanation: Explanation | None = None

    @classmethod
    def of(cls, advice: Advice) -> "Retrieval":
        receipt = advice.receipt
        return cls(
            retrieval_id=None if receipt.is_preview else receipt.retrieval_id,
            agent=receipt.agent,
            task_id=receipt.task_id,
            category=receipt.category,
            subcategory=receipt.subcategory,
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
            guideline=receipt.guideline,
            memories=advice.memories,
            constraints=_constraints(advice),
            meta_guideline=_meta_guideline(advice),
            gates=receipt.gates,
            expires_at=receipt.expires_at,
            timings=receipt.timings,
            sentences=_sentences(advice),
            explanation=advice.explanation,
        )


def _sentences(advice: Advice) -> dict[UUID, str] | None:
    """Where the answer is explained; a preview has no receipt to explain."""
    if advice.explanation is None or advice.receipt.is_preview:
        return None
    return {item.memory_id: item.sentence or "" for item in advice.receipt.items}


def _constraints(advice: Advice) -> list[ConstraintServed]:
    items = {item.memory_id: item for item in advice.receipt.items}
    return [ConstraintServed.of(one, items[one.memory_id]) for one in advice.constraints]


def _meta_guideline(advice: Advice) -> MetaGuidelineServed | None:
    if advice.guidance is None:
        return None
    items = {item.memory_id: item for item in advice.receipt.items}
    return MetaGuidelineServed.of(advice.guidance, items[advice.guidance.memory_id])


class RetrievalItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    retrieval: Retrieval | None = None
    problem: Problem | None = None


class RetrievalsOut(Out):
    items: list[RetrievalItem]
