"""The two places of a namespace that moves: the database that it is in, and the one it goes to."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

from memory.kernel.errors import Conflict
from memory.kernel.postgres.database import Database
from memory.tenancy.entities import Namespace
from memory.tenancy.store.moves import MoveStore, Relocation
from memory.tenancy.store.namespaces import NamespaceStore


async def find_space(database: Database, slug: str) -> Namespace:
    async with database.transaction() as connection:
        return await NamespaceStore(connection).by_slug(slug)


async def relocation_of(database: Database, namespace_id: UUID) -> Relocation | None:
    async with database.transaction() as connection:
        return await MoveStore(connection).find(namespace_id)


async def require_two(source: Database, target: Database) -> None:
    """Locks are of one database: whoever cannot take one that the source holds is the source."""
    name = f"place {uuid4()}"
    async with source.holding(name), target.holding(name) as held:
        if not held:
            raise Conflict(
                "--to is the database that the namespace is in: name that of the new place",
                code="same_database",
            )


@asynccontextmanager
async def alone(source: Database, target: Database, namespace_id: UUID) -> AsyncGenerator[None]:
    """One process moves a namespace at a time; its connections hold no transaction open. Raises
    Conflict.
    """
    async with (
        source.holding(MoveStore.lock_name(namespace_id)) as here,
        target.holding(f"arrive {namespace_id}") as there,
    ):
        if not (here and there):
            raise move_running()
        yield


def move_running() -> Conflict:
    return Conflict("another process is moving this namespace", code="move_running")
