"""SessionLock: an advisory lock on a connection of its own, which no pooler may share."""

from types import TracebackType
from typing import Self

import psycopg

from memory.kernel.errors import Unavailable
from memory.kernel.postgres.migrate import sqlalchemy_url

LOCK = 0x6C656164657200
"""The advisory lock of the leader."""


class SessionLock:
    """Held as long as its connection lives; another process takes it when that dies."""

    def __init__(self, url: str) -> None:
        self._url = sqlalchemy_url(url).replace("postgresql+psycopg://", "postgresql://")
        self._connection: psycopg.AsyncConnection[tuple[object, ...]] | None = None

    async def __aenter__(self) -> Self:
        try:
            self._connection = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
        except psycopg.OperationalError as fault:
            raise Unavailable("the database cannot be reached", code="database") from fault
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._connection is not None
        await self._connection.close()

    async def take(self) -> bool:
        """Take the lock if it is free."""
        return await self._asked("SELECT pg_try_advisory_lock(%s)")

    async def held(self) -> bool:
        """Whether this connection still holds it; a dead connection holds nothing."""
        try:
            return await self._asked(
                "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' "
                "AND pid = pg_backend_pid() AND ((classid::bigint << 32) | objid::bigint) = %s)"
            )
        except Unavailable:
            return False

    async def _asked(self, question: str) -> bool:
        assert self._connection is not None
        try:
            cursor = await self._connection.execute(question.encode(), (LOCK,))
            row = await cursor.fetchone()
        except psycopg.OperationalError as fault:
            raise Unavailable("the database went away", code="database") from fault
        return row is not None and bool(row[0])
