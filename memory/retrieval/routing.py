"""Routes a task to the category whose tasks it is most like."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt


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


@dataclass(frozen=True, slots=True)
class Place:
    """A category and, where it has any, the nearest of its subcategories; with the confidence in
    each, and the cosine to the category.
    """

    ids: tuple[UUID, UUID | None]
    confidence: float
    similarity: float
    sub_confidence: float | None = None


def route(vector: npt.ArrayLike, centroids: Mapping[UUID, npt.ArrayLike]) -> Routed:
    """The category with the largest cosine to `vector`, ties by id.

    A centroid is the mean of its tasks' unit vectors and need not be a unit vector itself.
    """
    asked = np.asarray(vector, dtype=np.float64)
    ranked = sorted(
        (-_cosine(asked, centroid), category) for category, centroid in centroids.items()
    )
    if not ranked or ranked[0][0] >= 0:
        return Routed(None, 0.0)
    best, nearest = ranked[0]
    runner_up = ranked[1][0] if len(ranked) > 1 else 0.0
    return Routed(nearest, runner_up - best, -best)


def _cosine(asked: npt.NDArray[np.float64], centroid: npt.ArrayLike) -> float:
    """The cosine clamped to [0, 1]; 0 where either has no direction."""
    other = np.asarray(centroid, dtype=np.float64)
    length = float(np.sqrt((asked @ asked) * (other @ other)))
    return min(1.0, max(0.0, float(asked @ other) / length)) if length > 0 else 0.0
