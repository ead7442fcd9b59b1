"""Brings a database to the newest schema: one migrator at a time, and success only when the head
was reached.

Three replicas may start at once on an empty database: a session advisory lock lets one migrate
while the others wait, then find nothing to do. A schema newer than this code is refused at the
start; a process that serves already goes on.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

import migrations
from memory.kernel.errors import Unavailable
from memory.kernel.postgres.partitions import recorded, require_new, require_number, spread

LOCK = 0x6D656D6C696674
"""The advisory lock of the migrator: the bytes of `memlift`."""


TURN_SECONDS = 0.1


OWNER = "memlift_owner"


def sqlalchemy_url(url: str) -> str:
    """The same address, with the driver this code speaks through."""
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url


def upgrade(url: str, partitions: int | None = None) -> str:
    """Bring the database at `url` to head, and say which that is. A new one is spread over so many
    `partitions`, 1 to 256; one that is spread stays so, with what a newer schema adds to it.

    Raises Unavailable, in one line, when it cannot be brought there; Rejected for a number out of
    bounds, and Conflict where the database cannot be spread so any more.
    """
    if partitions is not None:
        require_number(partitions)
    with _connected(url, autocommit=True) as waiting:
        _take_turn(waiting)
        refuse_newer(current(waiting), "the database")
        if partitions is not None:
            require_new(waiting, partitions)
        with _connected(url) as connection:
            command.upgrade(_config(connection), "head")
        if not at_head(waiting):
            raise Unavailable("the migration ran and did not reach the head", code="migration")
        parts = partitions or recorded(waiting)
        if parts is not None:
            with _connected(url) as connection:
                spread(connection, parts)
    return head()


def _take_turn(connection: Connection) -> None:
    """Wait until no other migrator is at work, between questions: one that waited inside of a
    statement would hold up whatever index is built beside it.
    """
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}):
        time.sleep(TURN_SECONDS)


def heads(url: str) -> tuple[str | None, str]:
    """(the revision the database is at, the newest this code knows)."""
    with _connected(url) as connection:
        return current(connection), head()


@cache
def head() -> str:
    """The newest revision; two heads are a fault of the repository, refused by a test."""
    found = _scripts().get_current_head()
    assert found is not None
    return found


def at_head(connection: Connection) -> bool:
    return current(connection) == head()


@contextmanager
def _connected(url: str, *, autocommit: bool = False) -> Generator[Connection]:
    level = "AUTOCOMMIT" if autocommit else "READ COMMITTED"
    engine = create_engine(sqlalchemy_url(url), poolclass=NullPool, isolation_level=level)
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as fault:
        raise Unavailable(
            f"the database refused, and nothing was changed: {_first_line(fault)}", code="database"
        ) from fault
    finally:
        engine.dispose()


def refuse_newer(current: str | None, what: str) -> None:
    """Raises Unavailable for a revision of `what` that this code does not know."""
    if is_newer(current):
        raise Unavailable(
            f"{what} is at revision {current}, which this version of memlift does not know; "
            "start the newer version that made it",
            code="schema_newer",
        )


def is_newer(current: str | None) -> bool:
    """Whether this code does not know that revision: a newer release made it."""
    return current is not None and current not in _known()


@cache
def _known() -> frozenset[str]:
    return frozenset(script.revision for script in _scripts().walk_revisions())


def current(connection: Connection) -> str | None:
    """The revision of a database that is open."""
    # The session of a pooled server may have been left with another role: read as the login itself.
    return MigrationContext.configure(connection).get_current_revision()


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(Path(migrations.__file__).parent))


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    return config


def _first_line(fault: DBAPIError) -> str:
    return str(fault.orig).strip().splitlines()[0]
