"""Shapes of retrievals and receipts where the wire differs."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import MemoryFault
from memory.kernel.fields import CallerKey
from memory.kernel.text import KEY, optional_exact
from memory.receipts.entities import Arm, Gates, Purpose, Reason, Timings
from memory.receipts.guideline_entities import Guideline, PastError
from memory.receipts.list_entities import ReceiptFilter
from memory.receipts.search_entities import QueriesBy, Search
from memory.retrieval.entities import (
    MAX_BATCH,
    Advice,
    Explanation,
    RetrievalRequest,
    ServedMemory,
)
from memory.tenancy.entities import PolicyName
from server.schemas.base import AgentQuery, In, Moment, Name, Out, Refusable, UtcTime, named
from server.schemas.constraints import ConstraintServed
from server.schemas.meta_guidelines import MetaGuidelineServed
from server.schemas.problems import BatchItem


class ReceiptQuery(AgentQuery):
    """pending: nothing was reported, and it has not expired; answered: with an outcome in effect,
    or in that of its pair; noted: what was reported moves nothing; expired: nothing was reported,
    and it is too late; all: every receipt. `order` is by when they were made.
    """

    state: Literal["pending", "answered", "noted", "expired", "all"] = "all"
    category: Name | None = None
    arm: Arm | None = None
    task_key: CallerKey | None = None
    trace_id: CallerKey | None = None
    order: Literal["oldest", "newest"] = "oldest"
    words: Name | None = None
    """Words of the task: all stand in its text, in any order and case; 16 at most."""
    since: Moment | None = None
    """Known then or later."""
    before: Moment | None = None
    """Known before then."""
    min_reward: float | None = Field(None, ge=0, le=1)
    """The least reward of an outcome that no other replaced."""
    max_reward: float | None = Field(None, ge=0, le=1)
    """The largest reward of an outcome that no other replaced."""

    def to_filter(self) -> ReceiptFilter:
        return ReceiptFilter(
            state=self.state,
            agent=self.agent_name(),
            category=named(self.category, "category"),
            arm=self.arm,
            task_key=optional_exact(self.task_key, "task_key", KEY),
            trace_id=optional_exact(self.trace_id, "trace_id", KEY),
            newest_first=self.order == "newest",
            words=named(self.words, "words"),
            since=self.since,
            before=self.before,
            min_reward=self.min_reward,
            max_reward=self.max_reward,
        )


class RetrievalBatch(In):
    """Retrievals that are served one by one."""

    items: list[Annotated[RetrievalRequest, Refusable]] = Field(min_length=1, max_length=MAX_BATCH)
    """The items, in the order of the batch."""

    def requests(self) -> Sequence[RetrievalRequest | MemoryFault]:
        """Each request, or the limit that it broke."""
        return self.items


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
    policy: PolicyName
    compiler: str
    guideline: Guideline
    memories: tuple[ServedMemory, ...]
    """The served experiences, with their texts."""
    constraints: list[ConstraintServed]
    """The served constraints."""
    meta_guideline: MetaGuidelineServed | None
    """The meta-guideline that the guideline was compiled by."""
    gates: Gates
    search: Search
    past_error: PastError | None
    """What went wrong when this agent tried a task like this one, where that was asked."""
    expires_at: UtcTime
    timings: Timings
    sentences: dict[UUID, str] | None = None
    """Why each memory was served, where it was asked."""
    explanation: Explanation | None = None
    """Every stage with its numbers, where it was asked."""

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
            past_error=receipt.past_error,
            search=receipt.search or Search(QueriesBy.TASK),
            expires_at=receipt.expires_at,
            timings=receipt.timings,
            sentences=_sentences(advice),
            explanation=advice.explanation,
        )


def _sentences(advice: Advice) -> dict[UUID, str] | None:
    """Where the answer is explained; a preview has no receipt to explain."""
    if advice.explanation is None or advice.receipt.is_preview:
        return None
    items = (item for item in advice.receipt.items if not item.left_out)
    return {item.memory_id: item.sentence or "" for item in items}


def _constraints(advice: Advice) -> list[ConstraintServed]:
    items = {item.memory_id: item for item in advice.receipt.items}
    return [ConstraintServed.of(one, items[one.memory_id]) for one in advice.constraints]


def _meta_guideline(advice: Advice) -> MetaGuidelineServed | None:
    if advice.guidance is None:
        return None
    items = {item.memory_id: item for item in advice.receipt.items}
    return MetaGuidelineServed.of(advice.guidance, items[advice.guidance.memory_id])


class RetrievalItem(BatchItem):
    """The result of one item of a batch."""

    retrieval: Retrieval | None = None
    """The retrieval; null where it was refused."""


class RetrievalsOut(Out):
    items: list[RetrievalItem]
    """The items, in the order of the batch."""
