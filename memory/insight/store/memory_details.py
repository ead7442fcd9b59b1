"""MemoryDetailStore: what a memory has to do with outcomes and other memories, seen through one
namespace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.insight.entities import WeightChange
from memory.kernel.postgres.rows import RowMapper


@dataclass(frozen=True, slots=True)
class Gain:
    """What all that was served added to one outcome's reward, beyond what is usual without."""

    expected: float
    """As it was believed before."""
    actual: float


@dataclass(frozen=True, slots=True)
class Relation:
    """How another memory stands to this one, and when that came."""

    kind: Literal["refutes", "refuted_by", "contradicts", "merged_from", "merged_into"]
    memory_id: UUID
    contradiction_id: UUID | None
    """Of two constraints that contradict each other."""
    state: str | None
    """Whether that is decided."""
    at: datetime | None


_to_change = RowMapper(WeightChange, map(column, WeightChange.__slots__))
_to_relation = RowMapper(Relation, map(column, Relation.__slots__))


class MemoryDetailStore:
    """Reads of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def gains(self, outcome_ids: Sequence[UUID]) -> Mapping[UUID, Gain]:
        """By outcome; those are left out of which nothing could be expected."""
        rows = await self._connection.execute(
            _GAINS, {"ns": self._namespace_id, "ids": list(outcome_ids)}
        )
        return {row.id: Gain(row.actual - row.residual, row.actual) for row in rows}

    async def moved_by(self, outcome_id: UUID, memory_ids: Sequence[UUID]) -> list[WeightChange]:
        """What the outcome did to the weights of these memories, the furthest first."""
        values = {"ns": self._namespace_id, "id": outcome_id, "memories": list(memory_ids)}
        rows = await self._connection.execute(_MOVED, values)
        return [_to_change(row) for row in rows.mappings()]

    async def relations(self, memory_id: UUID, *, replay: bool) -> list[Relation]:
        """Of one memory, the newest first. In a replay namespace a merger, which has no time of
        its own there, stands at the newest fact that was known by then.
        """
        values = {"ns": self._namespace_id, "id": memory_id, "replay": replay}
        rows = await self._connection.execute(_RELATIONS, values)
        return [_to_relation(row) for row in rows.mappings()]


_GAINS = text("""
    SELECT id, residual, above_baseline AS actual FROM outcome
    WHERE namespace_id = :ns AND id = ANY(:ids)
      AND residual IS NOT NULL AND above_baseline IS NOT NULL
""")


_MOVED = text("""
    SELECT memory_id, weight_before AS before, weight_after AS after FROM weight_event
    WHERE namespace_id = :ns AND memory_id = ANY(:memories) AND outcome_id = :id
      AND subject = 'memory' AND superseded_by IS NULL
    ORDER BY abs(weight_after - weight_before) DESC, memory_id
""")


_RELATIONS = text("""
    WITH merged AS (
        SELECT m.id AS from_id, CAST(m.detail ->> 'merged_into' AS uuid) AS into_id,
            m.bank_version AS version
        FROM memory m WHERE m.namespace_id = :ns AND m.status_reason = 'merged'
          AND m.detail ->> 'merged_into' IS NOT NULL
          AND (m.id = :id OR m.detail ->> 'merged_into' = CAST(CAST(:id AS uuid) AS text))
    )
    SELECT 'refutes' AS kind, other AS memory_id, CAST(NULL AS uuid) AS contradiction_id,
        CAST(NULL AS text) AS state, m.learned_at AS at
    FROM memory m, unnest(m.contradicts) AS other
    WHERE m.namespace_id = :ns AND m.id = :id
    UNION ALL
    SELECT 'refuted_by', m.id, NULL, NULL, m.learned_at FROM memory m
    WHERE m.namespace_id = :ns AND :id = ANY(m.contradicts) AND m.erased_at IS NULL
    UNION ALL
    SELECT 'contradicts', CASE WHEN c.first_id = :id THEN c.second_id ELSE c.first_id END,
        c.id, c.state, c.recorded_at
    FROM contradiction c
    WHERE c.namespace_id = :ns AND (c.first_id = :id OR c.second_id = :id)
    UNION ALL
    SELECT CASE WHEN g.from_id = :id THEN 'merged_into' ELSE 'merged_from' END,
        CASE WHEN g.from_id = :id THEN g.into_id ELSE g.from_id END, NULL, NULL,
        CASE WHEN :replay THEN (SELECT max(e.known_at) FROM weight_event e
                WHERE e.namespace_id = :ns AND e.bank_version <= g.version)
            ELSE (SELECT c.recorded_at FROM change c
                WHERE c.namespace_id = :ns AND c.bank_version = g.version) END
    FROM merged g
    ORDER BY at DESC NULLS LAST, memory_id
""")
