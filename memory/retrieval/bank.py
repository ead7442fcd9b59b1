"""BankReader: what a retrieval reads, whether the database answers or a copy of it does.

`SqlBank` reads inside one transaction; `memory.retrieval.resident` answers from what a process
holds, and asks a `SqlBank` for the rest. Both give the same answers.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from typing import Protocol
from uuid import UUID

import numpy.typing as npt

from memory.belief.fold import Learned
from memory.belief.store.states import StateStore
from memory.constraints.sharing import Reserve, Surroundings
from memory.constraints.store.near import NearConstraint, NearConstraintStore
from memory.constraints.store.sharing import SharingStore
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection, Look, look_inside, undone
from memory.memories.routing import Place, Router
from memory.memories.store.centroids import CentroidStore
from memory.meta_guidelines.store import (
    MetaGuidelineStore,
    NearMetaGuideline,
    Neighbourhood,
)
from memory.receipts.rebuild import past_states
from memory.retrieval.constraint_places import place_constraints
from memory.retrieval.head import margin
from memory.retrieval.store.search import Head, Probe, Scope, SearchStore
from memory.tasks.entities import Agent, CategoryIds, CategoryName
from memory.tasks.service import NameResolver
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call

CellKey = tuple[UUID, UUID]
"""An agent and a category."""


class BankReader(Protocol):
    """One namespace, as one call may read it."""

    async def ensure_agent(self, name: str) -> Agent:
        """The agent of that name, made at first use."""
        ...

    async def ensure_category(self, name: CategoryName) -> CategoryIds:
        """Ids of both levels; a closed taxonomy refuses what it does not know."""
        ...

    async def category_names(self) -> Mapping[UUID, str]: ...

    async def place(self, vector: npt.ArrayLike) -> Place | None:
        """The nearest category; None where none is near."""
        ...

    async def nearest_categories(
        self, vector: npt.ArrayLike, limit: int
    ) -> list[tuple[UUID, float]]: ...

    async def past_states(self, as_of: datetime) -> Learned:
        """Every state as it was then."""
        ...

    async def reserve(self, reader: Agent, as_of: datetime | None) -> Reserve:
        """What is held back from the agent."""
        ...

    async def related(self, category_id: UUID) -> tuple[UUID, ...]: ...

    async def head(self, probes: Sequence[Probe], scope: Scope, size: int, margin: float) -> Head:
        """Every row within `margin` of the size-th most similar."""
        ...

    async def whole(self, fields: Collection[str], scope: Scope) -> Head:
        """Every row that may be seen and has a vector of one of these fields."""
        ...

    async def constraints(self, near: Neighbourhood) -> tuple[NearConstraint, ...]: ...

    async def guides(self, near: Neighbourhood) -> tuple[NearMetaGuideline, ...]: ...

    async def count_controls(self, cell: CellKey) -> int:
        """How many control outcomes the cell has."""
        ...

    async def cell_states(self, cell: CellKey) -> Learned:
        """The agent's strengths, and the rankers' records of the category and of all."""
        ...


class SqlBank:
    """Reads inside one transaction; agents, categories, cells and whole banks are looked up once.
    Its open parts look each time anew, for those who remember what they found.
    """

    def __init__(self, connection: Connection, call: Call, model_id: UUID) -> None:
        namespace_id = call.namespace.id
        self._connection = connection
        self._look = partial(look_inside, connection)
        self._call = call
        self._model_id = model_id
        self.actors = ActorStore(connection, namespace_id)
        self.centroids = CentroidStore(connection, namespace_id)
        self._surroundings = Surroundings(connection, call)
        self._names = NameResolver(connection, call)
        self.sharing = SharingStore(connection, namespace_id)
        self.states = StateStore(connection, namespace_id)
        self.meta_guidelines = MetaGuidelineStore(connection, namespace_id)
        self._router = Router(self.centroids, model_id)
        self._search = SearchStore(connection, namespace_id)
        self._controls: dict[CellKey, int] = {}
        self._cells: dict[CellKey, Learned] = {}
        self._past: dict[datetime, Learned] = {}
        self._banks: dict[tuple[Scope, frozenset[str]], Head] = {}

    async def ensure_agent(self, name: str) -> Agent:
        return await self._names.ensure_agent(name)

    async def ensure_category(self, name: CategoryName) -> CategoryIds:
        return await self._names.ensure_category(name)

    async def category_names(self) -> Mapping[UUID, str]:
        return await self.actors.names()

    async def place(self, vector: npt.ArrayLike) -> Place | None:
        return await self._router.place(vector)

    async def nearest_categories(
        self, vector: npt.ArrayLike, limit: int
    ) -> list[tuple[UUID, float]]:
        return await self._router.nearest(vector, limit)

    async def past_states(self, as_of: datetime) -> Learned:
        if as_of not in self._past:
            found = await past_states(self._connection, self._call.namespace, as_of)
            self._past[as_of] = found
        return self._past[as_of]

    async def reserve(self, reader: Agent, as_of: datetime | None) -> Reserve:
        return await self._surroundings.reserve(reader, as_of)

    async def related(self, category_id: UUID) -> tuple[UUID, ...]:
        return await self._surroundings.related(category_id)

    async def head(self, probes: Sequence[Probe], scope: Scope, size: int, margin: float) -> Head:
        return await self._search.head(probes, scope, size, margin)

    async def whole(self, fields: Collection[str], scope: Scope) -> Head:
        """The same for all requests of one agent and time."""
        key = (scope, frozenset(fields))
        if key not in self._banks:
            self._banks[key] = await self._search.bank(fields, scope)
        return self._banks[key]

    async def constraints(self, near: Neighbourhood) -> tuple[NearConstraint, ...]:
        """Where the namespace has any."""
        if not (await self._surroundings.presence()).constraints:
            return ()
        store = NearConstraintStore(self._look, self._call.namespace.id)
        links = await store.find(near, margin(len(near.vectors[0].vector)))
        return tuple(await store.load(near, place_constraints(links, near.vectors)))

    async def guides(self, near: Neighbourhood) -> tuple[NearMetaGuideline, ...]:
        return tuple(await self.meta_guidelines.list_near(near))

    async def count_controls(self, cell: CellKey) -> int:
        if cell not in self._controls:
            self._controls[cell] = await self.states.controls(*cell)
        return self._controls[cell]

    async def cell_states(self, cell: CellKey) -> Learned:
        if cell not in self._cells:
            self._cells[cell] = await self.states.load_for_cell(*cell)
        return self._cells[cell]


class SqlDoor:
    """Opens the transaction of a call's reading when something is to be read there."""

    def __init__(self, engine: Engine, call: Call, model_id: UUID, stack: AsyncExitStack) -> None:
        self._engine = engine
        self._call = call
        self._model_id = model_id
        self._stack = stack
        self._connection: Connection | None = None
        self._bank: SqlBank | None = None
        self.has_written = False
        """Whether anything was made in it, which nobody else may see before it is committed."""

    async def bank(self) -> SqlBank:
        if self._bank is None:
            self._bank = SqlBank(await self._connected(), self._call, self._model_id)
        return self._bank

    def look(self) -> Look:
        """For a question that only the database answers: in a transaction of its own and few round
        trips, unless one is open, which may have made what is asked about.
        """
        if self._connection is not None:
            return partial(look_inside, self._connection)
        return partial(self._engine.database.exchange, namespace_id=self._call.namespace.id)

    async def preview(self, stack: AsyncExitStack) -> SqlBank:
        """A bank whose writes are rolled back at the end of `stack`."""
        self.has_written = True
        connection = await self._connected()
        await stack.enter_async_context(undone(connection))
        return SqlBank(connection, self._call, self._model_id)

    async def _connected(self) -> Connection:
        if self._connection is None:
            transaction = self._engine.database.transaction(self._call.namespace.id)
            self._connection = await self._stack.enter_async_context(transaction)
        return self._connection
