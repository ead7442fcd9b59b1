"""What a superuser does once, so that MemLift itself never needs to be one.

Three roles, one database, one extension:

    memlift          logs in, owns the database; never superuser
    memlift_owner    owns the tables; migrations act as it
    memlift_app      what every request acts as, under row-level security

The vector extension is not marked trusted, so only a superuser can create it. Everything here may
be run again.
"""

import argparse
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memory.kernel.errors import Unavailable

LOGIN = "memlift"


OWNER = "memlift_owner"


APPLICATION = "memlift_app"


DATABASE = "memlift"


NO_POWER = "NOSUPERUSER NOBYPASSRLS NOCREATEDB NOREPLICATION"


# Two replicas that prepare one server at once would race on CREATE ROLE; roles are shared by all
# databases.
PREPARING = 0x6D656D6C69667470


TAMED_CREATEROLE = 160_000


Connection = psycopg.Connection[tuple[Any, ...]]


def prepare_database(superuser_url: str, *, password: str, database: str = DATABASE) -> None:
    """Bring roles, database and extension to the state MemLift needs, whatever is there."""
    with _connected(superuser_url) as server, _alone(server):
        _make_roles(server, password)
        _make_database(server, database)
    with _connected(make_conninfo(superuser_url, dbname=database)) as inside:
        inside.execute("CREATE EXTENSION IF NOT EXISTS vector")
        inside.execute(
            sql.SQL("GRANT USAGE, CREATE ON SCHEMA public TO {}").format(sql.Identifier(OWNER))
        )


@contextmanager
def _connected(url: str) -> Generator[Connection]:
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
            yield connection
    except psycopg.Error as fault:
        said = " ".join(str(fault).split())
        raise Unavailable(f"the database could not be prepared: {said}") from fault


@contextmanager
def _alone(server: Connection) -> Generator[None]:
    server.execute("SELECT pg_advisory_lock(%s)", [PREPARING])
    yield
    server.execute("SELECT pg_advisory_unlock(%s)", [PREPARING])


def _make_roles(server: Connection, password: str) -> None:
    for name in (OWNER, APPLICATION):
        _make_role(server, name)
        server.execute(
            sql.SQL("ALTER ROLE {} NOLOGIN NOCREATEROLE " + NO_POWER).format(sql.Identifier(name))
        )
    _make_role(server, LOGIN)
    _let_log_in(server, password)
    for name in (OWNER, APPLICATION):
        server.execute(_membership(server).format(sql.Identifier(name), sql.Identifier(LOGIN)))


def _let_log_in(server: Connection, password: str) -> None:
    # Before 16, CREATEROLE could grant itself the roles that read and run files on the server.
    making = "CREATEROLE " if server.info.server_version >= TAMED_CREATEROLE else "NOCREATEROLE "
    # Hashed on this side, so that no statement log ever holds the password.
    hashed = server.pgconn.encrypt_password(password.encode(), LOGIN.encode(), b"scram-sha-256")
    server.execute(
        sql.SQL("ALTER ROLE {} LOGIN " + making + NO_POWER + " PASSWORD {}").format(
            sql.Identifier(LOGIN), sql.Literal(hashed.decode())
        )
    )


def _membership(server: Connection) -> sql.SQL:
    # Postgres 15 has no options on membership; there every member may SET ROLE and inherits.
    tamed = server.info.server_version >= TAMED_CREATEROLE
    return sql.SQL("GRANT {} TO {}" + (" WITH INHERIT TRUE, SET TRUE" if tamed else ""))


def _make_role(server: Connection, name: str) -> None:
    known = server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    if known is None:
        server.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))


def _make_database(server: Connection, database: str) -> None:
    known = server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone()
    if known is None:
        server.execute(
            sql.SQL("CREATE DATABASE {} OWNER {} ENCODING 'UTF8' TEMPLATE template0").format(
                sql.Identifier(database), sql.Identifier(LOGIN)
            )
        )
    server.execute(
        sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
            sql.Identifier(database), sql.Identifier(LOGIN)
        )
    )


def main() -> None:
    """Prepare a server of your own for MemLift: roles, database, extension."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("superuser_url", help="how a superuser reaches the server")
    parser.add_argument("--password-file", type=Path, required=True, help="the password of memlift")
    parser.add_argument("--database", default=DATABASE)
    asked = parser.parse_args()
    password = asked.password_file.read_text(encoding="utf-8").strip()
    try:
        prepare_database(asked.superuser_url, password=password, database=asked.database)
    except Unavailable as fault:
        sys.exit(fault.detail)


if __name__ == "__main__":
    main()
