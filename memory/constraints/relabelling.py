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
from memory.constraints.store.relabelling import Misplaced, RelabelQuery, RelabelStore
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
        """As the run's record has it; `through` is where the next run goes on."""
        return {
            "examined": self.examined,
            "unclear": self.examined - len(self.changes),
            "without_vector": self.without_vector,
            "through": [str(one) for one in self.through],
            "changes": list(self.changes),
        }


@dataclass(frozen=True, slots=True)
class CategoryMove:
    """A memory or a task, and the category that it is clearly like."""

    what: Misplaced
    place: Place


async def relabel(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> Relabelled:
    """Move what can be placed; a dry run does the same, and takes it back."""
    if namespace.model_id is None:
        return Relabelled()
    if dry:
        async with undone(connection):
            return await _RelabelRun(connection, namespace, namespace.model_id).run(times[1])
    return await _RelabelRun(connection, namespace, namespace.model_id).run(times[1])


class _RelabelRun:
    """One run, in one transaction."""

    def __init__(self, connection: Connection, namespace: Namespace, model_id: UUID) -> None:
        self._connection = connection
        self._namespace = namespace
        self._model_id = model_id
        self._store = RelabelStore(connection, namespace.id)
        self._router = Router(CentroidStore(connection, namespace.id), model_id)
        self._names: dict[UUID, str] = {}
        self._gate = 0.0

    async def run(self, now: datetime) -> Relabelled:
        closed = await self._closed_categories()
        if not closed:
            return Relabelled()
        self._names = await ActorStore(self._connection, self._namespace.id).names()
        self._gate = await self._raw_gate()
        after = await self._last_ids()
        memories = await self._store.memories(self._query(closed, after[0]))
        tasks = await self._store.tasks(self._query(closed, after[1]))
        without = await self._store.count_without_vector(self._query(closed, START))
        moved = await self._move_memories(await self._place_clear(memories, closed), now)
        moved += await self._move_tasks(await self._place_clear(tasks, closed))
        through = (_last_id(memories), _last_id(tasks))
        return Relabelled(len(memories) + len(tasks), moved, without, through)

    async def _closed_categories(self) -> tuple[UUID, ...]:
        """The categories whose tasks are to be routed anew."""
        tops = await self._store.tops()
        versions = await TaxonomyStore(self._connection, self._namespace.id).versions()
        gone = displaced(tops.values(), versions)
        return tuple(sorted(one for one, name in tops.items() if name in gone))

    async def _raw_gate(self) -> float:
        if self._namespace.settings.raw_gate is not None:
            return self._namespace.settings.raw_gate
        return (await ModelStore(self._connection).calibration(self._model_id))["q99"]

    async def _last_ids(self) -> tuple[UUID, UUID]:
        last = await WorkStore(self._connection).last_result(RELABEL, self._namespace.id)
        if last is None:
            return START, START
        memory_id, task_id = cast("Sequence[str]", last["through"])
        return UUID(memory_id), UUID(task_id)

    def _query(self, closed: tuple[UUID, ...], after: UUID) -> RelabelQuery:
        return RelabelQuery(closed, self._model_id, after, LIMIT)

    async def _place_clear(
        self, found: Sequence[Misplaced], closed: tuple[UUID, ...]
    ) -> list[CategoryMove]:
        """What is like a category enough, and like one clearly."""
        places = [(one, await self._router.place(one.vector, closed)) for one in found]
        return [
            CategoryMove(one, place)
            for one, place in places
            if place is not None and place.confidence >= CLEAR and place.similarity >= self._gate
        ]

    async def _move_memories(
        self, moves: Sequence[CategoryMove], now: datetime
    ) -> list[Mapping[str, object]]:
        if not moves:
            return []
        version = await NamespaceStore(self._connection).bump(self._namespace)
        store = MemoryStore(self._connection, self._namespace.id)
        changes: list[Mapping[str, object]] = []
        moved: list[UUID] = []
        for move in moves:
            change = await self._move(store, move, version)
            if change == "moved":
                moved.append(move.what.id)
            changes.append({"memory_id": str(move.what.id), **self._describe(move, change)})
        await store.feed(Stamp(None, now, version), "relabelled", moved)
        await CentroidStore(self._connection, self._namespace.id).recount()
        return changes

    async def _move(self, store: MemoryStore, move: CategoryMove, version: int) -> str:
        values = {
            "category_id": move.place.ids.category,
            "subcategory_id": move.place.ids.subcategory,
            "bank_version": version,
        }
        try:
            written = await store.edit(move.what.id, values, move.what.version)
        except UniqueTextTaken:
            return TAKEN
        return "moved" if written else "kept: it was changed meanwhile"

    async def _move_tasks(self, moves: Sequence[CategoryMove]) -> list[Mapping[str, object]]:
        if not moves:
            return []
        competence = CompetenceStore(self._connection, self._namespace.id)
        await competence.hold(alone=True)
        for move in moves:
            await self._store.move_task(move.what.id, move.place.ids)
        await competence.recount()
        return [{"task_id": str(move.what.id), **self._describe(move, "moved")} for move in moves]

    def _describe(self, move: CategoryMove, change: str) -> dict[str, object]:
        place = move.place
        into = [self._names[category_id] for category_id in place.ids.levels]
        return {
            "change": change,
            "from": self._names[move.what.category_id],
            "into": into,
            "confidence": place.confidence,
            "similarity": place.similarity,
        }


def _last_id(found: Sequence[Misplaced]) -> UUID:
    """Where the next run goes on; at the end, it begins anew."""
    return found[-1].id if len(found) == LIMIT else START
