"""Opens Postgres and draws the edge of a transaction: all of the block is kept, or none of it.

Every transaction runs as the application's role, inside one namespace (or none), set in the same
round trip. Faults of the driver become faults of the memory here and nowhere else.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import psycopg
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import QueuePool

from memory.kernel.errors import Overloaded, Unavailable
from memory.kernel.postgres.migrate import sqlalchemy_url

ROLE = "memlift_app"


_ENTER = text("""
    SELECT set_config('role', :role, true), set_config('memlift.namespace', :namespace, true),
        set_config('TimeZone', 'UTC', true)
""")


# Codes after which the same transaction, run again, may well succeed.
_CONTENTION = frozenset({"40001", "40P01", "55P03"})


class UniqueTextTaken(Exception):
    """Another living memory has the text already; the transaction goes on from before the write."""


Connection = AsyncConnection
"""What a store is born with; use cases pass it on and never look inside."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many connections are kept, and how long a request may wait for one."""

    size: int = 10
    overflow: int = 5
    timeout: timedelta = timedelta(seconds=5)


class Database:
    """A pool of connections and the one way to use it."""

    def __init__(self, url: str, pool: PoolSettings | None = None) -> None:
        settings = pool or PoolSettings()
        self._engine = create_async_engine(
            sqlalchemy_url(url),
            pool_size=settings.size,
            max_overflow=settings.overflow,
            pool_timeout=settings.timeout.total_seconds(),
        )

    @asynccontextmanager
    async def transaction(
        self, namespace_id: UUID | None = None
    ) -> AsyncGenerator[AsyncConnection]:
        """One transaction inside a namespace; None sees only the tables that hold no memory."""
        with translated():
            async with self._engine.begin() as connection:
                await connection.execute(
                    _ENTER,
                    {"role": ROLE, "namespace": "" if namespace_id is None else str(namespace_id)},
                )
                yield connection

    @asynccontextmanager
    async def login(self) -> AsyncGenerator[AsyncConnection]:
        """A transaction as the login itself: for questions about the server, never for memory."""
        with translated():
            async with self._engine.begin() as connection:
                yield connection

    def gauges(self) -> dict[str, int]:
        """Connections of the pool: how many are out, how many wait inside."""
        pool = self._engine.pool
        assert isinstance(pool, QueuePool)
        return {
            "checked_out": pool.checkedout(),
            "checked_in": pool.checkedin(),
            "size": pool.size(),
        }

    async def close(self) -> None:
        await self._engine.dispose()


@asynccontextmanager
async def undone(connection: Connection) -> AsyncGenerator[None]:
    """What the block writes is taken back at its end, while the transaction goes on."""
    savepoint = await connection.begin_nested()
    try:
        yield
    finally:
        await savepoint.rollback()


@contextmanager
def translated() -> Generator[None]:
    """Driver faults as memory faults: what may pass says when to come back."""
    try:
        yield
    except PoolTimeout as fault:
        raise Unavailable(
            "every database connection is busy", code="pool_exhausted", retry_after=1
        ) from fault
    except OperationalError as fault:
        raise _operational(fault) from fault
    except psycopg.OperationalError as fault:
        raise _operational(fault) from fault
    except DBAPIError as fault:
        if fault.connection_invalidated:
            raise Unavailable("the database went away", code="database", retry_after=1) from fault
        raise


def _operational(fault: OperationalError | psycopg.Error) -> Overloaded | Unavailable:
    driver = fault.orig if isinstance(fault, OperationalError) else fault
    state = getattr(driver, "sqlstate", None)
    if state in _CONTENTION:
        return Overloaded("another writer was faster", code="contention", retry_after=1)
    return Unavailable("the database cannot be reached", code="database", retry_after=1)
