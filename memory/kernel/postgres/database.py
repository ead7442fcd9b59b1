"""Opens Postgres and draws the edge of a transaction: all of the block is kept, or none of it.

Every transaction runs as the application's role, inside one namespace (or none), set in the same
round trip. Faults of the driver become faults of the memory here and nowhere else.

A call that is to have its effect once only (`deferring`) has one transaction of effect: it ends
well and is committed later, with the record of the answer in it.
"""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from pydantic_core import to_json
from sqlalchemy import ClauseElement, Table, text
from sqlalchemy.dialects.postgresql.psycopg import dialect as psycopg_dialect
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import QueuePool

from memory.kernel.errors import MemoryFault, Moved, Overloaded, Unavailable, moving
from memory.kernel.postgres.migrate import sqlalchemy_url
from memory.kernel.postgres.pipelines import PipelineConnections, Rows, Statement

ROLE = "memlift_app"


POOL_EXHAUSTED = "pool_exhausted"


_ENTER = text("""
    SELECT set_config('role', :role, true), set_config('memlift.namespace', :namespace, true),
        set_config('TimeZone', 'UTC', true)
""")


_ENTER_HERE = text("""
    SELECT set_config('role', :role, true), set_config('memlift.namespace', :namespace, true),
        set_config('TimeZone', 'UTC', true), memlift_require_here(CAST(:namespace AS uuid))
""")


_HOLD = text("SELECT pg_try_advisory_lock(hashtextextended(:name, 0))")


_LET_GO = text("SELECT pg_advisory_unlock(hashtextextended(:name, 0))")


_READ_ONLY = text("SET TRANSACTION READ ONLY")


_ENTER_DRIVER = b"""
    SELECT set_config('role', %(role)s, true), set_config('memlift.namespace', %(namespace)s, true),
        set_config('TimeZone', 'UTC', true)
"""


_ENTER_HERE_DRIVER = b"""
    SELECT set_config('role', %(role)s, true), set_config('memlift.namespace', %(namespace)s, true),
        set_config('TimeZone', 'UTC', true), memlift_require_here(%(namespace)s::text::uuid)
"""


# Raised by `memlift_require_here`: of a namespace that is not served by this database.
_MOVED, _MOVING = "ML421", "ML503"


# Codes after which the same transaction, run again, may well succeed.
_CONTENTION = frozenset({"40001", "40P01", "55P03"})


# What a server that runs out of something says of itself: it can be reached, and takes no more.
_FULL = {
    "53100": ("the database's disk is full: make room on it", "database_disk_full"),
    "53200": ("the database has no memory left", "database_full"),
    "53300": ("the database takes no more connections", "database_full"),
    "53400": ("the database is at a limit of its configuration", "database_full"),
}
FULL_RETRY = 10.0
"""Seconds: sooner, nobody has made room."""


DATABASE = "database"


