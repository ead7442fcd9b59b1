"""Rows of one namespace go from one database to another with all that they are: their ids, times
and secrets. The databases themselves write and read the bytes (`COPY`), so no number is rounded.

What changed since a place is told by the transaction that wrote a row (`xmin`): no trigger, and no
writer that waits. What was deleted is told by the number of rows, and then by their keys.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from psycopg import sql
from sqlalchemy import Table, text
from sqlalchemy.exc import IntegrityError

from memory.kernel.postgres.database import Connection, driver_of
from memory.schema import metadata

NOT_MOVED: Mapping[str, str] = {
    "row_change": "follows the transactions of one database, and is fed by the copy itself",
    "job_run": "is about the timetable of one server",
    "namespace_move": "is about the place of a namespace, not about what is in it",
}
"""Tables with a namespace whose rows stay where they are, and why."""


APPENDED = "audit"
"""Its rows are never deleted: a place that has had the namespace before keeps its own."""


# What a namespace has that nobody has used: who made it, with which call, and what a job counted.
_WRITTEN_BY_ITSELF = ("namespace", "audit", "idempotency", "health_sample")


# Of tables whose rows stand as they were written: the columns that may be written again.
_REWRITTEN: Mapping[str, tuple[str, ...]] = {
    "audit": ("detail",),
    "weight_event": ("superseded_by",),
}


# What is believed, as the ledger is folded: compared whole before a namespace changes its place.
BELIEFS = (
    *("memory_weight", "weight_deviation", "influence", "cell", "noise", "strength", "usage"),
    *("ranker_record", "effect_day"),
)


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table whose rows move, and how one knows those of a namespace."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    model_columns: frozenset[str]
    """Columns that name a model, which each database calls by an id of its own."""
    model_lists: frozenset[str]
    """Columns that name several."""

    @property
    def which(self) -> str:
        # A call that still runs has had no effect, and the place it would answer from is this one.
        own = "id" if self.name == "namespace" else "namespace_id"
        done = " AND state = 'done'" if self.name == "idempotency" else ""
        return f"{own} = :ns{done}"


@cache
def moved_tables() -> tuple[MovedTable, ...]:
    """The namespace itself, and all that is in it; parents first."""
    found = [
        table
        for table in metadata.sorted_tables
        if table.name == "namespace" or ("namespace_id" in table.c and table.name not in NOT_MOVED)
    ]
    return tuple(_moved(table) for table in found)


def _moved(table: Table) -> MovedTable:
    names_model = {one.name for one in table.c if one.name == "model_id"}
    lists = {one.name for one in table.c if one.name == "former_model_ids"}
    return MovedTable(
        table.name,
        tuple(one.name for one in table.c),
        tuple(one.name for one in table.primary_key),
        frozenset(names_model),
        frozenset(lists),
    )


@dataclass(frozen=True, slots=True)
class TableFacts:
    """How many rows a table has of a namespace, and what they come to."""

    rows: int
    digest: int | None = None
    """Of all bytes of all rows, whatever their order; None where only the number was asked."""


class RowsRefused(Exception):
    """The target has a row that stands in the way of one of the source."""


class RowSource:
    """Reads one namespace, inside one snapshot. `models` are the other database's ids of models."""

    def __init__(
        self, connection: Connection, namespace_id: UUID, models: Mapping[UUID, UUID]
    ) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._models = models

    async def place(self) -> str:
        """The oldest transaction whose rows this snapshot may not see."""
        found = await self._connection.scalar(
            text("SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text")
        )
        return str(found)

    def rows(self, table: MovedTable, since: str | None) -> sql.Composable:
        """The statement that reads the rows that were written since that place, or all."""
        columns = _expressions(table, table.columns, self._models)
        newer = "" if since is None else f" AND {_newer(since)}"
        return self._bound(f"SELECT {columns} FROM {table.name} WHERE {table.which}{newer}")  # noqa: S608 - names of the schema, and a number

    def keys(self, table: MovedTable) -> sql.Composable:
        """The statement that reads the keys of all rows."""
        columns = _expressions(table, table.keys, self._models)
        return self._bound(f"SELECT {columns} FROM {table.name} WHERE {table.which}")  # noqa: S608 - names of the schema

    async def changed(self, places: Mapping[str, str]) -> list[MovedTable]:
        """The tables with rows that were written since their places, and those without a place."""
        asked = " UNION ALL ".join(
            f"SELECT '{table.name}' WHERE EXISTS (SELECT 1 FROM {table.name}"  # noqa: S608 - names of the schema, and a number
            f" WHERE {table.which} AND {_newer(places[table.name])})"
            for table in moved_tables()
            if table.name in places
        )
        if not asked:
            return list(moved_tables())
        found = set(await self._connection.scalars(text(asked), {"ns": self._namespace_id}))
        return [one for one in moved_tables() if one.name in found or one.name not in places]

    async def facts(self, digested: Collection[str]) -> dict[str, TableFacts]:
        """Of each table, as the target would have it."""
        return await _facts(self._connection, self._namespace_id, self._models, digested)

    def _bound(self, statement: str) -> sql.Composable:
        # COPY takes no values beside its text.
        before, after = statement.split(":ns")
        return sql.SQL(before) + sql.Literal(self._namespace_id) + sql.SQL(after)  # pyright: ignore[reportArgumentType] - made of names of the schema


