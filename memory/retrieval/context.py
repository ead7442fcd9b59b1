"""What a retrieval is ranked in: who asks, in which category, and which memories are near."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learned
from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.constraints.sharing import Surroundings
from memory.constraints.store.near import NearConstraint, NearConstraintStore
from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection, undone
from memory.memories.routing import Router
from memory.meta_guidelines.store import MetaGuidelineStore, NearMetaGuideline, Neighbourhood
from memory.receipts.entities import Format
from memory.receipts.rebuild import past_states
from memory.retrieval.entities import Advice, NearCategory, RetrievalRequest
from memory.retrieval.head import margin, to_stored_precision
from memory.retrieval.store.search import Head, Probe, Scope, SearchStore
from memory.tasks.entities import Agent, CategoryIds, CategoryName, Task
from memory.tasks.service import GENERAL, NameResolver
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Clock

HEAD = 4
"""The head is this many times k: weights re-rank it and nothing else."""


NEAR = 5
"""How many of the nearest categories an explanation names."""


Answer = Advice | MemoryFault


@dataclass(slots=True)
class RequestBatch:
    """The requests of one call by their place in it: those that can still be served, with the
    tasks they name by id and the vectors of their queries, and the answers so far.
    """

    requests: dict[int, RetrievalRequest]
    tasks: dict[int, Task] = field(default_factory=dict[int, Task])
    vectors: dict[int, tuple[Embedding, ...]] = field(
        default_factory=dict[int, tuple[Embedding, ...]]
    )
    answers: dict[int, Answer] = field(default_factory=dict[int, Answer])

    def refuse(self, place: int, fault: MemoryFault) -> None:
        self.requests.pop(place, None)
        self.answers[place] = fault


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that ranking needs, read in one transaction.

    `place`: that of the request in its batch. `task`: the stored one, where the request names it
    by id. `states` holds the agent's strengths, and the rankers' records of the category and of
    the whole namespace; `past` every state of that time, where the retrieval asks about a time
    before the newest outcome. `head`: rows that contain the `head_size` most similar memories for
    certain. `near`: the categories nearest to the task, where the retrieval is explained.
    """

    place: int
    request: RetrievalRequest
    as_of: datetime
    task: Task | None
    vectors: tuple[Embedding, ...]
    agent: Agent
    category_ids: CategoryIds
    category: CategoryName
    confidence: float
    control_outcomes: int
    states: Learned
    past: Learned | None
    head: Head
    head_size: int
    constraints: tuple[NearConstraint, ...] = ()
    guides: tuple[NearMetaGuideline, ...] = ()
    near: tuple[NearCategory, ...] = ()

    @property
    def text(self) -> str:
        """What the agent is about to attempt, in its own words."""
        return text_of(self.request, self.task)

    @property
    def cell(self) -> tuple[UUID, UUID]:
        return self.agent.id, self.category_ids.category


def text_of(request: RetrievalRequest, task: Task | None) -> str:
    """The words of the task that a request is about."""
    about = request.task if task is None else task
    assert about is not None
    return about.text


async def load_contexts(engine: Engine, call: Call, batch: RequestBatch) -> list[Context]:
    """What ranking needs for each request; one that cannot be looked for is refused."""
    contexts: list[Context] = []
    model_id = require_model(engine, call.namespace)
    async with engine.database.transaction(call.namespace.id) as connection:
        loader = ContextLoader(connection, call, model_id)
        for place, request in list(batch.requests.items()):
            try:
                if request.is_preview:
                    async with undone(connection):
                        once = ContextLoader(connection, call, model_id)
                        contexts.append(await once.load(batch, place))
                else:
                    contexts.append(await loader.load(batch, place))
            except Rejected as fault:
                batch.refuse(place, fault)
    return contexts


@dataclass(frozen=True, slots=True)
class TaskCategory:
    """The category of a task, and how sure it is: given, or found."""

    ids: CategoryIds
    name: CategoryName
    confidence: float = 1.0


