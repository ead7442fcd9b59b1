"""CentroidStore: where a category lies among vectors, seen through one namespace.

A centroid is the mean of its experiences' situations, and of the taxonomy's description of it,
which counts as one example.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.memories.store.memories import NewMemory
from memory.tasks.tables import category, centroid

Vector = npt.NDArray[np.float64]


class CentroidStore:
    """Centroids of one namespace, of categories and of subcategories."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def move(self, memories: Sequence[NewMemory], model_id: UUID) -> None:
        """Add each situation's vector to the running totals of its category and subcategory."""
        totals: dict[UUID, tuple[Vector, int]] = {}
        for new in memories:
            vector = np.asarray(new.vectors["situation"].vector, dtype=np.float64)
            for category_id in new.category_ids.levels:
                total, n = totals.get(category_id, (np.zeros_like(vector), 0))
                totals[category_id] = (total + vector, n + 1)
        # In one order, against deadlock.
        for category_id in sorted(totals):
            total, n = totals[category_id]
            values = {"total": total.tolist(), "n": n, "prior": None}
            await self._write(_MOVE, category_id, model_id, values)

    async def describe(self, vectors: Mapping[UUID, npt.ArrayLike], model_id: UUID) -> None:
        """Let each category begin at the vector of its description; no other has one any more."""
        for category_id in sorted(vectors):
            prior = np.asarray(vectors[category_id], dtype=np.float64).tolist()
            await self._write(
                _DESCRIBE, category_id, model_id, {"total": [], "n": 0, "prior": prior}
            )
        here = {"ns": self._namespace_id, "model": model_id, "named": list(vectors)}
        await self._connection.execute(_FORGET, here)

    async def _write(
        self, how: str, category_id: UUID, model_id: UUID, values: Mapping[str, object]
    ) -> None:
        here = {"ns": self._namespace_id, "category": category_id, "model": model_id}
        await self._connection.execute(text(_INSERT + how), here | dict(values))

    async def tops(self, model_id: UUID) -> dict[UUID, Vector]:
        """Where each category lies."""
        return await self._below(None, model_id)

    async def below(self, category_id: UUID, model_id: UUID) -> dict[UUID, Vector]:
        """Where each subcategory of a category lies."""
        return await self._below(category_id, model_id)

    async def _below(self, parent_id: UUID | None, model_id: UUID) -> dict[UUID, Vector]:
        rows = await self._connection.execute(
            select(centroid.c.category_id, centroid.c.total, centroid.c.n, centroid.c.prior)
            .join(category, category.c.id == centroid.c.category_id)
            .where(
                centroid.c.namespace_id == self._namespace_id,
                centroid.c.model_id == model_id,
                category.c.parent_id.is_not_distinct_from(parent_id),
                (centroid.c.n > 0) | centroid.c.prior.is_not(None),
            )
        )
        return {row.category_id: _mean(row.total, row.n, row.prior) for row in rows}

    async def recount(self, model_id: UUID | None = None) -> None:
        """Centroids are taken anew from the vectors that are left, and the descriptions: those of
        one model, or all.
        """
        for statement in _RECOUNT:
            await self._connection.execute(statement, {"ns": self._namespace_id, "model": model_id})


def _mean(total: Sequence[float], n: int, prior: Sequence[float] | None) -> Vector:
    if prior is None:
        return np.asarray(total) / n
    if not n:
        return np.asarray(prior)
    return (np.asarray(total) + np.asarray(prior)) / (n + 1)


_INSERT = """
    INSERT INTO centroid (namespace_id, category_id, model_id, total, n, prior)
    VALUES (:ns, :category, :model, :total, :n, :prior)
    ON CONFLICT (namespace_id, category_id, model_id) DO UPDATE SET
"""


# The total of a category that is only described is empty.
_MOVE = """n = centroid.n + excluded.n, total = (
        SELECT array_agg(coalesce(a, 0) + b ORDER BY i)
        FROM unnest(centroid.total, excluded.total) WITH ORDINALITY AS both_(a, b, i)
    )
"""


_DESCRIBE = "prior = excluded.prior"


_FORGET = text("""
    UPDATE centroid SET prior = NULL
    WHERE namespace_id = :ns AND model_id = :model AND prior IS NOT NULL
      AND NOT category_id = ANY(CAST(:named AS uuid[]))
""")


_ASKED = "model_id = coalesce(CAST(:model AS uuid), model_id)"


_RECOUNT = (
    text(f"UPDATE centroid SET n = 0, total = '{{}}' WHERE namespace_id = :ns AND {_ASKED}"),  # noqa: S608 - a constant
    text(f"""
    INSERT INTO centroid (namespace_id, category_id, model_id, total, n)
    SELECT m.namespace_id, place.category_id, e.model_id,
        CAST(CAST(sum(CAST(e.vector AS vector)) AS real[]) AS double precision[]), count(*)
    FROM memory m JOIN embedding e
      ON e.namespace_id = m.namespace_id AND e.memory_id = m.id AND e.version = 1
        AND e.field = 'situation'
    CROSS JOIN LATERAL (VALUES (m.category_id), (m.subcategory_id)) AS place(category_id)
    WHERE m.namespace_id = :ns AND m.kind = 'experience' AND m.erased_at IS NULL
      AND place.category_id IS NOT NULL AND e.{_ASKED}
    GROUP BY m.namespace_id, place.category_id, e.model_id
    ON CONFLICT (namespace_id, category_id, model_id)
    DO UPDATE SET n = excluded.n, total = excluded.total
    """),  # noqa: S608 - a constant
    text("DELETE FROM centroid WHERE namespace_id = :ns AND n = 0 AND prior IS NULL"),
)
