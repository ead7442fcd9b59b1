"""ChangeStore: what was written since a snapshot of the database, seen through one namespace.

A snapshot is what one statement saw of all transactions. What another one sees beside it are
exactly the changes whose transactions are not visible in the first, whatever the order in which
they began and ended: nothing is missed, and nothing comes twice.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.insight.change_entities import FeedPosition


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A row of the feed."""

    id: int
    kind: str
    memory_ids: tuple[UUID, ...]
    recorded_at: datetime


class ChangeStore:
    """The feed of one namespace, whose rows are kept for a day."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def head(self) -> FeedPosition | None:
        """Where a reader is who has seen everything; None where there is no such namespace."""
        rows = await self._connection.execute(_HEAD, {"ns": self._namespace_id})
        found = rows.first()
        return None if found is None else FeedPosition(found.seen, found.bank_version, found.at)

    async def read(self, position: FeedPosition, limit: int) -> list[ChangeRow]:
        """The next rows for a reader who reads up to a later snapshot, one more than asked for."""
        values = {
            "ns": self._namespace_id,
            "oldest": position.oldest,
            "seen": position.seen,
            "until": position.until,
            "last": position.last,
            "limit": limit + 1,
        }
        rows = await self._connection.execute(_READ, values)
        return [ChangeRow(row.id, row.kind, tuple(row.memory_ids), row.recorded_at) for row in rows]


_HEAD = text("""
    SELECT bank_version, pg_current_snapshot()::text AS seen, clock_timestamp() AS at
    FROM namespace WHERE id = :ns
""")


_READ = text("""
    SELECT id, kind, memory_ids, recorded_at FROM row_change
    WHERE namespace_id = :ns AND xid >= :oldest AND id > :last
      AND NOT pg_visible_in_snapshot(xid::text::xid8, CAST(:seen AS pg_snapshot))
      AND pg_visible_in_snapshot(xid::text::xid8, CAST(:until AS pg_snapshot))
    ORDER BY id LIMIT :limit
""")
