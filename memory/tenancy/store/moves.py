"""MoveStore: whether a namespace is served by this database, or on its way to another one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import cast, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict, MemoryFault, Moved, arriving, moving
from memory.kernel.postgres.database import Rows, Statement
from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.tables import namespace_move

RelocationState = Literal["arriving", "paused", "moved"]


@dataclass(frozen=True, slots=True)
class Relocation:
    """How far the move of a namespace is, as one of its two databases knows it."""

    namespace_id: UUID
    state: RelocationState
    """`arriving` where it goes to; where it comes from `paused` for seconds, then `moved`."""
    paused_until: datetime | None
    """From then on it is served again, unless it has moved."""
    url: str
    """Where callers find it once it has moved."""
    places: Mapping[str, str]
    """By table, the oldest transaction at the source that may not have been copied."""
    started_at: datetime


_to_relocation = RowMapper(Relocation, [namespace_move])


def find_move(slug: str) -> Statement:
    """Reads whether the namespace of that name is served here."""
    return Statement(_FIND, {"slug": slug})


_FIND = b"""
    SELECT m.state, m.url FROM namespace_move m JOIN namespace n ON n.id = m.namespace_id
    WHERE n.slug = %(slug)s AND (m.state <> 'paused' OR m.paused_until > clock_timestamp())
"""


def why_elsewhere(rows: Rows) -> MemoryFault | None:
    """Why the namespace of that statement is not served here; None where it is."""
    if not rows:
        return None
    if rows[0]["state"] == "moved":
        return Moved(rows[0]["url"])
    return arriving() if rows[0]["state"] == "arriving" else moving()


_HOLD = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0))")


class MoveStore:
    """Moves of all namespaces; needs no namespace to be entered."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @staticmethod
    def lock_name(namespace_id: UUID) -> str:
        """What the process that moves a namespace holds in the database where it is."""
        return f"move {namespace_id}"

    async def require_at_rest(self, namespace_id: UUID) -> None:
        """Raises Conflict while a process moves the namespace; until the transaction ends none
        begins to.
        """
        if not await self._connection.scalar(_HOLD, {"name": self.lock_name(namespace_id)}):
            raise Conflict(
                "the namespace is being moved: wait until that is done, or end `memlift move` and "
                "run it with --call-off",
                code="move_running",
            )

    async def find(self, namespace_id: UUID, *, lock: bool = False) -> Relocation | None:
        """With `lock` nobody enters by a lapsed pause, or is in, until the transaction ends."""
        asked = select(namespace_move).where(namespace_move.c.namespace_id == namespace_id)
        row = await self._connection.execute(asked.with_for_update() if lock else asked)
        found = row.mappings().first()
        return None if found is None else _to_relocation(found)

    async def arrive(self, namespace_id: UUID, url: str, now: datetime) -> None:
        """Nobody enters the namespace until `open`."""
        await self._connection.execute(
            insert(namespace_move).values(
                namespace_id=namespace_id, state="arriving", url=url, started_at=now
            )
        )

    async def reached(self, namespace_id: UUID, tables: Sequence[str], place: str) -> None:
        """All that was written to the tables before that transaction has been copied."""
        places = dict.fromkeys(tables, place)
        await self._connection.execute(
            update(namespace_move)
            .where(namespace_move.c.namespace_id == namespace_id)
            .values(places=namespace_move.c.places.op("||")(cast(places, JSONB)))
        )

    async def pause(self, namespace_id: UUID, url: str, lasting: timedelta) -> None:
        """From the end of the transaction on nobody enters, for at most so long."""
        until = func.clock_timestamp() + lasting
        values = {"state": "paused", "url": url, "paused_until": until}
        changed = await self._connection.execute(
            update(namespace_move)
            .where(namespace_move.c.namespace_id == namespace_id)
            .values(values)
        )
        if not changed.rowcount:
            await self._connection.execute(
                insert(namespace_move).values(
                    namespace_id=namespace_id, started_at=func.clock_timestamp(), **values
                )
            )

    async def leave(self, namespace_id: UUID) -> bool:
        """Whether the pause still held, so that nothing was written since: from now on the
        namespace is served elsewhere. Needs the lock of `find`.
        """
        changed = await self._connection.execute(
            update(namespace_move)
            .where(
                namespace_move.c.namespace_id == namespace_id,
                namespace_move.c.state == "paused",
                namespace_move.c.paused_until > func.clock_timestamp(),
            )
            .values(state="moved", paused_until=None)
        )
        return changed.rowcount == 1

    async def tell(self, namespace_id: UUID, url: str) -> None:
        """From now on callers of a namespace that has moved are told another address."""
        await self._connection.execute(
            update(namespace_move)
            .where(namespace_move.c.namespace_id == namespace_id)
            .values(url=url)
        )

    async def open(self, namespace_id: UUID) -> bool:
        """Whether there was a move: from now on the namespace is served here."""
        gone = await self._connection.execute(
            delete(namespace_move).where(namespace_move.c.namespace_id == namespace_id)
        )
        return gone.rowcount == 1
