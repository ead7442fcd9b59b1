"""A task finds its place: vector → nearest category → nearest of its subcategories."""

from collections.abc import Collection
from uuid import UUID

import numpy.typing as npt

from memory.retrieval.routing import Place, route
from memory.storage.centroids import CentroidStore, Vector
from memory.storage.database import Connection


class Router:
    """Routes inside one transaction; each centroid is read once."""

    def __init__(self, connection: Connection, namespace_id: UUID, model_id: UUID) -> None:
        self._store = CentroidStore(connection, namespace_id)
        self._model_id = model_id
        self._tops: dict[UUID, Vector] | None = None
        self._below: dict[UUID, dict[UUID, Vector]] = {}

    async def place(
        self, vector: npt.ArrayLike, closed: Collection[UUID] = frozenset()
    ) -> Place | None:
        """The nearest category that is not `closed`; None where none is near."""
        if self._tops is None:
            self._tops = await self._store.tops(self._model_id)
        tops = {one: centre for one, centre in self._tops.items() if one not in closed}
        first = route(vector, tops)
        if first.category_id is None:
            return None
        if first.category_id not in self._below:
            below = await self._store.below(first.category_id, self._model_id)
            self._below[first.category_id] = below
        second = route(vector, self._below[first.category_id])
        return Place(
            ids=(first.category_id, second.category_id),
            confidence=first.confidence,
            similarity=first.similarity,
            sub_confidence=None if second.category_id is None else second.confidence,
        )
