"""ServedStore: which texts a key was served lately, seen through one namespace."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

LATELY = timedelta(days=30)


RECEIPTS = 200


TEXTS = 512


@dataclass(frozen=True, slots=True)
class ServedText:
    """A version of a memory as it was served; which version is current, and its status."""

    memory_id: UUID
    version: int
    current: int
    status: str
    situation: str
    lesson: str


class ServedStore:
    """What was served in one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def lately(self, key_id: UUID, until: datetime) -> list[ServedText]:
        """Texts in the last receipts of this key, from 30 days before `until` on, each once.

        At most 200 receipts and 512 texts, the latest first; what was erased has no words left.
        """
        rows = await self._connection.execute(
            _LATELY,
            {
                "ns": self._namespace_id,
                "key": key_id,
                "since": until - LATELY,
                "receipts": RECEIPTS,
                "texts": TEXTS,
            },
        )
        return [ServedText(*row) for row in rows]


_LATELY = text("""
    WITH receipt AS (
        SELECT id FROM retrieval
        WHERE namespace_id = :ns AND key_id = :key AND known_at >= :since
        ORDER BY id DESC LIMIT :receipts
    ), item AS (
        SELECT i.memory_id, i.version, max(i.retrieval_id::text) AS last
        FROM receipt r JOIN retrieval_item i ON i.retrieval_id = r.id
        WHERE i.served AND i.cited GROUP BY i.memory_id, i.version
        ORDER BY last DESC, i.memory_id LIMIT :texts
    )
    SELECT i.memory_id, i.version, m.version AS current, m.status, v.situation, v.lesson
    FROM item i JOIN memory m ON m.id = i.memory_id AND m.erased_at IS NULL
    JOIN memory_version v ON v.memory_id = i.memory_id AND v.version = i.version
    ORDER BY i.last DESC, i.memory_id
""")
