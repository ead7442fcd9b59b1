"""A row that the database found, as ranking takes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from memory.kernel.normal_form import look_alike_form
from memory.receipts.entities import Item
from memory.retrieval.entities import ServedMemory
from memory.retrieval.head import Half


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row near the head: its vectors by field, its text, and its states as they were stored."""

    id: UUID
    version: int
    kind: str
    status: str
    source_group: str
    situation: str
    lesson: str
    metadata: dict[str, object]
    agent_id: UUID
    agent: str
    author: UUID | None
    category: str
    subcategory: str | None
    trust: str
    start_weight: float
    learned_at: datetime
    contradicts: tuple[UUID, ...]
    vectors: dict[str, Half]
    state: tuple[float, ...]
    touched_at: datetime | None
    n_credited: int
    n_helpful: int
    n_harmful: int
    n_absent: int
    pinned: bool
    deviation: tuple[float, ...] | None
    deviation_touched_at: datetime | None
    influence: tuple[float, ...] | None
    influence_touched_at: datetime | None
    identifiers: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Characters of its texts."""
        return len(self.situation) + len(self.lesson)

    def look_alike(self, *, prose: bool) -> str:
        """Equal for rows that say the same. In prose a lesson is said once, whatever it was learned
        about; as data, the same lesson about another situation is another observation.
        """
        lesson = look_alike_form(self.lesson)
        return lesson if prose else f"{look_alike_form(self.situation)}\n{lesson}"

    def served(self, item: Item) -> ServedMemory:
        """As an agent gets it, with the numbers it was chosen by."""
        return ServedMemory(
            memory_id=item.memory_id,
            version=item.version,
            rank=item.rank,
            similarity=item.similarity,
            relevance=item.relevance,
            fused=item.fused,
            effective_weight=item.effective_weight,
            ranking_weight=item.ranking_weight,
            score=item.score,
            scores=item.scores,
            propensity=item.propensity,
            cited=item.cited,
            situation=self.situation,
            lesson=self.lesson,
            metadata=self.metadata,
            identifiers=item.identifiers,
            agent=self.agent,
            category=self.category,
            subcategory=self.subcategory,
            learned_at=self.learned_at,
        )


def half(sent: bytes | memoryview) -> Half:
    """The wire form of a halfvec: two 16-bit counts, then big-endian halves."""
    return np.frombuffer(sent, dtype=">f2", offset=4).astype(np.float16)


def vectors_of(row: Mapping[str, Any]) -> dict[str, Half]:
    """The vectors of a row by field."""
    sent = zip(row["fields"], row["vectors"], strict=True)
    return {field: half(vector) for field, vector in sent}


def to_row(row: Mapping[str, Any]) -> FoundRow:
    deviation, influence = row["deviation"], row["influence"]
    return FoundRow(
        id=row["id"],
        version=row["version"],
        kind=row["kind"],
        status=row["status"],
        source_group=row["source_group"],
        situation=row["situation"],
        lesson=row["lesson"],
        metadata=row["metadata"],
        agent_id=row["agent_id"],
        agent=row["agent"],
        author=row["author"],
        category=row["category"],
        subcategory=row["subcategory"],
        trust=row["trust"],
        start_weight=row["start_weight"],
        learned_at=row["learned_at"],
        contradicts=tuple(row["contradicts"]),
        vectors=vectors_of(row),
        state=tuple(row["state"]),
        touched_at=row["touched_at"],
        n_credited=row["n_credited"],
        n_helpful=row["n_helpful"],
        n_harmful=row["n_harmful"],
        n_absent=row["n_absent"],
        pinned=row["pinned"],
        deviation=None if deviation is None else tuple(deviation),
        deviation_touched_at=row["deviation_touched_at"],
        influence=None if influence is None else tuple(influence),
        influence_touched_at=row["influence_touched_at"],
        identifiers=tuple(row["identifiers"]),
    )
