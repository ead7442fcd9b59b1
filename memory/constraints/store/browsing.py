"""ConstraintBrowser: constraints by kind of task, and what leads on from them, in one namespace."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy import Text, cast, column, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.browse_entities import ConstraintCluster, ConstraintLinks
from memory.constraints.tables import contradiction
from memory.kernel.postgres.database import Database, Statement
from memory.kernel.postgres.rows import RowMapper
from memory.memories.entities import Kind, Viewer
from memory.memories.store.queries import may_see
from memory.memories.tables import LIVING, embedding, memory
from memory.tasks.tables import category

_sub = category.alias("sub")
_to_cluster = RowMapper(ConstraintCluster, map(column, ConstraintCluster.__slots__))


class ConstraintBrowser:
    """Reads of one namespace, each one statement."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def clusters(self, viewer: Viewer) -> list[ConstraintCluster]:
        """Living constraints that the viewer may see, by kind of task; the largest first."""
        in_conflict = (
            select(contradiction.c.id)
            .where(
                contradiction.c.namespace_id == self._namespace_id,
                contradiction.c.state == "open",
                (contradiction.c.first_id == memory.c.id)
                | (contradiction.c.second_id == memory.c.id),
            )
            .exists()
        )
        served = memory.c.status.in_(("active", "probation"))
        rows = await self._connection.execute(
            select(
                category.c.name.label("category"),
                _sub.c.name.label("subcategory"),
                func.count().label("n"),
                func.count().filter(served).label("in_use"),
                func.count().filter(memory.c.status == "proposed").label("waiting"),
                func.count().filter(in_conflict).label("conflicting"),
            )
            .select_from(
                memory.join(category, category.c.id == memory.c.category_id).outerjoin(
                    _sub, _sub.c.id == memory.c.subcategory_id
                )
            )
            .where(
                memory.c.namespace_id == self._namespace_id,
                memory.c.kind == Kind.CONSTRAINT,
                text(LIVING),
                may_see(viewer),
            )
            .group_by(category.c.name, _sub.c.name)
            .order_by(func.count().desc(), category.c.name, _sub.c.name)
        )
        return [_to_cluster(row) for row in rows.mappings()]

    async def triggers(
        self, viewer: Viewer, model_id: UUID, most: int
    ) -> dict[UUID, npt.NDArray[np.float32]]:
        """Unit vectors of the triggers of living constraints that the viewer may see, of the newest
        ones, newest first.
        """
        rows = await self._connection.execute(
            select(memory.c.id, cast(embedding.c.vector, Text).label("vector"))
            .select_from(
                memory.join(
                    embedding,
                    (embedding.c.memory_id == memory.c.id)
                    & (embedding.c.version == memory.c.version)
                    & (embedding.c.field == "trigger")
                    & (embedding.c.model_id == model_id),
                )
            )
            .where(
                memory.c.namespace_id == self._namespace_id,
                memory.c.kind == Kind.CONSTRAINT,
                text(LIVING),
                may_see(viewer),
            )
            .order_by(memory.c.id.desc())
            .limit(most)
        )
        # As text: a driver makes a number of each of 384, one by one.
        return {row.id: np.fromstring(row.vector[1:-1], dtype=np.float32, sep=",") for row in rows}

    async def links(self, memory_ids: Sequence[UUID]) -> dict[UUID, ConstraintLinks]:
        """Of each of these: its open contradictions, and its newest contrasts."""
        values = {"ns": self._namespace_id, "ids": list(memory_ids)}
        contradictions = defaultdict[UUID, list[UUID]](list)
        for row in await self._connection.execute(_CONTRADICTIONS, values):
            contradictions[row.memory_id].append(row.id)
        contrasts = defaultdict[UUID, list[UUID]](list)
        for row in await self._connection.execute(_CONTRASTS, values):
            contrasts[row.memory_id].append(row.contrast_id)
        return {
            one: ConstraintLinks(tuple(contradictions[one]), tuple(contrasts[one]))
            for one in memory_ids
        }


async def count_open_contradictions(database: Database, namespace_id: UUID) -> int:
    """How many wait for a decision, in one round trip: every page of the dashboard asks."""
    counting = Statement(_OPEN, {"ns": namespace_id})
    [[row]] = await database.exchange([counting], namespace_id)
    return int(row["n"])


_OPEN = b"""
    SELECT count(*) AS n FROM contradiction WHERE namespace_id = %(ns)s AND state = 'open'
"""


_CONTRADICTIONS = text("""
    SELECT m.id AS memory_id, c.id FROM contradiction c
    JOIN memory m ON m.id IN (c.first_id, c.second_id)
    WHERE c.namespace_id = :ns AND c.state = 'open' AND m.id = ANY(:ids)
    ORDER BY c.id
""")


_CONTRASTS = text("""
    SELECT memory_id, contrast_id FROM (
        SELECT memory_id, contrast_id,
            row_number() OVER (PARTITION BY memory_id ORDER BY counts DESC, id DESC) AS place
        FROM constraint_support
        WHERE namespace_id = :ns AND memory_id = ANY(:ids) AND contrast_id IS NOT NULL
    ) AS newest WHERE place <= 3 ORDER BY memory_id, place
""")
