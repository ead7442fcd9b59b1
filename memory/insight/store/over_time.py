"""OverTimeStore: what happened by day, and last weights, seen through one namespace."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.insight.over_time_entities import DayCounts
from memory.insight.store.worth import WITH_MEMORY
from memory.kernel.postgres.rows import RowMapper

_to_counts = RowMapper(DayCounts, map(column, DayCounts.__slots__))


class OverTimeStore:
    """Reads of one namespace, each one statement."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def counts(self, first: UUID, since: datetime) -> list[DayCounts]:
        """By day (UTC) of when it was known; `first` is no larger than the id of any of these."""
        values = {
            "ns": self._namespace_id,
            "first": first,
            "since": since,
            "arms": list(WITH_MEMORY),
        }
        rows = await self._connection.execute(_COUNTS, values)
        return [_to_counts(row) for row in rows.mappings()]

    async def last_weights(
        self, memory_ids: Sequence[UUID], limit: int
    ) -> Mapping[UUID, Sequence[float]]:
        """After each memory's last changes, the oldest first; none of what never changed."""
        values = {"ns": self._namespace_id, "ids": list(memory_ids), "limit": limit}
        rows = await self._connection.execute(_LAST_WEIGHTS, values)
        return {row.memory_id: tuple(row.weights) for row in rows}


_COUNTS = text("""
    WITH receipt AS (
        SELECT (known_at AT TIME ZONE 'UTC')::date AS day,
            count(*) FILTER (WHERE arm = ANY(:arms)) AS with_memory,
            count(*) FILTER (WHERE arm <> ALL(:arms)) AS without_memory
        FROM retrieval
        WHERE namespace_id = :ns AND id >= :first AND known_at > :since
          AND purpose <> 'replay'
        GROUP BY 1
    ), coin AS (
        SELECT (r.known_at AT TIME ZONE 'UTC')::date AS day, count(*) AS left_out
        FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
        WHERE i.namespace_id = :ns AND i.retrieval_id >= :first AND i.left_out AND i.contender
          AND i.inclusion > 0.005 AND i.inclusion < 0.995
          AND r.known_at > :since
        GROUP BY 1
    ), reported AS (
        SELECT (known_at AT TIME ZONE 'UTC')::date AS day,
            count(*) FILTER (WHERE status IN ('applied', 'accepted')) AS counted,
            count(*) FILTER (WHERE status = 'ignored') AS ignored
        FROM outcome
        WHERE namespace_id = :ns AND id >= :first AND known_at > :since
        GROUP BY 1
    )
    SELECT day, coalesce(with_memory, 0) AS with_memory,
        coalesce(without_memory, 0) AS without_memory, coalesce(left_out, 0) AS left_out,
        coalesce(counted, 0) AS counted, coalesce(ignored, 0) AS ignored
    FROM receipt FULL JOIN coin USING (day) FULL JOIN reported USING (day) ORDER BY day
""")


_LAST_WEIGHTS = text("""
    SELECT asked.id AS memory_id,
        array_agg(e.weight_after ORDER BY e.bank_version, e.position) AS weights
    FROM unnest(CAST(:ids AS uuid[])) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT weight_after, bank_version, position FROM weight_event
        WHERE namespace_id = :ns AND memory_id = asked.id AND subject = 'memory'
          AND weight_after IS NOT NULL
        ORDER BY bank_version DESC, position DESC LIMIT :limit
    ) AS e
    GROUP BY asked.id
""")
