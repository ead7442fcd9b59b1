"""ResidentBank: what a retrieval reads, of the copy where it holds it, else of the database.

The copy knows the present of what every agent sees, and which constraints are near. The past, what
is held back between families, what constraints say and weigh, meta-guidelines where there are any,
and whatever must be made first are the database's; what is small and was asked there is remembered
until rows it was read from change.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TypeVar, cast
from uuid import UUID

import numpy.typing as npt

from memory.belief.fold import Learned
from memory.constraints.sharing import Reserve
from memory.constraints.store.near import NearConstraint, NearConstraintStore
from memory.memories.routing import Place, Router
from memory.memories.store.centroids import Vector
from memory.meta_guidelines.store import NearMetaGuideline, Neighbourhood, load_near
from memory.retrieval.bank import CellKey, SqlBank, SqlDoor
from memory.retrieval.constraint_places import place_constraints
from memory.retrieval.head import margin
from memory.retrieval.resident.answers import Question
from memory.retrieval.resident.constraints import ResidentConstraints
from memory.retrieval.resident.namespaces import ResidentNamespace
from memory.retrieval.resident.scan import Scan
from memory.retrieval.store.search import EVERYTHING, Head, Probe, Scope
from memory.tasks.entities import OWN_NAMES, Agent, CategoryIds, CategoryName
from memory.tenancy.entities import Call

Found = TypeVar("Found")


class ResidentBank:
    """One call's look at a copy."""

    def __init__(
        self,
        copy: ResidentNamespace,
        door: SqlDoor,
        call: Call,
        model_id: UUID,
        probes: Sequence[Probe],
    ) -> None:
        self._copy = copy
        self._door = door
        self._call = call
        self._model_id = model_id
        self._router = Router(self, model_id)
        self._scan = Scan(copy, probes)

    async def _ask(self, question: Question, look: Callable[[SqlBank], Awaitable[Found]]) -> Found:
        """What is remembered, else what the database says now."""
        answers = self._copy.answers
        if (known := answers.find(question)) is not None:
            return cast("Found", known.value)
        asked = answers.moment(question)
        found = await look(await self._door.bank())
        # What is not committed yet may never be.
        if not self._door.has_written:
            answers.remember(question, found, asked)
        return found

    async def _make(self) -> SqlBank:
        """Where something is made that was missing."""
        bank = await self._door.bank()
        self._door.has_written = True
        return bank

    async def ensure_agent(self, name: str) -> Agent:
        if name not in OWN_NAMES:
            question = Question("agent", name, ("agent",))
            known = await self._ask(question, lambda bank: bank.actors.find_agent(name))
            if known is not None:
                return known
        return await (await self._make()).ensure_agent(name)

    async def ensure_category(self, name: CategoryName) -> CategoryIds:
        first = await self._find_category(name.name, None)
        if first is not None and name.subcategory is None:
            return CategoryIds(first)
        if first is not None and name.subcategory is not None:
            second = await self._find_category(name.subcategory, first)
            if second is not None:
                return CategoryIds(first, second)
        return await (await self._make()).ensure_category(name)

    async def _find_category(self, name: str, parent_id: UUID | None) -> UUID | None:
        question = Question("category", (name, parent_id), ("category",))
        return await self._ask(question, lambda bank: bank.actors.find_category(name, parent_id))

    async def category_names(self) -> Mapping[UUID, str]:
        question = Question("names", None, ("category",))
        return await self._ask(question, lambda bank: bank.actors.names())

    async def tops(self, model_id: UUID) -> Mapping[UUID, Vector]:
        """As `Centroids` for the router."""
        question = Question("tops", model_id, ("centroid", "category"))
        return await self._ask(question, lambda bank: bank.centroids.tops(model_id))

    async def below(self, category_id: UUID, model_id: UUID) -> Mapping[UUID, Vector]:
        """As `Centroids` for the router."""
        question = Question("below", (category_id, model_id), ("centroid", "category"))
        return await self._ask(question, lambda bank: bank.centroids.below(category_id, model_id))

    async def place(self, vector: npt.ArrayLike) -> Place | None:
        return await self._router.place(vector)

    async def nearest_categories(
        self, vector: npt.ArrayLike, limit: int
    ) -> list[tuple[UUID, float]]:
        return await self._router.nearest(vector, limit)

    async def past_states(self, as_of: datetime) -> Learned:
        return await (await self._door.bank()).past_states(as_of)

    async def reserve(self, reader: Agent, as_of: datetime | None) -> Reserve:
        if reader.family is None:
            return Reserve()
        question = Question("families", None, ("agent", "support", "taxonomy"))
        presence = await self._ask(question, lambda bank: bank.sharing.presence())
        if not presence.families:
            return Reserve()
        return await (await self._door.bank()).reserve(reader, as_of)

    async def related(self, category_id: UUID) -> tuple[UUID, ...]:
        question = Question("related", category_id, ("taxonomy", "category"))
        return await self._ask(question, lambda bank: bank.sharing.related(category_id))

    async def head(self, probes: Sequence[Probe], scope: Scope, size: int, margin: float) -> Head:
        if scope.past or scope.reserved or not self._knows(scope):
            return await (await self._door.bank()).head(probes, scope, size, margin)
        return await self._scan.head(probes, scope, size, margin)

    def _knows(self, scope: Scope) -> bool:
        """Whether the copy has the words that are asked for, and counts them in little time."""
        words = self._copy.rows.words
        return scope.words is None or (words is not None and words.is_brief)

    async def whole(self, fields: Collection[str], scope: Scope) -> Head:
        return await (await self._door.bank()).whole(fields, scope)

    async def constraints(self, near: Neighbourhood) -> tuple[NearConstraint, ...]:
        question = Question("constraints", None, ("support",))
        presence = await self._ask(question, lambda bank: bank.sharing.presence())
        if not presence.constraints:
            return ()
        store = NearConstraintStore(self._door.look(), self._call.namespace.id)
        bound = margin(len(near.vectors[0].vector))
        held = None
        if not near.past and near.filter is None and near.as_of == EVERYTHING:
            held = await self._load_constraints(store)
        links = held.near(near, bound) if held is not None else await store.find(near, bound)
        return tuple(await store.load(near, place_constraints(links, near.vectors)))

    async def _load_constraints(self, store: NearConstraintStore) -> ResidentConstraints | None:
        """Those of the copy, read anew where they have changed; the vector of a task never does.
        None where there is no room for them.
        """
        copy, answers = self._copy, self._copy.answers
        question = Question("constraint links", self._model_id, ("constraint", "support"))
        async with copy.loading:
            if (known := answers.find(question)) is not None:
                return cast("ResidentConstraints | None", known.value)
            asked = answers.moment(question)
            links = await store.links(self._model_id)
            stored = {} if copy.constraints is None else copy.constraints.vectors
            unknown = sorted({link.task_id for link in links} - stored.keys())
            vectors = stored | await store.vectors(unknown, self._model_id)
            found = ResidentConstraints(links, vectors)
            has_room = copy.rows.bytes + found.bytes <= copy.limit
            copy.constraints = found if has_room else None
            if not self._door.has_written:
                answers.remember(question, copy.constraints, asked)
            return copy.constraints

    async def guides(self, near: Neighbourhood) -> tuple[NearMetaGuideline, ...]:
        question = Question("guides", None, ("meta_guideline",))
        if not near.past and not await self._ask(
            question, lambda bank: bank.meta_guidelines.has_any()
        ):
            return ()
        return tuple(await load_near(self._door.look(), self._call.namespace.id, near))

    async def count_controls(self, cell: CellKey) -> int:
        question = Question("controls", cell, ("cell",))
        return await self._ask(question, lambda bank: bank.states.controls(*cell))

    async def cell_states(self, cell: CellKey) -> Learned:
        question = Question("states", cell, ("strength", "record"))
        return await self._ask(question, lambda bank: bank.states.load_for_cell(*cell))
