"""Shapes of receipts: what was served, by which numbers, without the memories' texts."""

from collections.abc import Mapping
from typing import Literal
from uuid import UUID

from memory.memories.entities import Kind
from memory.receipts.entities import Format, Item, Receipt, ReceiptFilter
from memory.retrieval.arms import Arm
from memory.retrieval.entities import Explanation
from server.schemas.base import AgentQuery, Name, Out, UtcTime, named


class Line(Out):
    """A line of a guideline, and the memories it says."""

    text: str
    memory_ids: tuple[UUID, ...]


class Cut(Out):
    """A memory that was left out, and why."""

    memory_id: UUID
    reason: str


class Guideline(Out):
    """Advice compiled for one task; `tokens` as `counter` counts them."""

    text: str | None
    lines: list[Line]
    tokens: int
    counter: str
    cut: list[Cut]

    @classmethod
    def of(cls, receipt: Receipt, text: str | None) -> "Guideline":
        return cls(
            text=text,
            lines=[Line.model_validate(line) for line in receipt.lines],
            tokens=receipt.tokens,
            counter=receipt.counter,
            cut=[Cut.model_validate(cut) for cut in receipt.cut],
        )


class Gates(Out):
    """Raw gate on similarity, floor on the score."""

    raw: float
    score: float


class Timings(Out):
    """Milliseconds of each step before the commit; ranking includes compiling."""

    embed_ms: float
    search_ms: float
    rank_ms: float

    @classmethod
    def of(cls, timings: Mapping[str, float]) -> "Timings":
        """A step that did not run took no time."""
        return cls(**{name: timings.get(name, 0.0) for name in cls.model_fields})


class ItemOut(Out):
    """One memory in a receipt, also one that a control arm kept back."""

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
    served: bool
    cited: bool
    exploration_slot: bool
    kind: Kind
    sentence: str | None = None

    @classmethod
    def of(cls, item: Item, sentence: str | None = None) -> "ItemOut":
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
            served=item.served,
            cited=item.cited,
            exploration_slot=item.exploration_slot,
            kind=item.kind,
            sentence=sentence,
        )


class ReceiptOut(Out):
    """The record of a retrieval. `sentence` of an item is filled in by `explain`."""

    retrieval_id: UUID
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
    format: Format
    k: int
    max_tokens: int
    all_rankers: bool
    bank_version: int
    as_of: UtcTime
    ranker: str
    rankers: dict[str, float]
    strength: float
    policy: str
    compiler: str
    guideline: Guideline
    items: list[ItemOut]
    gates: Gates
    timings: Timings
    known_at: UtcTime
    recorded_at: UtcTime
    expires_at: UtcTime
    key_id: UUID | None

    @classmethod
    def of(cls, receipt: Receipt) -> "ReceiptOut":
        return cls.told(receipt, {})

    @classmethod
    def explained(cls, explanation: Explanation) -> "ReceiptOut":
        return cls.told(explanation.receipt, explanation.sentences)

    @classmethod
    def told(cls, receipt: Receipt, sentences: Mapping[UUID, str]) -> "ReceiptOut":
        return cls(
            retrieval_id=receipt.id,
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
            format=receipt.format,
            k=receipt.k,
            max_tokens=receipt.max_tokens,
            all_rankers=receipt.all_rankers,
            bank_version=receipt.bank_version,
            as_of=receipt.as_of,
            ranker=receipt.ranker,
            rankers=dict(receipt.rankers),
            strength=receipt.strength,
            policy=receipt.policy,
            compiler=receipt.compiler,
            guideline=Guideline.of(receipt, text=receipt.text),
            items=[ItemOut.of(item, sentences.get(item.memory_id)) for item in receipt.items],
            gates=Gates(raw=receipt.raw_gate, score=receipt.score_floor),
            timings=Timings.of(receipt.timings),
            known_at=receipt.known_at,
            recorded_at=receipt.recorded_at,
            expires_at=receipt.expires_at,
            key_id=receipt.key_id,
        )


class ReceiptQuery(AgentQuery):
    """pending: neither answered nor expired; answered: with an outcome in effect; expired: without
    one, too late; all: every receipt. `order` is by when they were made.
    """

    state: Literal["pending", "answered", "expired", "all"] = "all"
    category: Name | None = None
    arm: Arm | None = None
    order: Literal["oldest", "newest"] = "oldest"

    def to_filter(self) -> ReceiptFilter:
        return ReceiptFilter(
            state=self.state,
            agent=self.agent_name(),
            category=named(self.category, "category"),
            arm=self.arm,
            newest_first=self.order == "newest",
        )
