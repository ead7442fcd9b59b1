"""Whether a database server will do: new enough, with vectors, and without too much power.

Startup and `memlift doctor` ask the same questions and give the same answers.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import psycopg
from psycopg import sql
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Unavailable
from memory.kernel.fields import OUTPUT
from memory.kernel.postgres.migrate import current, head, is_newer


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of readiness."""

    __pydantic_config__ = OUTPUT

    ok: bool
    """Whether it is met."""
    detail: str
    """What was found, in words."""


OLDEST_SERVER = 16


OLDEST_VECTOR = (0, 8)


APPLICATION = "memlift_app"


OWNER = "memlift_owner"


CONNECT_SECONDS = 10


RECIPE = "see docs/how-to/run-in-production.md"


FACTS: LiteralString = """
    SELECT current_setting('server_version_num')::int / 10000,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           rolname, rolsuper OR rolbypassrls, clock_timestamp(),
           ARRAY(SELECT needed FROM unnest(%s::text[]) AS needed
                 WHERE NOT EXISTS (
                     SELECT FROM pg_roles AS role
                     WHERE role.rolname = needed AND pg_has_role(current_user, role.oid, 'MEMBER'))
           )
    FROM pg_roles WHERE rolname = current_user
"""


POWER: LiteralString = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a connection tells about its server and about itself."""

    server: int
    vector: str | None
    login: str
    login_is_mighty: bool
    missing_roles: tuple[str, ...]
    application_is_mighty: bool
    now: datetime


def facts(url: str) -> ServerFacts:
    """Ask the server. Raises Unavailable, in one line, when it does not answer."""
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
            row = connection.execute(FACTS, [[OWNER, APPLICATION]]).fetchone()
            assert row is not None
            server, vector, login, mighty, now, missing = row
            unbounded = not missing and _power_as_application(connection)
    except psycopg.Error as fault:
        raise Unavailable(f"the database does not answer: {_first_line(fault)}") from fault
    return ServerFacts(server, vector, login, mighty, tuple(missing), unbounded, now)


def _power_as_application(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(APPLICATION)))
    row = connection.execute(POWER).fetchone()
    return row is not None and bool(row[0])


def check(found: ServerFacts) -> None:
    """Raises Unavailable with the first thing to change."""
    for complaint in complaints(found):
        raise Unavailable(complaint)


def complaints(found: ServerFacts) -> list[str]:
    """Everything that must change before MemLift serves from this server; empty when nothing."""
    verdicts = (_version(found), _vector(found), _login(found), _roles(found), _power(found))
    return [verdict for verdict in verdicts if verdict is not None]


def _version(found: ServerFacts) -> str | None:
    if found.server >= OLDEST_SERVER:
        return None
    return f"Postgres {found.server} is too old: use Postgres {OLDEST_SERVER} or newer"


def _vector(found: ServerFacts) -> str | None:
    oldest = ".".join(map(str, OLDEST_VECTOR))
    if found.vector is None:
        return (
            f"this database has no vector extension: install pgvector {oldest} or newer on the "
            f"server and run CREATE EXTENSION vector as superuser ({RECIPE})"
        )
    if _numbers(found.vector) < OLDEST_VECTOR:
        return (
            f"pgvector {found.vector} is too old: install {oldest} or newer and run "
            "ALTER EXTENSION vector UPDATE as superuser"
        )
    return None


def _login(found: ServerFacts) -> str | None:
    if not found.login_is_mighty:
        return None
    return (
        f"the login {found.login} is superuser or bypasses row-level security: "
        f"connect as memlift instead ({RECIPE})"
    )


def _roles(found: ServerFacts) -> str | None:
    if not found.missing_roles:
        return None
    return f"{found.login} may not act as {', '.join(found.missing_roles)}: prepare it ({RECIPE})"


def _power(found: ServerFacts) -> str | None:
    if not found.application_is_mighty:
        return None
    return (
        f"{APPLICATION} is superuser or bypasses row-level security: "
        f"run ALTER ROLE {APPLICATION} NOSUPERUSER NOBYPASSRLS"
    )


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("-", maxsplit=1)[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def _first_line(fault: psycopg.Error) -> str:
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return lines[0] if lines else type(fault).__name__


ROLE = "memlift_app"


class ServerStore:
    """What readiness asks of the database."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def migrations(self) -> dict[str, Check]:
        """Whether the schema is the one this code was written for, or a newer one: a process that
        serves while its successors are started goes on until it is ended.
        """
        found = await self._connection.run_sync(current)
        if is_newer(found):
            said = f"the database is at {found}, this process knows {head()}: end it and start anew"
            newer = Check(ok=False, detail=said)
            return {"migrations": Check(ok=True, detail=f"past {head()}"), "schema": newer}
        if found == head():
            return {"migrations": Check(ok=True, detail=f"at {head()}")}
        return {"migrations": Check(ok=False, detail=f"not at {head()}: run `memlift migrate`")}

    async def role(self) -> Check:
        """Row-level security binds no superuser and no BYPASSRLS role."""
        row = (
            await self._connection.execute(
                text("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = :role"),
                {"role": ROLE},
            )
        ).first()
        if row is None:
            return Check(ok=False, detail=f"role {ROLE} is missing: run `memlift migrate`")
        if row.rolsuper or row.rolbypassrls:
            return Check(ok=False, detail=f"role {ROLE} is a superuser or has BYPASSRLS")
        return Check(ok=True, detail=ROLE)