class RowTarget:
    """Writes one namespace that nobody enters yet, inside the caller's transaction."""

    def __init__(self, connection: Connection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def take(self, source: Connection, rows: sql.Composable, table: MovedTable) -> int:
        """The rows that the statement reads at the source stand here as they are there; how
        many. Raises RowsRefused.
        """
        taken = await self._stage(source, rows, table, table.columns)
        if taken:
            try:
                await self._lay(table)
            except IntegrityError as fault:
                raise RowsRefused(table.name) from fault
        return taken

    async def _lay(self, table: MovedTable) -> None:
        same = " AND ".join(f"t.{one} = s.{one}" for one in table.keys)
        plain = [one for one in table.columns if one not in table.keys]
        others = _REWRITTEN.get(table.name, plain)
        # Rows that are there come first: what they give up, a new one may need.
        if others:
            values = ", ".join(f"{one} = s.{one}" for one in others)
            await self._do(
                f"UPDATE {table.name} t SET {values} FROM pg_temp.moved s WHERE {same}"  # noqa: S608 - names of the schema
            )
        listed = ", ".join(table.columns)
        await self._do(
            f"INSERT INTO {table.name} ({listed}) SELECT {listed} FROM pg_temp.moved s"  # noqa: S608 - names of the schema
            f" WHERE NOT EXISTS (SELECT 1 FROM {table.name} t WHERE {same})"
        )

    async def prune(self, source: Connection, keys: sql.Composable, table: MovedTable) -> int:
        """Rows whose keys the source does not have go; how many."""
        await self._stage(source, keys, table, table.keys)
        same = " AND ".join(f"t.{one} = s.{one}" for one in table.keys)
        gone = await self._connection.execute(
            text(
                f"DELETE FROM {table.name} t WHERE t.namespace_id = :ns"  # noqa: S608 - names of the schema
                f" AND NOT EXISTS (SELECT 1 FROM pg_temp.moved s WHERE {same})"
            ),
            {"ns": self._namespace_id},
        )
        return gone.rowcount

    async def facts(self, digested: Collection[str]) -> dict[str, TableFacts]:
        return await _facts(self._connection, self._namespace_id, {}, digested)

    async def is_empty(self) -> bool:
        """Whether nobody ever wrote to the namespace, and no key is for it."""
        found = " OR ".join(
            f"EXISTS (SELECT 1 FROM {table.name} WHERE namespace_id = :ns)"  # noqa: S608 - names of the schema
            for table in moved_tables()
            if table.name not in _WRITTEN_BY_ITSELF
        )
        return not await self._connection.scalar(
            text(f"SELECT {found}"), {"ns": self._namespace_id}
        )

    async def clear(self, *, kept: Sequence[str]) -> int:
        """All rows but those of the tables that are kept go; how many."""
        gone = 0
        for table in reversed(moved_tables()):
            if table.name not in ("namespace", APPENDED, *kept):
                done = await self._connection.execute(
                    text(f"DELETE FROM {table.name} WHERE namespace_id = :ns"),  # noqa: S608 - a name of the schema
                    {"ns": self._namespace_id},
                )
                gone += done.rowcount
        return gone

    async def _stage(
        self, source: Connection, rows: sql.Composable, table: MovedTable, columns: Sequence[str]
    ) -> int:
        listed = ", ".join(columns)
        await self._do("DROP TABLE IF EXISTS pg_temp.moved")
        await self._do(
            f"CREATE TEMPORARY TABLE moved ON COMMIT DROP AS SELECT {listed} FROM {table.name}"  # noqa: S608 - names of the schema
            " WITH NO DATA"
        )
        reading, writing = await driver_of(source), await driver_of(self._connection)
        out = sql.SQL("COPY ({}) TO STDOUT (FORMAT BINARY)").format(rows)
        into = sql.SQL("COPY pg_temp.moved FROM STDIN (FORMAT BINARY)")
        async with reading.cursor() as reader, writing.cursor() as writer:
            async with reader.copy(out) as blocks, writer.copy(into) as copy:
                async for block in blocks:
                    await copy.write(block)
            taken = writer.rowcount
        await self._do("ANALYZE pg_temp.moved")
        return taken

    async def _do(self, statement: str) -> None:
        await self._connection.execute(text(statement))


async def _facts(
    connection: Connection,
    namespace_id: UUID,
    models: Mapping[UUID, UUID],
    digested: Collection[str],
) -> dict[str, TableFacts]:
    asked = " UNION ALL ".join(
        f"SELECT '{table.name}' AS name, count(*) AS rows,"  # noqa: S608 - names of the schema
        f" {_digest(table, models) if table.name in digested else 'NULL::numeric'} AS digest"
        f" FROM {table.name} WHERE {table.which}"
        for table in moved_tables()
    )
    found = await connection.execute(text(asked), {"ns": namespace_id})
    return {
        row.name: TableFacts(row.rows, None if row.digest is None else int(row.digest))
        for row in found
    }


def _digest(table: MovedTable, models: Mapping[UUID, UUID]) -> str:
    # When a key was last used is written at any time, by whoever asks where it lies.
    columns = [one for one in table.columns if one != "last_used_at"]
    row = f"ROW({_expressions(table, columns, models)})::text"
    return f"sum(('x' || substr(md5({row}), 1, 15))::bit(60)::bigint)"


def _newer(place: str) -> str:
    return f"age(xmin) <= age('{int(place)}'::xid)"


def _expressions(table: MovedTable, columns: Sequence[str], models: Mapping[UUID, UUID]) -> str:
    if not models:
        return ", ".join(columns)
    turned = " ".join(f"WHEN '{here}' THEN '{there}'::uuid" for here, there in models.items())

    def expression(column: str) -> str:
        if column in table.model_columns:
            return f"CASE {column} {turned} ELSE {column} END"
        if column in table.model_lists:
            return f"ARRAY(SELECT CASE m {turned} ELSE m END FROM unnest({column}) m)"  # noqa: S608 - names of the schema
        return column

    return ", ".join(expression(one) for one in columns)


_ENTER = text("SELECT set_config('memlift.namespace', :ns, true)")
_DRAINED = text("""
    SELECT count(*) FILTER (WHERE a.xact_start < :since) AS older,
        count(*) FILTER (WHERE a.state IS NULL AND a.usename <> session_user) AS hidden
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.backend_type = 'client backend'
        AND a.pid <> pg_backend_pid()
""")
_RUNNING = text("""
    SELECT count(*) FROM idempotency
    WHERE namespace_id = :ns AND state = 'running' AND locked_until > clock_timestamp()
""")


@dataclass(frozen=True, slots=True)
class StillRunning:
    """What began before a moment and has not ended."""

    transactions: int
    hidden: int
    """Connections whose transactions this login may not see."""
    calls: int
    """Calls that have not recorded their answer."""


async def enter(connection: Connection, namespace_id: UUID) -> None:
    """From here on the transaction is inside another namespace than it began in."""
    await connection.execute(_ENTER, {"ns": str(namespace_id)})


async def moment(connection: Connection) -> datetime:
    """By the clock of the database."""
    found = await connection.scalar(text("SELECT clock_timestamp()"))
    assert isinstance(found, datetime)
    return found


async def still_running(
    connection: Connection, namespace_id: UUID, since: datetime
) -> StillRunning:
    """Asked as the login itself, outside any namespace."""
    older, hidden = (await connection.execute(_DRAINED, {"since": since})).one()
    calls = await connection.scalar(_RUNNING, {"ns": namespace_id})
    return StillRunning(older, hidden, int(calls or 0))
