"""Shapes of experiences: brought many at once, listed by filter, taken out of use."""

import json
from typing import Annotated, cast
from uuid import UUID

from pydantic import Field

from memory.curation.entities import StatusChange
from memory.kernel.errors import Rejected
from memory.kernel.text import METADATA_BYTES, cleaned_json
from memory.memories.entities import (
    ExperienceDraft,
    HistoryDraft,
    MemoryFilter,
    RememberedWarning,
    Status,
)
from memory.retrieval.entities import MAX_BATCH
from server.schemas.base import AgentQuery, In, Name, Out, Refusable, named
from server.schemas.problems import BatchItem


class ExperienceBatch(In):
    """Experiences that are taken in one by one: a bad one does not lose the rest."""

    items: list[Annotated[ExperienceDraft, Refusable]] = Field(min_length=1, max_length=MAX_BATCH)
    """The items, in the order of the batch."""


class HistoryBatch(In):
    """A piece of history, taken in item by item: a bad one does not lose the rest."""

    items: list[Annotated[HistoryDraft, Refusable]] = Field(min_length=1, max_length=MAX_BATCH)
    """The items, in the order of the batch."""


class RememberedItem(BatchItem):
    """The result of one item of a batch. Differs from `Remembered`: an item may have a problem
    instead.
    """

    id: UUID | None = None
    """Names the memory."""
    version: int | None = None
    deduplicated: bool | None = None
    bank_version: int | None = None
    memory_status: Status | None = None
    echo: bool | None = None
    echoes: list[UUID] | None = None
    contradicts: list[UUID] | None = None
    warnings: list[RememberedWarning] | None = None


class RememberedBatch(Out):
    items: list[RememberedItem]
    """The items, in the order of the batch."""


class ExperienceQuery(AgentQuery):
    """Which memories to list; `metadata` is a JSON object that the memory's must contain."""

    status: Status | None = None
    category: Name | None = None
    metadata: str | None = Field(None, max_length=METADATA_BYTES)

    def to_filter(self) -> MemoryFilter:
        return MemoryFilter(
            status=self.status,
            category=named(self.category, "category"),
            agent=self.agent_name(),
            metadata=None if self.metadata is None else _contained(self.metadata),
        )


def _contained(text: str) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise Rejected("metadata is not JSON", field="metadata") from fault
    if not isinstance(value, dict):
        raise Rejected("metadata must be a JSON object", field="metadata")
    clean = cleaned_json(cast("dict[str, object]", value), "metadata")
    if clean != value:
        raise Rejected(
            "metadata has a text that no stored one equals: with NUL, not in form NFC, or with"
            " white space at an end",
            field="metadata",
        )
    return clean


class StatusReason(In):
    """Why a memory's status changes. Differs from `StatusChange`: the path says how."""

    reason: Name | None = None
    """Why, for the audit trail."""

    def to_change(self, action: str) -> StatusChange:
        return StatusChange(action=action, reason=self.reason)
