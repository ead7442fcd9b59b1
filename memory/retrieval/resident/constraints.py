"""The constraints of a namespace that may be served now, by the tasks that lead to them. No I/O.

What they say and weigh is asked of the database, for the few that are near: here stands what all of
them are compared by. Of tasks that say the same, one vector is compared.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.constraints.store.near import NEAREST_TASKS, ConstraintLink, NearLink
from memory.kernel.ports import Embedding
from memory.memories.entities import ANY_AGENT
from memory.meta_guidelines.store import Neighbourhood
from memory.retrieval.head import Double, to_stored_precision
from memory.retrieval.resident.rows import FieldView, scales_of
from memory.retrieval.store.found_rows import half
from memory.retrieval.store.search import Probe

Places = npt.NDArray[np.intp]
Name = TypeVar("Name", bound=Hashable)

LINK_BYTES = 700
"""What a link takes beside the vector of its task, about."""


NOWHERE = -1
"""In place of the number of what no constraint has."""


class ResidentConstraints:
    """As they stood when they were read; `vectors` by task, as the database sends them."""

    def __init__(self, links: Sequence[ConstraintLink], vectors: Mapping[UUID, bytes]) -> None:
        self._links = [link for link in links if link.task_id in vectors]
        self._tasks = sorted({link.task_id for link in self._links})
        different: dict[bytes, bytes] = {}
        self.vectors = {
            one: different.setdefault(vectors[one], vectors[one]) for one in self._tasks
        }
        """Of the tasks that still lead to a constraint."""
        self._view = _view_of(list(different))
        self._vector = _numbered(self.vectors.values(), {})
        self._task = _numbered((link.task_id for link in self._links), _numbers(self._tasks))
        self._memory = _numbered((link.id for link in self._links), {})
        self._owners: dict[str, int] = {ANY_AGENT: 0}
        self._owner = _numbered((link.owner for link in self._links), self._owners)
        self._categories: dict[UUID | None, int] = {None: 0}
        self._first = _numbered((link.category_id for link in self._links), self._categories)
        self._second = _numbered((link.subcategory_id for link in self._links), self._categories)

    def __len__(self) -> int:
        return len(self._links)

    @property
    def bytes(self) -> int:
        """What it takes, about."""
        return LINK_BYTES * len(self._links) + 2 * self._view.vectors.nbytes

    def near(self, wanted: Neighbourhood, margin: float) -> list[NearLink]:
        """As `NearConstraintStore.find`, of the present."""
        seen = self._owner == 0
        if wanted.private:
            seen |= self._owner == self._owners.get(str(wanted.agent_id), NOWHERE)
        if not seen.any():
            return []
        cosines = self._compare(wanted.vectors)[self._vector]
        buckets = self._buckets(wanted)
        held: dict[int, int] = {}
        candidates = np.zeros(len(self._tasks), dtype=np.bool_)
        for bucket in np.unique(buckets[seen]).tolist():
            inside = seen & (buckets == bucket)
            held[bucket] = len(np.unique(self._memory[inside]))
            tasks = np.unique(self._task[inside])
            candidates[self._nearest(tasks, cosines[tasks], margin)] = True
        return [
            NearLink(
                id=link.id,
                version=link.version,
                bucket=int(buckets[at]),
                held=held[int(buckets[at])],
                task_id=link.task_id,
                vector=self.vectors[link.task_id],
            )
            for at in np.flatnonzero(seen & candidates[self._task]).tolist()
            for link in (self._links[at],)
        ]

    def _compare(self, vectors: Sequence[Embedding]) -> Double:
        """Of each different vector the best cosine."""
        probes = [Probe(to_stored_precision(one.vector), "") for one in vectors]
        return np.maximum.reduce(self._view.cosines(probes))

    def _nearest(self, tasks: Places, cosines: Double, margin: float) -> list[int]:
        """Those within the margin of the third; of equal ones the first three."""
        if len(tasks) > NEAREST_TASKS:
            last = np.partition(cosines, len(tasks) - NEAREST_TASKS)[len(tasks) - NEAREST_TASKS]
            tasks = tasks[cosines >= last - margin]
        taken = Counter[int]()
        kept: list[int] = []
        for task, vector in zip(tasks.tolist(), self._vector[tasks].tolist(), strict=True):
            taken[vector] += 1
            if taken[vector] <= NEAREST_TASKS:
                kept.append(task)
        return kept

    def _buckets(self, wanted: Neighbourhood) -> npt.NDArray[np.int8]:
        """How far each is from the task's category, as `BUCKET` has it."""
        ids, known = wanted.category_ids, self._categories
        below = self._second != known.get(ids.subcategory, NOWHERE)
        related = [known[one] for one in wanted.related if one in known]
        far = np.where(np.isin(self._first, related), 2, 3)
        own = self._first == known.get(ids.category, NOWHERE)
        return np.where(own, below, far).astype(np.int8)


def _numbers(names: Iterable[Name]) -> dict[Name, int]:
    return {name: number for number, name in enumerate(names)}


def _numbered(names: Iterable[Name], known: dict[Name, int]) -> Places:
    """The number of each; a new one gets the next."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.intp)


def _view_of(sent: Sequence[bytes]) -> FieldView:
    stacked = np.stack([half(one) for one in sent]) if sent else np.zeros((0, 1), dtype=np.float16)
    return FieldView(stacked.astype(np.float32), scales_of(stacked))
