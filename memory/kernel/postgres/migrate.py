"""Brings a database to the newest schema: one migrator at a time, and success only when the head
was reached.

Three replicas may start at once on an empty database: a session advisory lock lets one migrate
while the others wait, then find nothing to do. A schema newer than this code is refused at the
start; a process that serves already goes on.
"""

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

LOCK = 0x6D656D6C696674
"""The advisory lock of the migrator: the bytes of `memlift`."""


OWNER = "memlift_owner"


def sqlalchemy_url(url: str) -> str:
    """The same address, with the driver this code speaks through."""
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url


def upgrade(url: str) -> str:
    """Bring the database at `url` to head, and say which that is. Raises Unavailable, in one line,
    when it cannot be brought there.
    """
    with _connected(url, autocommit=True) as waiting:
        waiting.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": LOCK})
        refuse_newer(_current(waiting), "the database")
        with _connected(url) as connection:
            command.upgrade(_config(connection), "head")
        if not at_head(waiting):
            raise Unavailable("the migration ran and did not reach the head", code="migration")
    return head()


def heads(url: str) -> tuple[str | None, str]:
    """(the revision the database is at, the newest this code knows)."""
    with _connected(url) as connection:
        return _current(connection), head()


@cache
def head() -> str:
    """The newest revision; two heads are a fault of the repository, refused by a test."""
    found = _scripts().get_current_head()
    assert found is not None
    return found


def at_head(connection: Connection) -> bool:
    return _current(connection) == head()


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
    return _current(connection)


def _current(connection: Connection) -> str | None:
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
