"""WeighingStore: which memories are weighed, for lists and for decay, seen through one
namespace.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.memories.entities import Status, Viewer
from memory.memories.store.memories import Stamp
from memory.memories.tables import LIVING, memory


@dataclass(frozen=True, slots=True)
class Living:
    """A living memory as retirement sees it. `credited` counts from its last return, and returning
    is a use: who restores a memory gives it another chance.
    """

    id: UUID
    status: str
    pinned: bool
    credited: int
    last_used: datetime


class WeighingStore:
    """Living memories of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def living(self, viewer: Viewer) -> list[UUID]:
        """Ids of the living memories that `viewer` may see."""
        rows = await self._connection.execute(
            select(memory.c.id)
            .where(memory.c.namespace_id == self._namespace_id, text(LIVING))
            .where(memory.c.owner.in_(viewer.owners))
            .order_by(memory.c.id)
        )
        return [row.id for row in rows]

    async def ever(self, viewer: Viewer) -> list[UUID]:
        """Ids of all memories, living or not, that `viewer` may see."""
        rows = await self._connection.execute(
            select(memory.c.id)
            .where(memory.c.namespace_id == self._namespace_id)
            .where(memory.c.owner.in_(viewer.owners))
        )
        return [row.id for row in rows]

    async def standing(self, now: datetime) -> list[Living]:
        """Every living memory learned by `now`, with when it was last learned, served or
        credited.
        """
        rows = await self._connection.execute(_STANDING, {"ns": self._namespace_id, "now": now})
        return [Living(**{name: row[name] for name in Living.__slots__}) for row in rows.mappings()]

    async def retire(self, reasons: Mapping[UUID, str], stamp: Stamp) -> list[UUID]:
        """Retire, each for its reason, what still lives and was not pinned since; returns which."""
        retired: list[UUID] = []
        await self._connection.execute(_HOLD, {"ns": self._namespace_id, "ids": sorted(reasons)})
        for reason in sorted(set(reasons.values())):
            ids = sorted(memory_id for memory_id, why in reasons.items() if why == reason)
            values = {"status": Status.RETIRED, "status_reason": reason}
            rows = await self._connection.execute(
                update(memory)
                .where(memory.c.namespace_id == self._namespace_id, text(LIVING))
                .where(memory.c.id.in_(ids), ~memory.c.pinned)
                .values(bank_version=stamp.bank_version, **values)
                .returning(memory.c.id)
            )
            retired.extend(row.id for row in rows)
        return retired

    async def returned(self, memory_id: UUID, at: datetime | None) -> None:
        """It begins anew for retirement: its evidence and its disuse count from here."""
        await self._connection.execute(
            _RETURNED, {"ns": self._namespace_id, "id": memory_id, "at": at}
        )


_RETURNED = text("""
    UPDATE memory m SET returned_at = :at, returned_credits = w.n_credited
    FROM memory_weight w
    WHERE m.namespace_id = :ns AND m.id = :id AND w.memory_id = m.id
""")


# Whoever changes several memories takes them in id order, against deadlock.
_HOLD = text("""
    SELECT id FROM memory WHERE namespace_id = :ns AND id = ANY(:ids)
    ORDER BY id FOR NO KEY UPDATE
""")


_STANDING = text("""
    SELECT m.id, m.status, m.pinned, w.n_credited - m.returned_credits AS credited,
        greatest(m.learned_at, m.returned_at, w.touched_at, (
            SELECT max(r.known_at) FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
            WHERE i.memory_id = m.id AND i.served)) AS last_used
    FROM memory m JOIN memory_weight w ON w.memory_id = m.id
    WHERE m.namespace_id = :ns AND m.status NOT IN ('retired', 'rejected')
      AND m.erased_at IS NULL AND m.learned_at <= :now
    ORDER BY m.id
""")
