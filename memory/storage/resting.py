"""RestingStore: what rests on memories and tasks that may go, seen through one namespace."""

from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.domain.bank import Kind
from memory.domain.browsing import MAX_FORESEEN, Derived
from memory.storage.erasure import Reach


class RestingStore:
    """Receipts whose lines cite what would go, and memories that were derived from it."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def retrievals(self, reach: Reach) -> tuple[UUID, ...]:
        """Receipts that would lose lines, the newest first, at most MAX_FORESEEN."""
        rows = await self._connection.execute(_RETRIEVALS, self._values(reach))
        return tuple(row.id for row in rows)

    async def derived(self, reach: Reach) -> tuple[Derived, ...]:
        """Memories that stay and lose support, those that lose most first."""
        rows = await self._connection.execute(_DERIVED, self._values(reach))
        return tuple(Derived(row.id, Kind(row.kind), row.lost, row.supports) for row in rows)

    def _values(self, reach: Reach) -> dict[str, object]:
        return {
            "ns": self._namespace_id,
            "ids": list(reach.memory_ids),
            "tasks": list(reach.task_ids),
            "limit": MAX_FORESEEN,
        }


_RETRIEVALS = text("""
    SELECT DISTINCT i.retrieval_id AS id FROM retrieval_item i
    WHERE i.namespace_id = :ns AND i.memory_id = ANY(CAST(:ids AS uuid[])) AND i.cited
    ORDER BY id DESC LIMIT :limit
""")

# A constraint rests on its supports, a merged memory on those it was derived from.
_DERIVED = text("""
    SELECT m.id, m.kind,
        coalesce(s.lost, 0) + coalesce(d.lost, 0) AS lost,
        coalesce(s.supports, 0) + cardinality(m.derived_from) AS supports
    FROM memory m
    LEFT JOIN LATERAL (
        SELECT count(*) FILTER (WHERE x.task_id = ANY(CAST(:tasks AS uuid[]))) AS lost,
            count(*) AS supports
        FROM constraint_support x WHERE x.memory_id = m.id AND x.counts
    ) s ON true
    LEFT JOIN LATERAL (
        SELECT count(*) AS lost FROM unnest(m.derived_from) AS origin
        WHERE origin = ANY(CAST(:ids AS uuid[]))
    ) d ON true
    WHERE m.namespace_id = :ns AND m.erased_at IS NULL
      AND NOT m.id = ANY(CAST(:ids AS uuid[]))
      AND coalesce(s.lost, 0) + coalesce(d.lost, 0) > 0
    ORDER BY lost DESC, m.id LIMIT :limit
""")
