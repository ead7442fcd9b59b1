"""What a retrieval finds before anything is ranked: who asks, in which category, and the exact
head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learned
from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.constraints.sharing import Surroundings
from memory.constraints.store.near import Binding, BindingStore
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.memories.routing import Router
from memory.meta_guidelines.store import GuidanceStore, Guide, Near
from memory.receipts.entities import Format
from memory.receipts.rebuild import past_states
from memory.retrieval.entities import Ask, NearCategory, Query
from memory.retrieval.head import margin, to_stored_precision
from memory.retrieval.store.search import Probe, Scope, SearchStore
from memory.retrieval.weighing import Weighed, weighed
from memory.tasks.entities import Agent, CategoryIds, CategoryName, Task
from memory.tasks.service import GENERAL, NameResolver
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Clock

HEAD = 4
"""The head is this many times k: weights re-rank it and nothing else."""


NEAR = 5
"""How many of the nearest categories an explanation names."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An ask that was found good: its task if it names one, its time, its queries with vectors."""

    position: int
    ask: Ask
    task: Task | None
    as_of: datetime
    queries: tuple[Query, ...]
    vectors: tuple[Embedding, ...]

    @property
    def text(self) -> str:
        """What the agent is about to attempt, in its own words."""
        if self.task is not None:
            return self.task.text
        assert self.ask.task is not None
        return self.ask.task.text

    @property
    def category(self) -> CategoryName | None:
        if self.task is not None:
            return self.task.category_name
        return self.ask.task.category_name if self.ask.task is not None else None


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that ranking needs, read in one transaction.

    `following` holds the agent's strengths, and the rankers' records of the category and of the
    whole namespace; `past` every state of that time, where the retrieval asks about a time before
    the newest outcome; `nearby` the categories nearest to the task, where the ask is explained.
    """

    asked: Asked
    agent: Agent
    category_ids: CategoryIds
    category: CategoryName
    confidence: float
    controls: int
    following: Learned
    weighed: Weighed
    head_size: int
    past: Learned | None
    guides: tuple[Guide, ...] = ()
    nearby: tuple[NearCategory, ...] = ()
    bound: tuple[Binding, ...] = ()


class Finder:
    """Finds for the asks of one transaction; agents, categories and cells are looked up once."""

    def __init__(self, connection: Connection, call: Call, model_id: UUID) -> None:
        self._connection = connection
        self._call = call
        self._model_id = model_id
        self._actors = ActorStore(connection, call.namespace.id)
        self._names = NameResolver(connection, call)
        self._controls: dict[tuple[UUID, UUID], int] = {}
        self._following: dict[tuple[UUID, UUID], Learned] = {}
        self._past: dict[datetime, Learned] = {}
        self._router = Router(connection, call.namespace.id, model_id)
        self._policy = policy_named(call.namespace.policy)
        self._search = SearchStore(connection, call.namespace.id)
        self._surroundings = Surroundings(connection, call)
        self._banks: dict[tuple[Scope, frozenset[str]], Weighed] = {}

    async def find(self, asked: Asked) -> Found:
        """Search always runs, whatever the arm will be."""
        agent = await self._names.ensure_agent(asked.ask.agent)
        ids, category, confidence = await self._category(asked)
        past = await self._states_of_then(asked.as_of)
        scope = await self._scope(asked, agent, past)
        rows = await self._weighed(asked, scope, past)
        near = await self._near(asked, scope, ids)
        bound = await self._bound(near)
        some = bool(rows.head.rows or bound)
        guides = await look(self._connection, self._call, asked.ask, near) if some else ()
        return Found(
            asked=asked,
            agent=agent,
            category_ids=ids,
            category=category,
            confidence=confidence,
            controls=await self._control_outcomes(agent.id, ids.category),
            following=past or await self._states_to_follow(agent.id, ids.category),
            weighed=rows,
            head_size=rows.head.matching if self._policy.whole_bank else HEAD * asked.ask.k,
            past=past,
            guides=guides,
            nearby=await self._nearby(asked.vectors) if asked.ask.explain else (),
            bound=bound,
        )

    async def _scope(self, asked: Asked, agent: Agent, past: Learned | None) -> Scope:
        replayed = past is not None or self._call.namespace.clock is Clock.REPLAY
        reserve = await self._surroundings.reserve(agent, asked.as_of if replayed else None)
        return Scope(
            agent_id=agent.id,
            private=self._call.key.sees_private(agent.name),
            as_of=asked.as_of,
            model_id=self._model_id,
            past=past is not None,
            strangers=reserve.strangers,
            weaker=reserve.weaker,
        )

    async def _near(self, asked: Asked, scope: Scope, ids: CategoryIds) -> Near:
        return Near(
            agent_id=scope.agent_id,
            category_ids=ids,
            as_of=scope.as_of,
            model_id=scope.model_id,
            vectors=asked.vectors,
            past=scope.past,
            private=scope.private,
            related=await self._surroundings.related(ids.category),
        )

    async def _bound(self, near: Near) -> tuple[Binding, ...]:
        """Constraints near the task, where the namespace has any."""
        if not (await self._surroundings.presence()).constraints:
            return ()
        return tuple(await BindingStore(self._connection, self._call.namespace.id).near(near))

    async def _weighed(self, asked: Asked, scope: Scope, past: Learned | None) -> Weighed:
        """The rows to rank. A whole bank is the same for all asks of one agent and time: it is
        read and weighed once.
        """
        if not self._policy.whole_bank:
            bound = margin(len(asked.vectors[0].vector))
            head = await self._search.head(_probes(asked), scope, HEAD * asked.ask.k, bound)
            return weighed(head, scope, self._policy, past)
        fields = frozenset(query.target.value for query in asked.queries)
        if (scope, fields) not in self._banks:
            bank = await self._search.bank(fields, scope)
            self._banks[scope, fields] = weighed(bank, scope, self._policy, past)
        return self._banks[scope, fields]

    async def _states_of_then(self, as_of: datetime) -> Learned | None:
        """The states of that time, where outcomes known later have been applied since."""
        newest = self._call.namespace.newest_known_at
        if newest is None or as_of >= newest:
            return None
        if as_of not in self._past:
            self._past[as_of] = await past_states(self._connection, self._call.namespace, as_of)
        return self._past[as_of]

    async def _states_to_follow(self, agent_id: UUID, category_id: UUID) -> Learned:
        cell = (agent_id, category_id)
        if cell not in self._following:
            states = StateStore(self._connection, self._call.namespace.id)
            self._following[cell] = await states.load_for_cell(*cell)
        return self._following[cell]

    async def _control_outcomes(self, agent_id: UUID, category_id: UUID) -> int:
        cell = (agent_id, category_id)
        if cell not in self._controls:
            states = StateStore(self._connection, self._call.namespace.id)
            self._controls[cell] = await states.controls(agent_id, category_id)
        return self._controls[cell]

    async def _category(self, asked: Asked) -> tuple[CategoryIds, CategoryName, float]:
        """The given category, for certain; else the nearest; else `general`."""
        if asked.task is not None:
            ids = asked.task.category_ids
            return ids, asked.task.category_name, 1.0
        if asked.category is not None:
            return await self._names.ensure_category(asked.category), asked.category, 1.0
        return await self._routed(asked.vectors)

    async def _routed(
        self, vectors: Sequence[Embedding]
    ) -> tuple[CategoryIds, CategoryName, float]:
        place = await self._router.place(vectors[0].vector)
        if place is None:
            return await self._names.ensure_category(GENERAL), GENERAL, 0.0
        names = await self._actors.names()
        below = place.ids.subcategory
        name = CategoryName(names[place.ids.category], None if below is None else names[below])
        return place.ids, name, place.confidence

    async def _nearby(self, vectors: Sequence[Embedding]) -> tuple[NearCategory, ...]:
        ranked = await self._router.nearest(vectors[0].vector, NEAR)
        names = await self._actors.names()
        return tuple(NearCategory(CategoryName(names[one]), cosine) for one, cosine in ranked)


def _probes(asked: Asked) -> list[Probe]:
    return [
        Probe(to_stored_precision(made.vector), query.target.value)
        for query, made in zip(asked.queries, asked.vectors, strict=True)
    ]


def wanted(call: Call, ask: Ask) -> bool:
    """Only a compiled guideline has a use for one: memories as data are served as they are."""
    return (
        call.namespace.settings.meta_guidelines
        and ask.format is Format.GUIDELINE
        and not ask.all_rankers
        and ask.max_tokens > 0
    )


async def look(connection: Connection, call: Call, ask: Ask, near: Near) -> tuple[Guide, ...]:
    """The meta-guidelines among which one may be chosen."""
    if not wanted(call, ask):
        return ()
    return tuple(await GuidanceStore(connection, call.namespace.id).near(near))