# A peer that is gone is noticed in some 20 seconds, not in hours.
KEEPALIVE = {
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


def process_name() -> str:
    """What this process is called among people, and among the database's connections."""
    return f"memlift {socket.gethostname()}:{os.getpid()}"


class UniqueTextTaken(Exception):
    """Another living memory has the text already; the transaction goes on from before the write."""


class Declined(Exception):
    """What is stored does not admit a statement of an exchange; nothing of it was kept."""


Connection = AsyncConnection
"""What a store is born with; use cases pass it on and never look inside."""


Driver = psycopg.AsyncConnection[Any]


class Prepared:
    """A statement of SQLAlchemy, written out once for the driver; its bound values by name."""

    def __init__(self, statement: ClauseElement) -> None:
        compiled = statement.compile(dialect=psycopg_dialect())
        self._text = str(compiled).encode()
        self._constants: dict[str, object] = {**(compiled.params or {})}

    def of(self, **values: object) -> Statement:
        return Statement(self._text, self._constants | values)


def insert_rows(
    table: Table, rows: Sequence[Mapping[str, object]], *, unless_there: bool = False
) -> Statement:
    """Writes rows of the same columns as one document, whose types the database reads; rows that
    are `unless_there` left out where a key of theirs stands already.
    """
    columns = ", ".join(rows[0])
    conflict = "ON CONFLICT DO NOTHING" if unless_there else ""
    text_ = f"""INSERT INTO {table.name} ({columns}) SELECT {columns}
        FROM json_populate_recordset(NULL::{table.name}, %(rows)s::json) {conflict}"""  # noqa: S608 - names of the schema
    written = [{name: _as_text(value) for name, value in row.items()} for row in rows]
    return Statement(text_.encode(), {"rows": to_json(written).decode()})


def _as_text(value: object) -> object:
    """What JSON has no form for."""
    return f"\\x{value.hex()}" if isinstance(value, bytes) else value


@lru_cache(maxsize=256)
def prepared(written: str) -> Prepared:
    """A statement with values by name, as `:name`."""
    return Prepared(text(written))


async def execute(connection: Connection, statement: Statement) -> None:
    """A statement of the driver, inside a transaction."""
    await connection.exec_driver_sql(statement.text.decode(), dict(statement.values))


Look = Callable[[Sequence[Statement]], Awaitable[list[Rows]]]
"""Asks the database: in one transaction of its own, or inside one that is open."""


async def look_inside(connection: Connection, statements: Sequence[Statement]) -> list[Rows]:
    """The rows of each statement, inside a transaction: one after the other, in one round trip."""
    return await ask_together(await driver_of(connection), statements)


async def ask_together(driver: Driver, statements: Sequence[Statement]) -> list[Rows]:
    """As `look_inside`, of the driver's connection."""
    cursors = [driver.cursor(binary=True, row_factory=dict_row) for _ in statements]
    async with driver.pipeline():
        for cursor, one in zip(cursors, statements, strict=True):
            await cursor.execute(one.text, one.values)
    return [await one.fetchall() if one.description else [] for one in cursors]


async def driver_of(connection: Connection) -> Driver:
    """The driver's own connection, for what SQLAlchemy would only slow down."""
    raw = await connection.get_raw_connection()
    driver: Driver | None = raw.driver_connection
    assert driver is not None
    return driver


@dataclass(slots=True)
class DeferredCommit:
    """The transaction of a call's effect, which ended well and waits to be committed."""

    connection: Connection | None = None
    _block: AbstractAsyncContextManager[Connection] | None = None
    _task: "asyncio.Task[object] | None" = None
    _afterwards: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    def hold(self, block: AbstractAsyncContextManager[Connection], connection: Connection) -> None:
        self.connection, self._block, self._task = connection, block, asyncio.current_task()

    def require_free(self) -> None:
        """A second transaction could wait for the locks of the first for ever, and would not see
        what it wrote: the effect comes last.
        """
        if self._block is not None and self._task is asyncio.current_task():
            raise RuntimeError("a transaction was opened after that of the call's effect")

    def afterwards(self, action: Callable[[], object]) -> None:
        self._afterwards.append(action)

    async def keep(self) -> None:
        """What was held stands from now on; nothing happens where nothing was."""
        if (block := self._taken()) is not None:
            await block.__aexit__(None, None, None)
        for action in self._afterwards:
            action()
        self._afterwards.clear()

    async def undo(self) -> None:
        """As if it had never been."""
        self._afterwards.clear()
        if (block := self._taken()) is not None:
            with suppress(_Undone):
                await block.__aexit__(_Undone, _Undone(), None)

    def _taken(self) -> AbstractAsyncContextManager[Connection] | None:
        block, self._block, self.connection = self._block, None, None
        return block


class _Undone(Exception):
    """Thrown into a held transaction, so that it rolls back."""


_deferred: ContextVar[DeferredCommit | None] = ContextVar("deferred_commit", default=None)


@contextmanager
def deferring() -> Generator[DeferredCommit]:
    """Inside the block a transaction of effect is held; whoever opened the block commits or undoes
    it before the block ends.
    """
    deferred = DeferredCommit()
    token = _deferred.set(deferred)
    try:
        yield deferred
    finally:
        _deferred.reset(token)


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many connections are kept, how many more there may be, and how long a request may wait
    for one. All but one of those more, and one at least, are for exchanges, which need one for
    moments.
    """

    size: int = 10
    overflow: int = 5
    timeout: timedelta = timedelta(seconds=5)

    @property
    def pipelined(self) -> int:
        return max(1, self.overflow - 1)

    @property
    def more(self) -> int:
        """Of the others, how many beyond `size`."""
        return max(0, self.overflow - self.pipelined)


class Database:
    """A pool of connections and the one way to use it."""

    def __init__(self, url: str, pool: PoolSettings | None = None) -> None:
        settings = pool or PoolSettings()
        seconds = settings.timeout.total_seconds()
        options = KEEPALIVE | {"application_name": process_name()}
        self._pipelines = PipelineConnections(url, options, settings.pipelined, seconds)
        self._engine = create_async_engine(
            sqlalchemy_url(url),
            pool_size=settings.size,
            max_overflow=settings.more,
            pool_timeout=seconds,
            # Faults go into logs, and what was asked or stored does not.
            hide_parameters=True,
            connect_args=options,
        )

    @asynccontextmanager
    async def transaction(
        self, namespace_id: UUID | None = None, *, wherever: bool = False
    ) -> AsyncGenerator[AsyncConnection]:
        """One transaction inside a namespace; None sees only the tables that hold no memory.

        Raises Moved or Unavailable where the namespace is not served here; `wherever` is for who
        moves it.
        """
        if (deferred := _deferred.get()) is not None:
            deferred.require_free()
        with translated():
            async with self._engine.begin() as connection:
                entering = _ENTER if wherever or namespace_id is None else _ENTER_HERE
                await connection.execute(
                    entering,
                    {"role": ROLE, "namespace": "" if namespace_id is None else str(namespace_id)},
                )
                yield connection

    @asynccontextmanager
    async def snapshot(self, namespace_id: UUID) -> AsyncGenerator[AsyncConnection]:
        """One transaction that writes nothing, and to which nothing changes that it has not read
        yet: for reading all of a namespace.
        """
        with translated():
            async with self._engine.connect() as connection:
                await connection.execution_options(isolation_level="REPEATABLE READ")
                async with connection.begin():
                    await connection.execute(_READ_ONLY)
                    here = {"role": ROLE, "namespace": str(namespace_id)}
                    await connection.execute(_ENTER, here)
                    yield connection

    async def gather_statistics(self, tables: Sequence[str]) -> None:
        """Tell the planner of rows that came in quantity: till then it takes a namespace for nearly
        empty, and compares each row of one table with each of another. The database finds out by
        itself within some minutes, as it does where this login may not tell it.
        """
        with translated():
            async with self._engine.begin() as connection:
                await connection.execute(text(f"ANALYZE {', '.join(tables)}"))

    async def exchange(
        self, statements: Sequence[Statement], namespace_id: UUID | None = None
    ) -> list[Rows]:
        """The rows of each statement, all in one transaction and one round trip. Raises Declined,
        and nothing is kept, where what is stored does not admit one of them.
        """
        if (deferred := _deferred.get()) is not None:
            deferred.require_free()
        here = "" if namespace_id is None else str(namespace_id)
        enter = _ENTER_DRIVER if namespace_id is None else _ENTER_HERE_DRIVER
        entering = Statement(enter, {"role": ROLE, "namespace": here})
        with translated():
            try:
                return (await self._pipelines.exchange([entering, *statements]))[1:]
            except (psycopg.IntegrityError, psycopg.DataError) as fault:
                raise Declined from fault

    @property
    def is_deferring(self) -> bool:
        """Whether the effect of the call at hand is held, to be committed with its answer."""
        return _deferred.get() is not None

    @asynccontextmanager
    async def effect(self, namespace_id: UUID | None = None) -> AsyncGenerator[AsyncConnection]:
        """The last transaction of a use case, which creates what the call is about. Inside
        `deferring` it is committed with the record of the call, else at the end of the block.
        """
        deferred = _deferred.get()
        if deferred is None:
            async with self.transaction(namespace_id) as connection:
                yield connection
            return
        block = self.transaction(namespace_id)
        connection = await block.__aenter__()
        try:
            yield connection
        except BaseException as fault:
            await block.__aexit__(type(fault), fault, fault.__traceback__)
            raise
        deferred.hold(block, connection)

    def afterwards(self, action: Callable[[], object]) -> None:
        """Do this when the effect is committed: at once, unless it is held."""
        if (deferred := _deferred.get()) is None:
            action()
        else:
            deferred.afterwards(action)

    @asynccontextmanager
    async def login(self) -> AsyncGenerator[AsyncConnection]:
        """A transaction as the login itself: for questions about the server, never for memory."""
        with translated():
            async with self._engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def holding(self, name: str) -> AsyncGenerator[bool]:
        """Whether the name is held by nobody else, and so by the block: a lock of the session, on a
        connection of its own that is in no transaction.
        """
        with translated():
            engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
            async with engine.connect() as connection:
                held = await connection.scalar(_HOLD, {"name": name})
                try:
                    yield bool(held)
                finally:
                    await _let_go(connection, name)

    def gauges(self) -> dict[str, int]:
        """Connections of the pool: how many are out, how many lie inside, how many it may have."""
        pool = self._engine.pool
        assert isinstance(pool, QueuePool)
        return {
            "checked_out": pool.checkedout() + self._pipelines.out,
            "checked_in": pool.checkedin() + self._pipelines.kept,
            "size": pool.size() + self._pipelines.most,
        }

    async def close(self) -> None:
        self._pipelines.close()
        await self._engine.dispose()


async def _let_go(connection: AsyncConnection, name: str) -> None:
    """At once, as far as the database can be reached: who is next need not wait until it notices
    that the connection is closed.
    """
    try:
        with suppress(DBAPIError):
            await connection.execute(_LET_GO, {"name": name})
    finally:
        await connection.invalidate()


@asynccontextmanager
async def undone(connection: Connection) -> AsyncGenerator[None]:
    """What the block writes is rolled back at its end, while the transaction goes on."""
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
    except (PoolTimeout, TimeoutError) as fault:
        raise Unavailable(
            "every database connection is busy", code=POOL_EXHAUSTED, retry_after=1
        ) from fault
    except OperationalError as fault:
        raise _operational(fault) from fault
    except psycopg.OperationalError as fault:
        raise _operational(fault) from fault
    except psycopg.DatabaseError as fault:
        if (elsewhere := _elsewhere(fault)) is not None:
            raise elsewhere from fault
        raise
    except DBAPIError as fault:
        if (elsewhere := _elsewhere(fault.orig)) is not None:
            raise elsewhere from fault
        if fault.connection_invalidated:
            raise Unavailable("the database went away", code=DATABASE, retry_after=1) from fault
        raise


def _elsewhere(fault: BaseException | None) -> MemoryFault | None:
    """What `memlift_require_here` has against the transaction, where the fault is one of its."""
    if not isinstance(fault, psycopg.Error):
        return None
    if fault.sqlstate == _MOVING:
        return moving()
    return Moved(str(fault.diag.message_primary)) if fault.sqlstate == _MOVED else None


def _operational(fault: OperationalError | psycopg.Error) -> Overloaded | Unavailable:
    driver = fault.orig if isinstance(fault, OperationalError) else fault
    state = getattr(driver, "sqlstate", None)
    if state in _CONTENTION:
        return Overloaded("another writer was faster", code="contention", retry_after=1)
    if state in _FULL:
        detail, code = _FULL[state]
        return Unavailable(detail, code=code, retry_after=FULL_RETRY)
    return Unavailable("the database cannot be reached", code=DATABASE, retry_after=1)
