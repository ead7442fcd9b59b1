"""MemoryReader: memories as people and agents read them, seen through one namespace."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, Select, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.memories.entities import (
    Kind,
    Memory,
    MemoryFilter,
    MemoryText,
    Status,
    Trust,
    Viewer,
    Visibility,
)
from memory.memories.tables import memory, memory_version
from memory.tasks.entities import CategoryName
from memory.tasks.tables import agent, category

_sub = category.alias("sub")


_COLUMNS = (
    memory,
    agent.c.name.label("agent"),
    category.c.name.label("category"),
    _sub.c.name.label("subcategory"),
    memory_version.c.situation,
    memory_version.c.lesson,
)


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


class MemoryReader:
    """What was erased is gone, what is private stays with its agent."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID, viewer: Viewer) -> None:
        self._connection = connection
        self._here = (
            (memory.c.namespace_id == namespace_id)
            & memory.c.erased_at.is_(None)
            & memory.c.owner.in_(viewer.owners)
        )

    async def get(self, memory_id: UUID) -> Memory:
        rows = await self._connection.execute(self._select(memory.c.id == memory_id))
        found = rows.mappings().first()
        if found is None:
            raise NotFound("no such memory", code="memory_not_found", field="id")
        return _memory(found)

    async def some(self, memory_ids: Sequence[UUID]) -> list[Memory]:
        rows = await self._connection.execute(self._select(memory.c.id.in_(memory_ids)))
        return [_memory(row) for row in rows.mappings()]

    async def browse(self, wanted: MemoryFilter, page: Page) -> tuple[list[Memory], int]:
        """Oldest first, one row more than the page; and how many match in all."""
        condition = _matching(wanted)
        rows = self._select(condition).order_by(memory.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(memory.c.id > UUID(str(page.after[0])))
        found = [_memory(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(_JOINED).where(self._here, condition)
        )
        return found, total or 0

    async def versions(self, memory_id: UUID) -> list[MemoryText]:
        """Every text the memory had, oldest first."""
        await self.get(memory_id)
        rows = await self._connection.execute(
            select(memory_version)
            .where(memory_version.c.memory_id == memory_id)
            .order_by(memory_version.c.version)
        )
        return [_text(row) for row in rows.mappings()]

    async def texts(self, served: Sequence[tuple[UUID, int]]) -> dict[UUID, MemoryText]:
        """The words of these versions, by memory; nothing of what may not be seen."""
        rows = await self._connection.execute(
            select(memory_version)
            .join(memory, memory.c.id == memory_version.c.memory_id)
            .where(
                self._here,
                tuple_(memory_version.c.memory_id, memory_version.c.version).in_(served),
            )
        )
        return {row["memory_id"]: _text(row) for row in rows.mappings()}

    def _select(self, condition: ColumnElement[bool]) -> Select[tuple[object, ...]]:
        return select(*_COLUMNS).select_from(_JOINED).where(self._here, condition)


def _text(row: RowMapping) -> MemoryText:
    return MemoryText(**{name: row[name] for name in MemoryText.__slots__})


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


def _memory(row: RowMapping) -> Memory:
    """The weight is filled in by the flow, which knows the policy and the time."""
    skipped = {"category", "effective_weight", "kind", "status", "trust", "visibility"}
    plain = {name: row[name] for name in Memory.__slots__ if name not in skipped}
    return Memory(
        kind=Kind(row["kind"]),
        status=Status(row["status"]),
        trust=Trust(row["trust"]),
        visibility=Visibility(row["visibility"]),
        category=CategoryName(row["category"], row["subcategory"]),
        effective_weight=1.0,
        **plain,
    )
