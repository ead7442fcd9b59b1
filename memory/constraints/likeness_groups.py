"""Which constraints are about the same: triggers near one in their midst. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class AlikeConstraints:
    """Constraints whose triggers are alike, the one in their midst first, then the nearest."""

    ids: tuple[UUID, ...]
    similarity: float
    """The least cosine of a trigger to that in the midst, from 0 to 1."""


def group_alike(
    ids: Sequence[UUID], vectors: npt.NDArray[np.float32], bound: float
) -> list[AlikeConstraints]:
    """Each constraint in one group at most, the largest group first; who is like none is in none.

    `vectors` has a unit vector for each id. The one with the most others at `bound` or nearer, of
    equals the first, is the midst of a group, and so on with those that are left.
    """
    cosines = np.minimum(vectors @ vectors.T, 1.0)
    near = cosines >= bound
    np.fill_diagonal(near, val=True)
    sizes = near.sum(axis=1)
    found: list[AlikeConstraints] = []
    while len(ids) and sizes[midst := int(np.argmax(sizes))] > 1:
        members = np.flatnonzero(near[midst])
        order = sorted(members.tolist(), key=lambda one: (one != midst, -cosines[midst, one], one))
        least = float(cosines[midst, members].min())
        found.append(AlikeConstraints(tuple(ids[one] for one in order), least))
        sizes -= near[:, members].sum(axis=1)
        sizes[members] = 0
        near[:, members] = False
        near[members, :] = False
    return found
