"""CategoryCountStore: tasks and memories by category, in one namespace."""

from uuid import UUID

from sqlalchemy import Column, Table, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.insight.overview_entities import CategoryCount
from memory.memories.entities import Viewer
from memory.memories.store.queries import may_see
from memory.memories.tables import LIVING, memory
from memory.tasks.tables import category, task


class CategoryCountStore:
    """Reads of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def list_counts(self, viewer: Viewer) -> list[CategoryCount]:
        """Both levels by name."""
        tasks = await self._by_level(task, task.c.namespace_id == self._namespace_id)
        seen = (memory.c.namespace_id == self._namespace_id) & text(LIVING) & may_see(viewer)
        memories = await self._by_level(memory, seen)
        parent = category.alias("parent")
        rows = await self._connection.execute(
            select(category.c.id, category.c.name, parent.c.name.label("parent"))
            .select_from(category.outerjoin(parent, parent.c.id == category.c.parent_id))
            .where(category.c.namespace_id == self._namespace_id)
        )
        found = [
            CategoryCount(
                row.parent or row.name,
                row.name if row.parent else None,
                tasks.get(row.id, 0),
                memories.get(row.id, 0),
                row.id,
            )
            for row in rows
        ]
        return sorted(found, key=lambda one: (one.category, one.subcategory or ""))

    async def _by_level(self, table: Table, condition: object) -> dict[UUID, int]:
        """How many rows lie in each category, of both levels."""
        counts: dict[UUID, int] = {}
        for level in (table.c.category_id, table.c.subcategory_id):
            counts |= await self._counted(level, condition)
        return counts

    async def _counted(self, level: Column[UUID], condition: object) -> dict[UUID, int]:
        rows = await self._connection.execute(
            select(level.label("level"), func.count().label("n"))
            .where(condition, level.is_not(None))  # pyright: ignore[reportArgumentType] - a condition
            .group_by(level)
        )
        return {row.level: row.n for row in rows}
