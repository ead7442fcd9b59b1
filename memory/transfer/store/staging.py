"""ImportStore: rows are laid beside the tables first, where nothing is checked, and go into them
table by table, so that rows of a table may name each other and a fault finds its line.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import DataError, IntegrityError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict
from memory.kernel.postgres.database import Statement, execute
from memory.memories.tables import LIVING
from memory.tenancy.tables import namespace
from memory.transfer.entities import Manifest
from memory.transfer.shapes import Row, ValueKind
from memory.transfer.store.catalogue import TransferTable, transfer_tables

STAGE = "imported"


# Beside the rows themselves: an empty namespace may have keys, and a trail of what was done to it.
_NOT_CONTENT = ("api_key", "audit")


class LineFault(Exception):
    """What the database has against a line; `conflict` where its row is there already, `owner`
    where that is of another namespace, which bears this name.
    """

    def __init__(
        self, line: int, why: str, *, conflict: bool = False, owner: str | None = None
    ) -> None:
        super().__init__(why)
        self.line, self.why, self.conflict, self.owner = line, why, conflict, owner


@dataclass(frozen=True, slots=True)
class Destination:
    """The namespace that rows are read into."""

    id: UUID
    clock: str
    policy: str
    bank_version: int
    is_empty: bool


class ImportStore:
    """Writes into one namespace, inside the caller's transaction."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def find_destination(self) -> Destination | None:
        """The namespace, held until the transaction ends; None where it is still to be made."""
        row = (
            await self._connection.execute(
                select(namespace).where(namespace.c.id == self._namespace_id).with_for_update()
            )
        ).first()
        if row is None:
            return None
        filled = " OR ".join(
            f"EXISTS (SELECT 1 FROM {table.name} WHERE namespace_id = :ns)"  # noqa: S608 - names of the schema
            for table in transfer_tables()
            if table.name not in _NOT_CONTENT
        )
        full = await self._connection.scalar(text(f"SELECT {filled}"), {"ns": self._namespace_id})
        return Destination(row.id, row.clock, row.policy, row.bank_version, not full)

    async def create(self, slug: str, manifest: Manifest) -> None:
        """Raises Conflict where somebody made a namespace of that name just now."""
        told = manifest.namespace
        try:
            await self._connection.execute(
                insert(namespace).values(
                    id=self._namespace_id,
                    slug=slug,
                    clock=told.clock,
                    learning=told.learning,
                    policy=told.policy,
                    settings=told.settings.stored(),
                    created_at=manifest.created_at,
                )
            )
        except IntegrityError as fault:
            raise Conflict(f"a namespace called {slug} exists", code="namespace_exists") from fault

    async def take_over(self, manifest: Manifest) -> None:
        """An empty namespace becomes what the file's was."""
        told = manifest.namespace
        await self._connection.execute(
            update(namespace)
            .where(namespace.c.id == self._namespace_id)
            .values(
                clock=told.clock,
                learning=told.learning,
                policy=told.policy,
                settings=told.settings.stored(),
                version=namespace.c.version + 1,
            )
        )

    async def finish(self, manifest: Manifest, model_id: UUID | None) -> None:
        """What the namespace says of its rows, once they are there."""
        await self._connection.execute(
            _FINISH,
            {
                "ns": self._namespace_id,
                "version": manifest.bank_version,
                "newest": manifest.newest_known_at,
                "signal": manifest.signal,
                "model": model_id,
            },
        )

    async def ids(self, table: str) -> list[UUID]:
        """Of all rows of a table that names its rows by id."""
        rows = f"SELECT id FROM {table} WHERE namespace_id = :ns ORDER BY id"  # noqa: S608 - names of the schema
        return list(await self._connection.scalars(text(rows), {"ns": self._namespace_id}))

    async def open_stage(self, table: TransferTable, columns: Sequence[str]) -> None:
        """A place for rows of `table`, which have these columns."""
        await self._connection.execute(text(f"DROP TABLE IF EXISTS pg_temp.{STAGE}"))
        listed = ", ".join(
            f"NULL::text AS {name}" if table.shapes[name].kind is ValueKind.DOCUMENT else name
            for name in columns
        )
        await self._connection.execute(
            text(
                f"CREATE TEMPORARY TABLE {STAGE} ON COMMIT DROP AS"  # noqa: S608 - names of the schema
                f" SELECT 0 AS line, {listed} FROM {table.name} WITH NO DATA"
            )
        )

    async def lay(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        """Rows with their `line` beside the columns. Raises LineFault."""
        try:
            async with self._connection.begin_nested():
                await self._lay(rows, columns)
        except DataError as fault:
            if len(rows) == 1:
                raise LineFault(rows[0]["line"], _first_line(fault)) from fault
            for row in rows:
                await self.lay([row], columns)

    async def _lay(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        listed = ", ".join(("line", *columns))
        statement = (
            f"INSERT INTO pg_temp.{STAGE} ({listed}) SELECT {listed}"  # noqa: S608 - names of the schema
            f" FROM json_populate_recordset(NULL::pg_temp.{STAGE}, %(rows)s::json)"
        )
        told = json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        await execute(self._connection, Statement(statement.encode(), {"rows": told}))

    async def require_references(self, table: TransferTable, columns: Sequence[str]) -> None:
        """Whatever a row names has to be in the file, or in this namespace: the database itself
        would be content with a row of another. Raises LineFault.
        """
        await self._connection.execute(text(f"ANALYZE pg_temp.{STAGE}"))
        for one in table.references:
            if one.column not in columns:
                continue
            own = ""
            if one.table == table.name:
                same = f"o.{one.key} = s.{one.column}"
                own = f"AND NOT EXISTS (SELECT 1 FROM pg_temp.{STAGE} o WHERE {same})"  # noqa: S608 - names of the schema
            line = await self._connection.scalar(
                text(
                    f"SELECT s.line FROM pg_temp.{STAGE} s WHERE s.{one.column} IS NOT NULL {own}"  # noqa: S608 - names of the schema
                    f" AND NOT EXISTS (SELECT 1 FROM {one.table} p"
                    f" WHERE p.{one.key} = s.{one.column} AND p.namespace_id = :ns)"
                    " ORDER BY s.line LIMIT 1"
                ),
                {"ns": self._namespace_id},
            )
            if line is not None:
                raise LineFault(line, f"{one.column} names a row of {one.table} that is not there")

    async def move(self, table: TransferTable, columns: Sequence[str], *, skip: bool) -> int:
        """From beside the table into it; how many rows. With `skip` those that are there stay.
        Raises LineFault.
        """
        try:
            async with self._connection.begin_nested():
                moved = await self._move(table, columns, skip=skip)
        except (IntegrityError, DataError, OperationalError) as fault:
            raise await self._found_fault(table, columns, skip=skip, fault=fault) from fault
        if skip:
            await self._require_all(table)
        return moved

    async def _move(
        self,
        table: TransferTable,
        columns: Sequence[str],
        *,
        skip: bool,
        until: int | None = None,
    ) -> int:
        listed = ", ".join(columns)
        values = ", ".join(
            f"s.{name}::jsonb" if table.shapes[name].kind is ValueKind.DOCUMENT else f"s.{name}"
            for name in columns
        )
        # A key that is read in opens nothing: no token has an empty hash.
        secret = (", sha256", ", ''::bytea") if table.name == "api_key" else ("", "")
        keys = ", ".join(_primary_key(table))
        done = await self._connection.execute(
            text(
                f"INSERT INTO {table.name} (namespace_id, {listed}{secret[0]})"  # noqa: S608 - names of the schema
                f" SELECT CAST(:ns AS uuid), {values}{secret[1]} FROM pg_temp.{STAGE} s"
                f" WHERE CAST(:until AS integer) IS NULL OR s.line <= :until ORDER BY s.line"
                + (f" ON CONFLICT ({keys}) DO NOTHING" if skip else "")
            ),
            {"ns": self._namespace_id, "until": until},
        )
        return done.rowcount

    async def _found_fault(
        self, table: TransferTable, columns: Sequence[str], *, skip: bool, fault: Exception
    ) -> LineFault:
        """The first line with which the rows up to it are refused, by halving."""
        low, high, why = 1, await self._connection.scalar(_LAST) or 1, fault
        while low < high:
            middle = (low + high) // 2
            savepoint = await self._connection.begin_nested()
            try:
                await self._move(table, columns, skip=skip, until=middle)
                low = middle + 1
            except (IntegrityError, DataError, OperationalError) as found:
                # A row may name one that comes later.
                if _state(found) == _FOREIGN:
                    low = middle + 1
                else:
                    high, why = middle, found
            await savepoint.rollback()
        taken = _state(why) == _UNIQUE
        owner = await self._find_owner(table, low) if taken else None
        return LineFault(low, _told(why), conflict=taken, owner=owner)

    async def _find_owner(self, table: TransferTable, line: int) -> str | None:
        """The other namespace that has the row of this line."""
        if table.in_namespace:
            return None
        same = " AND ".join(f"t.{name} = s.{name}" for name in table.keys)
        return await self._connection.scalar(
            text(
                f"SELECT n.slug FROM pg_temp.{STAGE} s JOIN {table.name} t ON {same}"  # noqa: S608 - names of the schema
                " JOIN namespace n ON n.id = t.namespace_id"
                " WHERE s.line = :line AND n.id <> :ns"
            ),
            {"ns": self._namespace_id, "line": line},
        )

    async def _require_all(self, table: TransferTable) -> None:
        """A row that was passed over has to be in this namespace, not in another one."""
        same = " AND ".join(f"t.{name} = s.{name}" for name in table.keys)
        line = await self._connection.scalar(
            text(
                f"SELECT s.line FROM pg_temp.{STAGE} s WHERE NOT EXISTS (SELECT 1 FROM"  # noqa: S608 - names of the schema
                f" {table.name} t WHERE t.namespace_id = :ns AND {same}) ORDER BY s.line LIMIT 1"
            ),
            {"ns": self._namespace_id},
        )
        if line is not None:
            owner = await self._find_owner(table, line)
            raise LineFault(line, "is of another namespace", conflict=True, owner=owner)


def _primary_key(table: TransferTable) -> tuple[str, ...]:
    return ("namespace_id", *table.keys) if table.in_namespace else table.keys


_UNIQUE, _FOREIGN = "23505", "23503"


def _state(fault: Exception) -> str | None:
    return getattr(getattr(fault, "orig", None), "sqlstate", None)


def _told(fault: Exception) -> str:
    if _state(fault) != _UNIQUE:
        return _first_line(fault)
    return "shares its id, or another key, with another row of the file or of the namespace"


def _first_line(fault: Exception) -> str:
    return str(getattr(fault, "orig", fault)).strip().splitlines()[0][:300]


_LAST = text(f"SELECT max(line) FROM pg_temp.{STAGE}")  # noqa: S608 - a name of ours


_FINISH = text(
    "UPDATE namespace SET bank_version = greatest(bank_version, :version),"  # noqa: S608 - a condition of the schema
    " newest_known_at = greatest(newest_known_at, CAST(:newest AS timestamptz)),"
    " signal = :signal, model_id = coalesce(model_id, CAST(:model AS uuid)),"
    f" n_memories = (SELECT count(*) FROM memory WHERE namespace_id = :ns AND {LIVING})"
    " WHERE id = :ns"
)
