"""What lies in `general`, or in a category the taxonomy gave up, is routed anew: stored vectors →
nearest category → moved where that is clear.

Texts and beliefs stay as they are, and so does what cells have learned: only where a memory is
looked for changes, and in which category the runs of a task are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from memory.constraints.store.competence import CompetenceStore
from memory.constraints.store.relabelling import Misplaced, RelabelStore, Wanted
from memory.constraints.store.taxonomies import TaxonomyStore
from memory.constraints.taxonomy import displaced
from memory.inference.store import ModelStore
from memory.kernel.postgres.database import Connection, UniqueTextTaken, undone
from memory.kernel.postgres.leadership import WorkStore
from memory.memories.routing import Place, Router
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, Stamp
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore

RELABEL = "relabel"


LIMIT = 1_000
"""Memories, and tasks, that one run looks at; the next goes on from there."""


CLEAR = 0.05
"""The least confidence with which anything is moved."""


START = UUID(int=0)


TAKEN = "kept: another memory there says the same"


@dataclass(frozen=True, slots=True)
class Relabelled:
    """What a run moved, or would move; what it left because no category was clear; and tasks
    that have no vector to route them by.
    """

    examined: int = 0
    changes: Sequence[Mapping[str, object]] = ()
    without_vector: int = 0
    through: tuple[UUID, UUID] = (START, START)

    def result(self) -> dict[str, object]:
        """As the run's record says it; `through` is where the next run goes on."""
        return {
            "examined": self.examined,
            "unclear": self.examined - len(self.changes),
            "without_vector": self.without_vector,
            "through": [str(one) for one in self.through],
            "changes": list(self.changes),
        }


async def relabel(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> Relabelled:
    """Move what can be placed; a dry run does the same, and takes it back."""
    if namespace.model_id is None:
        return Relabelled()
    if dry:
        async with undone(connection):
            return await _Run(connection, namespace, namespace.model_id).done(times[1])
    return await _Run(connection, namespace, namespace.model_id).done(times[1])


class _Run:
    """One run, in one transaction."""

    def __init__(self, connection: Connection, namespace: Namespace, model_id: UUID) -> None:
        self._connection = connection
        self._namespace = namespace
        self._model_id = model_id
        self._store = RelabelStore(connection, namespace.id)
        self._router = Router(connection, namespace.id, model_id)
        self._names: dict[UUID, str] = {}
        self._gate = 0.0

    async def done(self, now: datetime) -> Relabelled:
        closed = await self._closed()
        if not closed:
            return Relabelled()
        self._names = await ActorStore(self._connection, self._namespace.id).names()
        self._gate = await self._raw_gate()
        after = await self._last()
        memories = await self._store.memories(self._wanted(closed, after[0]))
        tasks = await self._store.tasks(self._wanted(closed, after[1]))
        without = await self._store.count_without_vector(self._wanted(closed, START))
        moved = await self._move_memories(await self._clear(memories, closed), now)
        moved += await self._move_tasks(await self._clear(tasks, closed))
        through = (_through(memories), _through(tasks))
        return Relabelled(len(memories) + len(tasks), moved, without, through)

    async def _closed(self) -> tuple[UUID, ...]:
        """The categories whose tasks are to be routed anew."""
        tops = await self._store.tops()
        versions = await TaxonomyStore(self._connection, self._namespace.id).versions()
        gone = displaced(tops.values(), versions)
        return tuple(sorted(one for one, name in tops.items() if name in gone))

    async def _raw_gate(self) -> float:
        if self._namespace.settings.raw_gate is not None:
            return self._namespace.settings.raw_gate
        return (await ModelStore(self._connection).calibration(self._model_id))["q99"]

    async def _last(self) -> tuple[UUID, UUID]:
        last = await WorkStore(self._connection).last_result(RELABEL, self._namespace.id)
        if last is None:
            return START, START
        memory_id, task_id = cast("Sequence[str]", last["through"])
        return UUID(memory_id), UUID(task_id)

    def _wanted(self, closed: tuple[UUID, ...], after: UUID) -> Wanted:
        return Wanted(closed, self._model_id, after, LIMIT)

    async def _clear(
        self, found: Sequence[Misplaced], closed: tuple[UUID, ...]
    ) -> list[tuple[Misplaced, Place]]:
        """What is like a category enough, and like one clearly."""
        places = [(one, await self._router.place(one.vector, closed)) for one in found]
        return [
            (one, place)
            for one, place in places
            if place is not None and place.confidence >= CLEAR and place.similarity >= self._gate
        ]

    async def _move_memories(
        self, clear: Sequence[tuple[Misplaced, Place]], now: datetime
    ) -> list[Mapping[str, object]]:
        if not clear:
            return []
        version = await NamespaceStore(self._connection).bump(self._namespace.id)
        store = MemoryStore(self._connection, self._namespace.id)
        changes: list[Mapping[str, object]] = []
        moved: list[UUID] = []
        for one, place in clear:
            change = await self._move(store, one, place, version)
            if change == "moved":
                moved.append(one.id)
            changes.append({"memory_id": str(one.id), **self._told(one, place, change)})
        await store.feed(Stamp(None, now, version), "relabelled", moved)
        await CentroidStore(self._connection, self._namespace.id).recount()
        return changes

    async def _move(self, store: MemoryStore, one: Misplaced, place: Place, version: int) -> str:
        values = {
            "category_id": place.ids.category,
            "subcategory_id": place.ids.subcategory,
            "bank_version": version,
        }
        try:
            written = await store.edit(one.id, values, one.version)
        except UniqueTextTaken:
            return TAKEN
        return "moved" if written else "kept: it was changed meanwhile"

    async def _move_tasks(
        self, clear: Sequence[tuple[Misplaced, Place]]
    ) -> list[Mapping[str, object]]:
        if not clear:
            return []
        competence = CompetenceStore(self._connection, self._namespace.id)
        await competence.hold(alone=True)
        for one, place in clear:
            await self._store.move_task(one.id, place.ids)
        await competence.recount()
        return [{"task_id": str(one.id), **self._told(one, place, "moved")} for one, place in clear]

    def _told(self, one: Misplaced, place: Place, change: str) -> dict[str, object]:
        into = [self._names[category_id] for category_id in place.ids.levels]
        return {
            "change": change,
            "from": self._names[one.category_id],
            "into": into,
            "confidence": place.confidence,
            "similarity": place.similarity,
        }


def _through(found: Sequence[Misplaced]) -> UUID:
    """Where the next run goes on; at the end, it begins anew."""
    return found[-1].id if len(found) == LIMIT else START
