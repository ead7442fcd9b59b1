"""MemoryReader: memories as people and agents read them, seen through one namespace."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.memories.browse_entities import ListedMemory
from memory.memories.entities import Kind, Memory, MemoryFilter, MemoryVersion, Viewer
from memory.memories.tables import LIVING, memory, memory_version
from memory.tasks.tables import agent, category
from memory.tenancy.entities import Role
from memory.tenancy.tables import api_key

_sub = category.alias("sub")


_COLUMNS = (
    memory,
    agent.c.name.label("agent"),
    category.c.name.label("category"),
    _sub.c.name.label("subcategory"),
    memory_version.c.situation,
    memory_version.c.lesson,
)


# What is computed here is filled in by the service, which knows the policy and the time.
_to_memory = RowMapper(Memory, _COLUMNS, computed={"effective_weight": lambda _: 1.0})


_to_listed = RowMapper(
    ListedMemory,
    _COLUMNS,
    computed={"effective_weight": lambda _: 1.0, "served": lambda _: 0, "credited": lambda _: 0},
)


_to_version = RowMapper(MemoryVersion, [memory_version])


_JOINED = (
    memory.join(agent, agent.c.id == memory.c.agent_id)
    .join(category, category.c.id == memory.c.category_id)
    .outerjoin(_sub, _sub.c.id == memory.c.subcategory_id)
    .join(
        memory_version,
        (memory_version.c.memory_id == memory.c.id)
        & (memory_version.c.version == memory.c.version),
    )
)


def may_see(viewer: Viewer) -> ColumnElement[bool]:
    """Whether a memory is one that the viewer may see."""
    shared_or_own = memory.c.owner.in_(viewer.owners)
    if viewer.manages:
        unbound = (api_key.c.role == Role.AGENT) & api_key.c.agents.is_(None)
        brought = memory.c.key_id.in_(select(api_key.c.id).where(unbound))
    elif viewer.key_id is not None:
        brought = memory.c.key_id == viewer.key_id
    else:
        return shared_or_own
    return shared_or_own | ((memory.c.kind == Kind.CONSTRAINT) & brought)


class MemoryReader:
    """What was erased is gone, what is private stays with its agent."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID, viewer: Viewer) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._seen = may_see(viewer)
        self._visible = (memory.c.namespace_id == namespace_id) & self._seen
        self._here = self._visible & memory.c.erased_at.is_(None)

    async def get(self, memory_id: UUID) -> Memory:
        rows = await self._connection.execute(self._select(memory.c.id == memory_id))
        found = rows.mappings().first()
        if found is None:
            raise NotFound(f"no such memory: {memory_id}", code="memory_not_found", field="id")
        return _to_memory(found)

    async def some(self, memory_ids: Sequence[UUID]) -> list[ListedMemory]:
        """Those of these memories that may be seen; their counts are filled in by the service."""
        rows = await self._connection.execute(self._select(memory.c.id.in_(memory_ids)))
        return [_to_listed(row) for row in rows.mappings()]

    async def list_living(self) -> list[UUID]:
        """Ids of the living memories."""
        rows = await self._connection.execute(
            select(memory.c.id).where(self._visible, text(LIVING)).order_by(memory.c.id)
        )
        return [row.id for row in rows]

    async def list_ever(self) -> list[UUID]:
        """Ids of all memories, living or not, erased ones too."""
        rows = await self._connection.execute(select(memory.c.id).where(self._visible))
        return [row.id for row in rows]

    async def tell_apart(self, ids: Sequence[UUID]) -> dict[UUID, bool]:
        """Those of these ids that are memories, erased ones too, and whether each may be seen."""
        rows = await self._connection.execute(
            select(memory.c.id, self._seen.label("seen")).where(
                memory.c.namespace_id == self._namespace_id, memory.c.id.in_(ids)
            )
        )
        return {row.id: row.seen for row in rows}

    async def browse(self, wanted: MemoryFilter, page: Page) -> tuple[list[Memory], int]:
        """Oldest first, one row more than the page; and how many match in all."""
        condition = _matching(wanted)
        rows = self._select(condition).order_by(memory.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(memory.c.id > UUID(str(page.after[0])))
        found = [_to_memory(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(_JOINED).where(self._here, condition)
        )
        return found, total or 0

    async def versions(self, memory_id: UUID) -> list[MemoryVersion]:
        """Every text the memory had, oldest first."""
        await self.get(memory_id)
        rows = await self._connection.execute(
            select(memory_version)
            .where(memory_version.c.memory_id == memory_id)
            .order_by(memory_version.c.version)
        )
        return [_to_version(row) for row in rows.mappings()]

    async def texts(self, versions: Mapping[UUID, int]) -> dict[UUID, MemoryVersion]:
        """The words of these versions, by memory; nothing of what may not be seen."""
        rows = await self._connection.execute(
            select(memory_version)
            .join(memory, memory.c.id == memory_version.c.memory_id)
            .where(
                self._here,
                tuple_(memory_version.c.memory_id, memory_version.c.version).in_(
                    list(versions.items())
                ),
            )
        )
        return {row["memory_id"]: _to_version(row) for row in rows.mappings()}

    def _select(self, condition: ColumnElement[bool]) -> Select[tuple[object, ...]]:
        return select(*_to_memory.columns).select_from(_JOINED).where(self._here, condition)


def _matching(wanted: MemoryFilter) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = memory.c.kind == wanted.kind
    if wanted.status is not None:
        condition &= memory.c.status == wanted.status
    if wanted.category is not None:
        condition &= category.c.name == wanted.category
    if wanted.agent is not None:
        condition &= agent.c.name == wanted.agent
    if wanted.metadata is not None:
        condition &= memory.c.metadata.contains(dict(wanted.metadata))
    if wanted.origin is not None:
        condition &= memory.c.detail["origin"].astext == wanted.origin
    return condition
