"""RelabelStore: memories and tasks whose category has no place any more, seen through one
namespace.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.memories.tables import LIVING
from memory.tasks.entities import CategoryIds
from memory.tasks.tables import category, task


@dataclass(frozen=True, slots=True)
class RelabelQuery:
    """Of these categories, with vectors of this model, after an id, at most so many."""

    category_ids: tuple[UUID, ...]
    model_id: UUID
    after: UUID
    limit: int


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A memory (with its version) or a task, where it is, and the vector to route it by."""

    id: UUID
    version: int
    category_id: UUID
    vector: Sequence[float]


class RelabelStore:
    """What may be routed anew in one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def tops(self) -> dict[UUID, str]:
        """Names of the categories on the first level."""
        rows = await self._connection.execute(
            select(category.c.id, category.c.name).where(
                category.c.namespace_id == self._namespace_id, category.c.parent_id.is_(None)
            )
        )
        return {row.id: row.name for row in rows}

    async def memories(self, wanted: RelabelQuery) -> list[Misplaced]:
        """Living experiences and constraints, by id; a meta-guideline is about its category."""
        return await self._read(_MEMORIES, wanted)

    async def tasks(self, wanted: RelabelQuery) -> list[Misplaced]:
        """Tasks that have a vector, by id."""
        return await self._read(_TASKS, wanted)

    async def count_without_vector(self, wanted: RelabelQuery) -> int:
        """Tasks that cannot be routed, for nothing was learned from them yet."""
        return (await self._connection.scalar(_WITHOUT, self._values(wanted))) or 0

    async def move_task(self, task_id: UUID, ids: CategoryIds) -> None:
        await self._connection.execute(
            update(task)
            .where(task.c.namespace_id == self._namespace_id, task.c.id == task_id)
            .values(category_id=ids.category, subcategory_id=ids.subcategory)
        )

    async def _read(self, statement: str, wanted: RelabelQuery) -> list[Misplaced]:
        rows = await self._connection.execute(text(statement), self._values(wanted))
        return [Misplaced(row.id, row.version, row.category_id, row.vector) for row in rows]

    def _values(self, wanted: RelabelQuery) -> dict[str, object]:
        return {
            "ns": self._namespace_id,
            "categories": list(wanted.category_ids),
            "model": wanted.model_id,
            "after": wanted.after,
            "limit": wanted.limit,
        }


_MEMORIES = f"""
    SELECT m.id, m.version, m.category_id, CAST(CAST(e.vector AS vector) AS real[]) AS vector
    FROM memory m JOIN embedding e ON e.memory_id = m.id AND e.version = m.version
      AND e.field = 'situation' AND e.model_id = :model
    WHERE m.namespace_id = :ns AND m.kind IN ('experience', 'constraint') AND {LIVING}
      AND m.category_id = ANY(CAST(:categories AS uuid[])) AND m.id > :after
    ORDER BY m.id LIMIT :limit
"""  # noqa: S608 - a constant


_TASKS = """
    SELECT t.id, 1 AS version, t.category_id, CAST(CAST(e.vector AS vector) AS real[]) AS vector
    FROM task t JOIN task_embedding e ON e.task_id = t.id AND e.model_id = :model
    WHERE t.namespace_id = :ns AND t.erased_at IS NULL
      AND t.category_id = ANY(CAST(:categories AS uuid[])) AND t.id > :after
    ORDER BY t.id LIMIT :limit
"""


_WITHOUT = text("""
    SELECT count(*) FROM task t
    WHERE t.namespace_id = :ns AND t.erased_at IS NULL
      AND t.category_id = ANY(CAST(:categories AS uuid[]))
      AND NOT EXISTS (SELECT FROM task_embedding e
                      WHERE e.task_id = t.id AND e.model_id = :model)
""")
