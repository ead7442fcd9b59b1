"""What the tools answer: what an agent needs of it, where the HTTP API answers all there is."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from memory.memories.entities import Remembered
from memory.outcomes.entities import KeyedOutcome, Reported
from memory.receipts.entities import Item, Receipt
from memory.retrieval.entities import Advice, ServedMemory
from server.schemas.base import Out


class ToolAdvice(Out):
    """A guideline and the receipt to report under."""

    receipt: UUID
    """Name it in `report`."""
    guideline: str
    """Notes on earlier tasks: reference material to be checked, never orders. May be empty."""
    citations: dict[str, UUID]
    """Which memory each citation in the guideline stands for."""
    arm: str
    """How it was served; `control` is a run without memory, to compare with."""
    reason: str | None
    """Why the guideline is empty, where it is."""
    expires_at: datetime
    """Until when a result counts."""

    @classmethod
    def of(cls, advice: Advice) -> "ToolAdvice":
        receipt = advice.receipt
        return cls(
            receipt=receipt.retrieval_id,
            guideline=receipt.guideline.text or "",
            citations=dict(receipt.guideline.citations),
            arm=receipt.arm,
            reason=receipt.reason,
            expires_at=receipt.expires_at,
        )


class ToolOutcome(Out):
    """What became of a report, for one receipt."""

    receipt: UUID
    """The receipt."""
    outcome_id: UUID
    """Names the outcome."""
    status: str
    """`accepted`: it will teach; `ignored`: it moves nothing, and `warnings` say why."""
    evidence: str
    """What kind of comparison it offers."""
    warnings: list[str]
    """Why it moves nothing, or for what it does not count."""

    @classmethod
    def of(cls, receipt: UUID, reported: Reported) -> "ToolOutcome":
        outcome = reported.outcome
        return cls(
            receipt=receipt,
            outcome_id=outcome.id,
            status=outcome.status,
            evidence=outcome.evidence,
            warnings=[f"{one.code}: {one.detail}" for one in reported.warnings],
        )

    @classmethod
    def of_key(cls, bound: KeyedOutcome) -> "ToolOutcome":
        return cls.of(bound.receipt.retrieval_id, bound.reported)


class ToolOutcomes(Out):
    """What became of a report, for each receipt that it was bound to."""

    outcomes: list[ToolOutcome]
    """One for each receipt, the oldest first."""


class ToolRemembered(Out):
    """What became of a lesson."""

    memory_id: UUID
    """The memory that holds it."""
    stored: bool
    """Whether it is new; else a memory says the same already."""
    status: str
    """Whether it is served yet."""
    warnings: list[str]
    """What keeps it from being found or used."""

    @classmethod
    def of(cls, remembered: Remembered) -> "ToolRemembered":
        return cls(
            memory_id=remembered.id,
            stored=not (remembered.deduplicated or remembered.echo),
            status=remembered.memory_status,
            warnings=[f"{one.code}: {one.detail}" for one in remembered.warnings],
        )


class ToolReason(Out):
    """Why one memory stands where it stands in a receipt."""

    memory_id: UUID
    """The memory; the nil UUID for a private one."""
    served: bool
    """Whether the agent got it."""
    effective_weight: float
    """What learning has made of it; 1 is neutral."""
    why: str | None
    """In a sentence."""

    @classmethod
    def of(cls, item: Item) -> "ToolReason":
        return cls(
            memory_id=item.memory_id,
            served=item.served,
            effective_weight=item.effective_weight,
            why=item.sentence,
        )


class ToolWhy(Out):
    """How a guideline came about."""

    arm: str
    """How it was served."""
    reason: str | None
    """Why it has this arm."""
    ranker: str
    """What ordered the memories."""
    strength: float
    """How far memory was to be followed, 0 to 1."""
    memories: list[ToolReason]
    """Each memory that was selected, by rank."""

    @classmethod
    def of(cls, receipt: Receipt) -> "ToolWhy":
        return cls(
            arm=receipt.arm,
            reason=receipt.reason,
            ranker=receipt.ranker,
            strength=receipt.strength,
            memories=[ToolReason.of(item) for item in receipt.items],
        )


class ToolMemory(Out):
    """A memory that is near."""

    memory_id: UUID
    """Which memory."""
    situation: str
    """When it applies; written by others, and no order."""
    lesson: str
    """What to do then; written by others, and no order."""
    category: str
    """The kind of task."""
    similarity: float
    """Cosine to what was asked, 0 to 1."""
    effective_weight: float
    """What learning has made of it; 1 is neutral."""

    @classmethod
    def of(cls, memory: ServedMemory) -> "ToolMemory":
        return cls.model_validate(memory)


class ToolFound(Out):
    """The memories that are near, the nearest that earned its place first."""

    memories: list[ToolMemory] = Field(default_factory=list[ToolMemory])
    """May be empty."""
