"""LookupStore: rows by a piece of their text or of their id, seen through one namespace."""

from uuid import UUID

from sqlalchemy import column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.insight.search_entities import FoundReceipt
from memory.kernel.postgres.rows import RowMapper

_to_receipt = RowMapper(FoundReceipt, map(column, FoundReceipt.__slots__))


class LookupStore:
    """Reads of one namespace, each one statement."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def receipts(self, sought: str, limit: int) -> list[FoundReceipt]:
        """Receipts with this id, task key or trace, or with this text in their task; the newest
        first.
        """
        values = {"ns": self._namespace_id, "sought": sought, "limit": limit}
        found = await self._connection.execute(_RECEIPTS, values | {"part": _part(sought)})
        return [_to_receipt(row) for row in found.mappings()]

    async def memories_by_id(self, tail: str, limit: int) -> list[UUID]:
        """Ids of memories that end so: as citations have them."""
        values = {"ns": self._namespace_id, "tail": _part(tail)[:-1], "limit": limit}
        return list((await self._connection.execute(_MEMORIES, values)).scalars())


def _part(sought: str) -> str:
    """The pattern for a text anywhere: what would be a wildcard stands for itself."""
    plain = sought.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{plain}%"


_RECEIPTS = text(r"""
    SELECT r.id AS retrieval_id, r.known_at, a.name AS agent, c.name AS category, r.arm,
        CASE WHEN t.erased_at IS NULL THEN t.text END AS task
    FROM retrieval r JOIN task t ON t.id = r.task_id
    JOIN agent a ON a.id = r.agent_id JOIN category c ON c.id = r.category_id
    WHERE r.namespace_id = :ns AND (
        r.id::text ILIKE :part OR t.key = :sought OR r.trace_id = :sought
        OR (t.erased_at IS NULL AND t.text ILIKE :part)
    )
    ORDER BY r.id DESC LIMIT :limit
""")


_MEMORIES = text(r"""
    SELECT id FROM memory WHERE namespace_id = :ns AND erased_at IS NULL AND id::text ILIKE :tail
    ORDER BY id DESC LIMIT :limit
""")
