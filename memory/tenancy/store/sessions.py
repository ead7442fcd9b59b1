"""DashboardSessionStore: who is logged in. Session ids are never stored, only their hashes."""

from datetime import datetime

from sqlalchemy import delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.session_entities import IDLE, Session
from memory.tenancy.tables import dashboard_session

_to_session = RowMapper(Session, [dashboard_session])


class DashboardSessionStore:
    """All sessions; who holds the id of one finds it."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def open(self, session: Session) -> None:
        await self._connection.execute(
            insert(dashboard_session).values(
                sha256=session.sha256,
                key_id=session.key_id,
                created_at=session.created_at,
                seen_at=session.seen_at,
                expires_at=session.expires_at,
            )
        )

    async def find(self, sha256: bytes) -> Session | None:
        row = await self._connection.execute(
            select(*_to_session.columns).where(dashboard_session.c.sha256 == sha256)
        )
        found = row.mappings().first()
        return None if found is None else _to_session(found)

    async def take(self, sha256: bytes) -> Session | None:
        """Finds and closes in one: of two that ask at once, one gets it."""
        row = await self._connection.execute(
            delete(dashboard_session)
            .where(dashboard_session.c.sha256 == sha256)
            .returning(*_to_session.columns)
        )
        found = row.mappings().first()
        return None if found is None else _to_session(found)

    async def seen(self, sha256: bytes, now: datetime) -> None:
        """Idleness counts from `now`."""
        await self._connection.execute(
            update(dashboard_session)
            .where(dashboard_session.c.sha256 == sha256, dashboard_session.c.seen_at < now)
            .values(seen_at=now)
        )

    async def close(self, sha256: bytes) -> None:
        await self._connection.execute(
            delete(dashboard_session).where(dashboard_session.c.sha256 == sha256)
        )

    async def forget(self, now: datetime) -> None:
        """Sessions that are over are dropped."""
        await self._connection.execute(
            delete(dashboard_session).where(
                or_(
                    dashboard_session.c.expires_at <= now, dashboard_session.c.seen_at <= now - IDLE
                )
            )
        )
