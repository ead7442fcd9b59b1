"""Databases to carry a namespace between, and what is in them."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

from memory.belief.fold import Learned
from memory.belief.store.states import StateStore
from memory.inference.service import register_model
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Database
from memory.receipts.rebuild import rebuilt
from memory.tenancy.service import ensure_operator_key
from memory.tenancy.store.namespaces import NamespaceStore
from memory.transfer.entities import Imported, ImportRequest, Manifest
from memory.transfer.service import ExportRequest, export_namespace, import_namespace
from memory.transfer.store.catalogue import transfer_tables
from server.app import create_app
from server.settings import Settings
from tests.fixtures.engine import NOON, an_engine
from tests.fixtures.http import BASE
from tests.migrations.surviving import At

LATER = datetime(2027, 1, 5, 12, tzinfo=UTC)
SALT = 0x2A5B_7C91_0D3E_F246


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Database]:
    database = Database(url)
    try:
        yield database
    finally:
        await database.close()


async def exported(database: Database, slug: str, file: Path, **how: Any) -> Manifest:
    with file.open("wb") as out:
        return await export_namespace(database, ExportRequest(slug, file.parent, **how), out, NOON)


async def imported(
    database: Database, file: Path, engine: Engine | None = None, **how: Any
) -> Imported:
    return await import_namespace(database, file, ImportRequest(**how), SALT, NOON, engine)


async def content(database: Database, slug: str) -> dict[str, list[str]]:
    """Every row of the namespace, by table, but what an import gives another value."""
    async with database.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(slug)
    found: dict[str, list[str]] = {}
    async with database.transaction(space.id) as connection:
        for table in transfer_tables():
            columns = ", ".join(
                name
                for name in table.shapes
                if name != "model_id" and (table.name, name) != ("api_key", "revoked_at")
            )
            keys = ", ".join(name for name in table.keys if name != "model_id")
            rows = await connection.execute(
                text(
                    f"SELECT (x.*)::text FROM (SELECT {columns} FROM {table.name}"
                    f" WHERE namespace_id = :ns ORDER BY {keys}) x"
                ),
                {"ns": space.id},
            )
            # What is done to the file is in the trail of the place where it was done.
            lines = [line for (line,) in rows if "namespace.export" not in line]
            found[table.name] = [line for line in lines if "namespace.import" not in line]
    return found


async def states(database: Database, slug: str) -> tuple[Learned, bool]:
    """What learning knows, and whether folding the ledger anew comes to the same bits."""
    async with database.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(slug)
    async with database.transaction(space.id) as connection:
        live = await StateStore(connection, space.id).load_all()
        return live, live == await rebuilt(connection, space)


@dataclass(frozen=True, slots=True)
class Served:
    """The application over a database, at a moment of the test's choice."""

    client: httpx.AsyncClient
    slug: str

    async def post(self, path: str, body: object) -> Any:
        answer = await self.client.post(f"/v1/namespaces/{self.slug}{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def read(self, path: str) -> Any:
        answer = await self.client.get(f"/v1/namespaces/{self.slug}{path}")
        assert answer.is_success, answer.text
        return answer.json()


@contextlib.asynccontextmanager
async def serving(url: str, slug: str, data: Path, token: str | None) -> AsyncGenerator[Served]:
    """With the operator's key of that database, which is made where there is none."""
    engine = an_engine(url)
    made = await ensure_operator_key(engine, None, NOON)
    await register_model(engine, NOON)

    async def open_engine(_: Settings) -> Engine:
        return engine

    app = create_app(Settings(data=data, database_url=url), open_engine, jobs=None)
    transport = httpx.ASGITransport(app=At(app, LATER))
    headers = {"authorization": f"Bearer {token or made}"}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client,
    ):
        yield Served(client, slug)


async def write(database: Database, slug: str, statement: str) -> int:
    """Change rows of a namespace, and of no other; how many."""
    async with database.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(slug)
    async with database.transaction(space.id) as connection:
        return (await connection.execute(text(statement))).rowcount


async def shared(url: str, question: str) -> set[str]:
    """What a table without a namespace's walls says."""
    async with opened(url) as database, database.transaction() as connection:
        return set(await connection.scalars(text(question)))


async def centres(database: Database, slug: str) -> dict[str, list[float]]:
    """Where the categories lie, by name."""
    async with database.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(slug)
    question = """
        SELECT coalesce(p.name || '/', '') || c.name AS name, o.n, o.total, o.prior
        FROM centroid o JOIN category c ON c.id = o.category_id
        LEFT JOIN category p ON p.id = c.parent_id WHERE o.namespace_id = :ns
    """
    async with database.transaction(space.id) as connection:
        rows = await connection.execute(text(question), {"ns": space.id})
        return {row.name: [row.n, *row.total, *(row.prior or ())] for row in rows}
