"""SupportStore: what constraints rest on, contrasts and their authors' word, seen through one
namespace.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import column, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.entities import Support, SupportCounts
from memory.constraints.tables import constraint_support
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper
from memory.tasks.tables import agent


class SupportStore:
    """Support of the constraints of one namespace. Nothing here commits."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add(self, values: Mapping[str, object]) -> bool:
        """False where the constraint has this piece of support already: the same contrast, or the
        same key's word on the same task.
        """
        if values["contrast_id"] is None and await self._has_word(values):
            return False
        added = await self._connection.execute(
            insert(constraint_support)
            .values(namespace_id=self._namespace_id, **values)
            .on_conflict_do_nothing()
            .returning(constraint_support.c.id)
        )
        return added.first() is not None

    async def _has_word(self, values: Mapping[str, object]) -> bool:
        columns = constraint_support.c
        known = await self._connection.execute(
            select(columns.id)
            .where(columns.namespace_id == self._namespace_id, columns.contrast_id.is_(None))
            .where(columns.memory_id == values["memory_id"], columns.task_id == values["task_id"])
            .where(columns.preferred_key_id.is_not_distinct_from(values["preferred_key_id"]))
        )
        return known.first() is not None

    async def counts(self, memory_ids: Sequence[UUID]) -> dict[UUID, SupportCounts]:
        """What speaks for each; those that nothing speaks for are left out."""
        rows = await self._connection.execute(
            _COUNTS, {"ns": self._namespace_id, "ids": list(memory_ids)}
        )
        return {row["memory_id"]: to_support_counts(row) for row in rows.mappings()}

    async def tasks_of(self, memory_ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
        """The tasks each constraint comes from, of all its support."""
        columns = constraint_support.c
        rows = await self._connection.execute(
            select(columns.memory_id, columns.task_id)
            .distinct()
            .where(columns.namespace_id == self._namespace_id)
            .where(columns.memory_id.in_(memory_ids))
            .order_by(columns.memory_id, columns.task_id)
        )
        found: dict[UUID, list[UUID]] = {}
        for row in rows:
            found.setdefault(row.memory_id, []).append(row.task_id)
        return found

    async def browse(self, memory_id: UUID, page: Page) -> Listed[Support]:
        """Each piece of support, oldest first."""
        columns = constraint_support.c
        condition = (columns.namespace_id == self._namespace_id) & (columns.memory_id == memory_id)
        rows = _SUPPORT.where(condition).order_by(columns.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(columns.id > UUID(str(page.after[0])))
        found = [_to_support(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(constraint_support).where(condition)
        )
        return listed(found, page, total, lambda one: (str(one.id),))


_PREFERRED, _UNPREFERRED = agent.alias("preferred"), agent.alias("unpreferred")


_to_support = RowMapper(
    Support,
    [
        constraint_support,
        _PREFERRED.c.name.label("preferred_agent"),
        _UNPREFERRED.c.name.label("unpreferred_agent"),
    ],
)


_SUPPORT = select(*_to_support.columns).select_from(
    constraint_support.outerjoin(
        _PREFERRED, _PREFERRED.c.id == constraint_support.c.preferred_agent_id
    ).outerjoin(_UNPREFERRED, _UNPREFERRED.c.id == constraint_support.c.unpreferred_agent_id)
)


to_support_counts = RowMapper(
    SupportCounts, map(column, ("contrasts", "tasks", "agent_pairs", "families", "keys"))
)
"""Of a row with the numbers of one constraint's support."""


_COUNTS = text("""
    WITH support AS (
        SELECT * FROM constraint_support WHERE namespace_id = :ns AND memory_id = ANY(:ids)
    ), side AS (
        SELECT memory_id, preferred_family AS family, preferred_key_id AS key_id FROM support
        WHERE counts
        UNION SELECT memory_id, unpreferred_family, unpreferred_key_id FROM support WHERE counts
    ), sides AS (
        SELECT memory_id, count(DISTINCT family) AS families, count(DISTINCT key_id) AS keys
        FROM side GROUP BY memory_id
    )
    SELECT s.memory_id, count(*) AS contrasts,
        count(DISTINCT s.task_id) FILTER (WHERE s.counts) AS tasks,
        count(DISTINCT (least(s.preferred_agent_id, s.unpreferred_agent_id),
            greatest(s.preferred_agent_id, s.unpreferred_agent_id))) FILTER (
            WHERE s.counts AND s.preferred_agent_id <> s.unpreferred_agent_id) AS agent_pairs,
        coalesce(max(p.families), 0) AS families, coalesce(max(p.keys), 0) AS keys
    FROM support s LEFT JOIN sides p ON p.memory_id = s.memory_id
    GROUP BY s.memory_id
""")
