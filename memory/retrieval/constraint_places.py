"""Which constraints come of the nearest tasks, decided in double precision. No I/O.

The database and a resident copy both hand over every task within a margin of the last one wanted
(`memory.retrieval.head`), so both give the same constraints with the same similarities.
"""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from memory.constraints.store.near import NEAREST_TASKS, NearLink, NearTask, PlacedConstraint
from memory.kernel.ports import Embedding
from memory.retrieval.head import HeadRow, QueryVector, Stored
from memory.retrieval.store.found_rows import half

FIELD = "situation"
"""A task is compared as situations are."""


def place_constraints(
    links: Sequence[NearLink], vectors: Sequence[Embedding]
) -> list[PlacedConstraint]:
    """Those of the three nearest tasks of each bucket, by id; of equals the first by id."""
    if not links:
        return []
    tasks = {link.task_id: link.vector for link in links}
    stored = Stored.of([HeadRow(one, FIELD, half(sent)) for one, sent in tasks.items()])
    found = stored.similarities([QueryVector(FIELD, made.vector) for made in vectors])
    cosine = dict(zip(stored.ids, found.tolist(), strict=True))
    of_bucket: defaultdict[int, set[UUID]] = defaultdict(set)
    for link in links:
        of_bucket[link.bucket].add(link.task_id)
    near = {
        task_id
        for some in of_bucket.values()
        for task_id in sorted(some, key=lambda one: (-cosine[one], one))[:NEAREST_TASKS]
    }
    sources: defaultdict[UUID, list[NearTask]] = defaultdict(list)
    for link in links:
        if link.task_id in near:
            sources[link.id].append(NearTask(link.task_id, cosine[link.task_id]))
    first = {link.id: link for link in links}
    return [
        PlacedConstraint(
            id=memory_id,
            version=first[memory_id].version,
            bucket=first[memory_id].bucket,
            held=first[memory_id].held,
            sources=tuple(sorted(some, key=lambda one: (-one.similarity, one.task_id))),
        )
        for memory_id, some in sorted(sources.items())
    ]
