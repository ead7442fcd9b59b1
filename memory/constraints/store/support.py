"""SupportStore: what constraints rest on, contrasts and their authors' word, seen through one
namespace.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import RowMapping, column, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.entities import Support, SupportCounts
from memory.constraints.proof import Piece, Verdict
from memory.constraints.store.runs import to_voice
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

    async def add_contrasts(self, rows: Sequence[Mapping[str, object]]) -> list[bool]:
        """Add support that rests on contrasts; of each that was not there, whether it counts."""
        added = await self._connection.execute(
            insert(constraint_support)
            .values([{"namespace_id": self._namespace_id, **row} for row in rows])
            .on_conflict_do_nothing()
            .returning(constraint_support.c.counts)
        )
        return list(added.scalars())

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

    async def pieces(self, memory_ids: Sequence[UUID]) -> dict[UUID, list[Piece]]:
        """What counts for each, as it was told; those that nothing counts for are left out."""
        rows = await self._connection.execute(
            _PIECES, {"ns": self._namespace_id, "ids": list(memory_ids)}
        )
        found: dict[UUID, list[Piece]] = {}
        for row in rows.mappings():
            told = (_to_verdict(row, "better_"), _to_verdict(row, "worse_"))
            piece = Piece(row["task"], None if row["is_word"] else told)
            found.setdefault(row["memory_id"], []).append(piece)
        return found

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
    SupportCounts, map(column, ("contrasts", "tasks", "agent_pairs", "families", "keys", "parties"))
)
"""Of a row with the numbers of one constraint's support."""


_COUNTS = text("""
    WITH support AS (
        SELECT * FROM constraint_support WHERE namespace_id = :ns AND memory_id = ANY(:ids)
    ), side AS (
        SELECT memory_id, contrast_id, preferred_agent_id AS agent_id, preferred_family AS family,
            preferred_key_id AS key_id FROM support WHERE counts
        UNION SELECT memory_id, contrast_id, unpreferred_agent_id, unpreferred_family,
            unpreferred_key_id FROM support WHERE counts
    ), sides AS (
        SELECT s.memory_id, count(DISTINCT s.family) AS families, count(DISTINCT s.key_id) AS keys,
            count(DISTINCT coalesce(k.party_id, s.agent_id)) FILTER (
                WHERE s.contrast_id IS NOT NULL) AS parties
        FROM side s LEFT JOIN api_key k ON k.id = s.key_id GROUP BY s.memory_id
    )
    SELECT s.memory_id, count(*) AS contrasts,
        count(DISTINCT s.task_id) FILTER (WHERE s.counts) AS tasks,
        count(DISTINCT (least(s.preferred_agent_id, s.unpreferred_agent_id),
            greatest(s.preferred_agent_id, s.unpreferred_agent_id))) FILTER (
            WHERE s.counts AND s.preferred_agent_id <> s.unpreferred_agent_id) AS agent_pairs,
        coalesce(max(p.families), 0) AS families, coalesce(max(p.keys), 0) AS keys,
        coalesce(max(p.parties), 0) AS parties
    FROM support s LEFT JOIN sides p ON p.memory_id = s.memory_id
    GROUP BY s.memory_id
""")


def _to_verdict(row: RowMapping, side: str) -> Verdict:
    return Verdict(row[f"{side}agent"], row[f"{side}verifier"], to_voice(row, side))


_SIDE = """
        coalesce({name}_agent.name, '') AS {name}_agent,
        CASE WHEN {name}.withdrawn_at IS NULL THEN coalesce({name}.verifier, 'none') ELSE 'none' END
            AS {name}_verifier,
        {name}_key.id AS {name}_key_id, {name}_key.role AS {name}_role,
        {name}_key.agents AS {name}_agents, {name}_key.party_id AS {name}_party_id,
        {name}_key.verifies AS {name}_verifies
"""


_RUN = """
        LEFT JOIN trajectory {name} ON {name}.id = c.{run}_id
        LEFT JOIN agent {name}_agent ON {name}_agent.id = {name}.agent_id
        LEFT JOIN api_key {name}_key ON {name}_key.id = {name}.key_id
    """


_PIECES = text(f"""
    SELECT s.memory_id, s.contrast_id IS NULL AS is_word,
        coalesce('group:' || t.group_key, CAST(s.task_id AS text)) AS task,
        {_SIDE.format(name="better")}, {_SIDE.format(name="worse")}
    FROM constraint_support s JOIN task t ON t.id = s.task_id
    LEFT JOIN contrast c ON c.id = s.contrast_id
    {_RUN.format(name="better", run="preferred")} {_RUN.format(name="worse", run="unpreferred")}
    WHERE s.namespace_id = :ns AND s.memory_id = ANY(:ids) AND s.counts
    ORDER BY s.memory_id, s.id
""")  # noqa: S608 - assembled from the constants above; every value is a parameter
