"""Which failures are alike: of one bucket, with tasks near one in their midst. Pure.

After Mistake Notebook, which learns from several failures of a kind at once. A bucket is a
category, a family of agents, and a measure of the reward.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

FEWEST = 3
"""So many failures of different tasks are a cluster."""


MOST = 6
"""So many of a cluster are shown to a model and tried; the nearest ones."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed. `group`: what its task stands or falls with; `bucket`: failures of
    different ones are never alike.
    """

    outcome_id: UUID
    group: str
    bucket: tuple[str, ...]
    task: str


@dataclass(frozen=True, slots=True)
class FailureCluster:
    """Failures that are alike, the one in their midst first, then the nearest; `similarity`: the
    least cosine of a task to that in the midst.
    """

    failures: tuple[Failure, ...]
    similarity: float


def clusters(
    failures: Sequence[Failure], vectors: Mapping[str, npt.NDArray[np.float32]], bound: float
) -> list[FailureCluster]:
    """Each failure in one cluster at most. `vectors` are unit vectors by text of a task.

    The failure with the most others near it, of equals the first, is the midst of a cluster, and so
    on with those that are left; of one task group only the nearest failure counts.
    """
    found: list[FailureCluster] = []
    for bucket in sorted({one.bucket for one in failures}):
        left = [one for one in failures if one.bucket == bucket]
        while len(left) >= FEWEST:
            best = max((_around(one, left, vectors, bound) for one in left), key=_size)
            if len(best.failures) < FEWEST:
                break
            found.append(_trimmed(best))
            taken = {one.outcome_id for one in best.failures}
            left = [one for one in left if one.outcome_id not in taken]
    return found


def _size(cluster: FailureCluster) -> int:
    return len(cluster.failures)


def _around(
    midst: Failure,
    failures: Sequence[Failure],
    vectors: Mapping[str, npt.NDArray[np.float32]],
    bound: float,
) -> FailureCluster:
    cosines = {
        one.outcome_id: min(1.0, float(vectors[midst.task] @ vectors[one.task])) for one in failures
    }
    cosines[midst.outcome_id] = 1.0
    near = [one for one in failures if cosines[one.outcome_id] >= bound]
    # Of equals the midst itself stands first.
    ranked = sorted(near, key=lambda one: (-cosines[one.outcome_id], one is not midst))
    groups: dict[str, Failure] = {}
    for one in ranked:
        groups.setdefault(one.group, one)
    kept = tuple(groups.values())
    return FailureCluster(kept, min(cosines[one.outcome_id] for one in kept))


def _trimmed(cluster: FailureCluster) -> FailureCluster:
    return FailureCluster(cluster.failures[:MOST], cluster.similarity)