class ContextLoader:
    """Loads for the requests of one transaction; agents, categories, cells and whole banks are
    looked up once.
    """

    def __init__(self, connection: Connection, call: Call, model_id: UUID) -> None:
        self._connection = connection
        self._call = call
        self._model_id = model_id
        self._actors = ActorStore(connection, call.namespace.id)
        self._names = NameResolver(connection, call)
        self._states = StateStore(connection, call.namespace.id)
        self._router = Router(connection, call.namespace.id, model_id)
        self._policy = policy_named(call.namespace.policy)
        self._search = SearchStore(connection, call.namespace.id)
        self._surroundings = Surroundings(connection, call)
        self._controls: dict[tuple[UUID, UUID], int] = {}
        self._cells: dict[tuple[UUID, UUID], Learned] = {}
        self._past: dict[datetime, Learned] = {}
        self._banks: dict[tuple[Scope, frozenset[str]], Head] = {}

    async def load(self, batch: RequestBatch, place: int) -> Context:
        """Search always runs, whatever the arm will be."""
        request, task = batch.requests[place], batch.tasks.get(place)
        vectors, as_of = batch.vectors[place], request.as_of
        assert as_of is not None
        agent = await self._names.ensure_agent(request.agent)
        routed = await self._route(request, task, vectors)
        past = await self._load_past(as_of)
        scope = await self._scope(agent, as_of, past)
        head = await self._search_head(request, vectors, scope)
        near = await self._surround(vectors, scope, routed.ids)
        constraints = await self._load_constraints(near)
        some = bool(head.rows or constraints)
        cell = (agent.id, routed.ids.category)
        return Context(
            place=place,
            request=request,
            as_of=as_of,
            task=task,
            vectors=vectors,
            agent=agent,
            category_ids=routed.ids,
            category=routed.name,
            confidence=routed.confidence,
            control_outcomes=await self._count_controls(cell),
            states=past or await self._load_cell(cell),
            past=past,
            head=head,
            head_size=head.matching if self._policy.whole_bank else HEAD * request.k,
            constraints=constraints,
            guides=await self._load_guides(request, near) if some else (),
            near=await self._nearest_categories(vectors) if request.explain else (),
        )

    async def _route(
        self, request: RetrievalRequest, task: Task | None, vectors: Sequence[Embedding]
    ) -> TaskCategory:
        """The given category, for certain; else the nearest; else `general`."""
        if task is not None:
            return TaskCategory(task.category_ids, task.category_name)
        given = None if request.task is None else request.task.category_name
        if given is not None:
            return TaskCategory(await self._names.ensure_category(given), given)
        nearest = await self._router.place(vectors[0].vector)
        if nearest is None:
            return TaskCategory(await self._names.ensure_category(GENERAL), GENERAL, 0.0)
        name = _name_of(nearest.ids, await self._actors.names())
        return TaskCategory(nearest.ids, name, nearest.confidence)

    async def _load_past(self, as_of: datetime) -> Learned | None:
        """The states of that time, where outcomes known later have been applied since."""
        newest = self._call.namespace.newest_known_at
        if newest is None or as_of >= newest:
            return None
        if as_of not in self._past:
            self._past[as_of] = await past_states(self._connection, self._call.namespace, as_of)
        return self._past[as_of]

    async def _scope(self, agent: Agent, as_of: datetime, past: Learned | None) -> Scope:
        replayed = past is not None or self._call.namespace.clock is Clock.REPLAY
        reserve = await self._surroundings.reserve(agent, as_of if replayed else None)
        return Scope(
            agent_id=agent.id,
            private=self._call.key.sees_private(agent.name),
            as_of=as_of,
            model_id=self._model_id,
            past=past is not None,
            strangers=reserve.strangers,
            weaker=reserve.weaker,
        )

    async def _search_head(
        self, request: RetrievalRequest, vectors: Sequence[Embedding], scope: Scope
    ) -> Head:
        """The rows to rank. A whole bank is the same for all requests of one agent and time."""
        if not self._policy.whole_bank:
            probes = [
                Probe(to_stored_precision(embedding.vector), query.target.value)
                for query, embedding in zip(request.queries, vectors, strict=True)
            ]
            bound = margin(len(vectors[0].vector))
            return await self._search.head(probes, scope, HEAD * request.k, bound)
        fields = frozenset(query.target.value for query in request.queries)
        if (scope, fields) not in self._banks:
            self._banks[scope, fields] = await self._search.bank(fields, scope)
        return self._banks[scope, fields]

    async def _surround(
        self, vectors: tuple[Embedding, ...], scope: Scope, ids: CategoryIds
    ) -> Neighbourhood:
        return Neighbourhood(
            agent_id=scope.agent_id,
            category_ids=ids,
            as_of=scope.as_of,
            model_id=scope.model_id,
            vectors=vectors,
            past=scope.past,
            private=scope.private,
            related=await self._surroundings.related(ids.category),
        )

    async def _load_constraints(self, near: Neighbourhood) -> tuple[NearConstraint, ...]:
        """Constraints near the task, where the namespace has any."""
        if not (await self._surroundings.presence()).constraints:
            return ()
        return tuple(
            await NearConstraintStore(self._connection, self._call.namespace.id).near(near)
        )

    async def _load_guides(
        self, request: RetrievalRequest, near: Neighbourhood
    ) -> tuple[NearMetaGuideline, ...]:
        """The meta-guidelines among which one may be chosen."""
        if not wants_guidance(self._call, request):
            return ()
        return tuple(
            await MetaGuidelineStore(self._connection, self._call.namespace.id).list_near(near)
        )

    async def _count_controls(self, cell: tuple[UUID, UUID]) -> int:
        if cell not in self._controls:
            self._controls[cell] = await self._states.controls(*cell)
        return self._controls[cell]

    async def _load_cell(self, cell: tuple[UUID, UUID]) -> Learned:
        if cell not in self._cells:
            self._cells[cell] = await self._states.load_for_cell(*cell)
        return self._cells[cell]

    async def _nearest_categories(self, vectors: Sequence[Embedding]) -> tuple[NearCategory, ...]:
        ranked = await self._router.nearest(vectors[0].vector, NEAR)
        names = await self._actors.names()
        return tuple(NearCategory(names[one], None, cosine) for one, cosine in ranked)


def _name_of(ids: CategoryIds, names: Mapping[UUID, str]) -> CategoryName:
    below = None if ids.subcategory is None else names[ids.subcategory]
    return CategoryName(names[ids.category], below)


def wants_guidance(call: Call, request: RetrievalRequest) -> bool:
    """Only a compiled guideline has a use for one: memories as data are served as they are."""
    return (
        call.namespace.settings.meta_guidelines
        and request.format is Format.GUIDELINE
        and not request.all_rankers
        and request.max_tokens > 0
    )
