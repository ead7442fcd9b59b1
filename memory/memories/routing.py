"""A task finds its place: vector → nearest category → nearest of its subcategories."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.memories.store.centroids import Vector
from memory.tasks.entities import CategoryIds


@dataclass(frozen=True, slots=True)
class Place:
    """A category and, where it has any, the nearest of its subcategories; with the confidence in
    each, and the cosine to the category.
    """

    ids: CategoryIds
    confidence: float
    similarity: float
    sub_confidence: float | None = None


class Centroids(Protocol):
    """Where categories lie, as a store reads them or a copy holds them."""

    async def tops(self, model_id: UUID) -> Mapping[UUID, Vector]: ...

    async def below(self, category_id: UUID, model_id: UUID) -> Mapping[UUID, Vector]: ...


class Router:
    """Routes by the centroids of one source; each is read once."""

    def __init__(self, centroids: Centroids, model_id: UUID) -> None:
        self._store = centroids
        self._model_id = model_id
        self._tops: Mapping[UUID, Vector] | None = None
        self._below: dict[UUID, Mapping[UUID, Vector]] = {}

    async def place(
        self, vector: npt.ArrayLike, closed: Collection[UUID] = frozenset()
    ) -> Place | None:
        """The nearest category that is not `closed`; None where none is near."""
        centres = await self._centres()
        tops = {one: centre for one, centre in centres.items() if one not in closed}
        first = route(vector, tops)
        if first.category_id is None:
            return None
        if first.category_id not in self._below:
            below = await self._store.below(first.category_id, self._model_id)
            self._below[first.category_id] = below
        second = route(vector, self._below[first.category_id])
        return Place(
            ids=CategoryIds(first.category_id, second.category_id),
            confidence=first.confidence,
            similarity=first.similarity,
            sub_confidence=None if second.category_id is None else second.confidence,
        )

    async def nearest(self, vector: npt.ArrayLike, limit: int) -> list[tuple[UUID, float]]:
        """So many categories with their cosines, the nearest first."""
        return nearness(vector, await self._centres())[:limit]

    async def _centres(self) -> Mapping[UUID, Vector]:
        if self._tops is None:
            self._tops = await self._store.tops(self._model_id)
        return self._tops


@dataclass(frozen=True, slots=True)
class Routed:
    """The nearest category and how clearly it is the nearest, in [0, 1]; None where none is near.

    Confidence is the cosine to the nearest centroid less the cosine to the next (or 0): a task
    between two categories has 0, one that is far from all has little, whoever is nearest.
    `similarity` is the cosine to the nearest.
    """

    category_id: UUID | None
    confidence: float
    similarity: float = 0.0


def route(vector: npt.ArrayLike, centroids: Mapping[UUID, npt.ArrayLike]) -> Routed:
    """The category with the largest cosine to `vector`, ties by id.

    A centroid is the mean of its tasks' unit vectors and need not be a unit vector itself.
    """
    ranked = nearness(vector, centroids)
    if not ranked or ranked[0][1] <= 0:
        return Routed(None, 0.0)
    nearest, best = ranked[0]
    runner_up = ranked[1][1] if len(ranked) > 1 else 0.0
    return Routed(nearest, best - runner_up, best)


def nearness(
    vector: npt.ArrayLike, centroids: Mapping[UUID, npt.ArrayLike]
) -> list[tuple[UUID, float]]:
    """Each category with its cosine to `vector`, clamped at 0: the nearest first, ties by id."""
    asked = np.asarray(vector, dtype=np.float64)
    found = [(category, _cosine(asked, centroid)) for category, centroid in centroids.items()]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _cosine(asked: npt.NDArray[np.float64], centroid: npt.ArrayLike) -> float:
    """The cosine clamped to [0, 1]; 0 where either has no direction."""
    other = np.asarray(centroid, dtype=np.float64)
    length = float(np.sqrt((asked @ asked) * (other @ other)))
    return min(1.0, max(0.0, float(asked @ other) / length)) if length > 0 else 0.0
