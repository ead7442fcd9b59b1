"""What a retrieval is ranked in: who asks, in which category, and which memories are near."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learned
from memory.belief.policy import policy_named
from memory.constraints.store.near import NearConstraint
from memory.inference.fusion import WEIGHTS
from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.identifiers import find_names_to_look_for, find_raw_terms
from memory.kernel.ports import Embedding
from memory.memories.entities import Kind
from memory.meta_guidelines.store import NearMetaGuideline, Neighbourhood
from memory.receipts.guideline_entities import PastError
from memory.receipts.search_entities import ALONE, FUSED, QueriesBy, Query, Search
from memory.retrieval.bank import BankReader, SqlDoor
from memory.retrieval.entities import Advice, NearCategory, RetrievalRequest
from memory.retrieval.head import QueryVector, margin, nearest, to_stored_precision
from memory.retrieval.resident.bank import ResidentBank
from memory.retrieval.resident.namespaces import ResidentNamespace
from memory.retrieval.store.found_rows import FoundRow
from memory.retrieval.store.search import EVERYTHING, Head, Probe, Scope, names_at_most
from memory.retrieval.words import MOST_TERMS, TaskWords, choose_rerank, find_named_by_script
from memory.tasks.entities import Agent, CategoryIds, CategoryName, Task
from memory.tasks.service import GENERAL
from memory.tenancy.entities import Call, Clock
from memory.tenancy.namespace_settings import Rerank

HEAD = 4
"""The head is this many times k: weights re-rank it and nothing else."""


WIDENING, WIDEST = 4, 1_024
"""Where copies fill the head it becomes so many times larger, up to so many memories."""


MOST_NAMES = 64
"""So many identifiers of a task are looked for."""


NEAR = 5
"""How many of the nearest categories an explanation names."""


Answer = Advice | MemoryFault


@dataclass(slots=True)
class RequestBatch:
    """The requests of one call by their place in it: those that can still be served, with the
    tasks they name by id, the ids of their receipts, what is searched for and the vectors of that,
    and the answers so far.
    """

    requests: dict[int, RetrievalRequest]
    tasks: dict[int, Task] = field(default_factory=dict[int, Task])
    retrieval_ids: dict[int, UUID] = field(default_factory=dict[int, UUID])
    queries: dict[int, tuple[Query, ...]] = field(default_factory=dict[int, tuple[Query, ...]])
    searches: dict[int, Search] = field(default_factory=dict[int, Search])
    vectors: dict[int, tuple[Embedding, ...]] = field(
        default_factory=dict[int, tuple[Embedding, ...]]
    )
    answers: dict[int, Answer] = field(default_factory=dict[int, Answer])
    present: set[int] = field(default_factory=set[int])
    """Which ask for the present: all that is stored holds, by whoever's clock it was written."""

    def refuse(self, place: int, fault: MemoryFault) -> None:
        self.requests.pop(place, None)
        self.answers[place] = fault


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that ranking needs, read in one transaction.

    `place`: that of the request in its batch, `retrieval_id` that of its receipt. `task`: the
    stored one, where the request names it by id. `states` holds the agent's strengths, and the
    rankers' records of the category and of the whole namespace; `past` every state of that time,
    where the retrieval asks about a time before the newest outcome. `head`: rows that contain the
    `head_size` most similar memories for certain. `near`: the categories nearest to the task, where
    the retrieval is explained. `past_error`: of this agent, where that is asked.
    """

    place: int
    retrieval_id: UUID
    request: RetrievalRequest
    search: Search
    as_of: datetime
    task: Task | None
    queries: tuple[Query, ...]
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
    past_error: PastError | None = None

    @property
    def text(self) -> str:
        """What the agent is about to attempt, in its own words."""
        return text_of(self.request, self.task)

    @property
    def k(self) -> int:
        """The most experiences that are wanted; what was left open was filled in."""
        assert self.request.k is not None
        return self.request.k

    @property
    def given_category(self) -> str | None:
        """The category that the caller names; None where it was found, now or when the task was
        stored.
        """
        about = self.request.task
        return None if about is None or about.category is None else self.category.name

    @property
    def cell(self) -> tuple[UUID, UUID]:
        return self.agent.id, self.category_ids.category


def text_of(request: RetrievalRequest, task: Task | None) -> str:
    """The words of the task that a request is about."""
    about = request.task if task is None else task
    assert about is not None
    return about.text


async def load_contexts(
    engine: Engine, call: Call, batch: RequestBatch, copy: ResidentNamespace | None = None
) -> list[Context]:
    """What ranking needs for each request; one that cannot be looked for is refused. `copy`: that
    of the namespace, which answers as of a moment after the call came.
    """
    contexts: list[Context] = []
    model_id = require_model(engine, call.namespace)
    async with AsyncExitStack() as stack:
        door = SqlDoor(engine, call, model_id, stack)
        bank = None if copy is None else ResidentBank(copy, door, call, model_id, probes_of(batch))
        for place, request in list(batch.requests.items()):
            try:
                async with AsyncExitStack() as once:
                    if request.is_preview:
                        used: BankReader = await door.preview(once)
                    else:
                        used = bank or await door.bank()
                    loader = ContextLoader(used, call, model_id)
                    contexts.append(await loader.load(batch, place))
            except Rejected as fault:
                batch.refuse(place, fault)
    return contexts


def probes_of(batch: RequestBatch) -> tuple[Probe, ...]:
    """All that is searched for, in the order of the requests."""
    return tuple(
        probe
        for place in batch.requests
        for probe in _probes(batch.queries[place], batch.vectors[place])
    )


def _probes(queries: Sequence[Query], vectors: Sequence[Embedding]) -> list[Probe]:
    return [
        Probe(to_stored_precision(embedding.vector), query.target.value)
        for query, embedding in zip(queries, vectors, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class TaskCategory:
    """The category of a task, and how sure it is: given, or found."""

    ids: CategoryIds
    name: CategoryName
    confidence: float = 1.0


class ContextLoader:
    """Loads for the requests of one call, from one bank."""

    def __init__(self, bank: BankReader, call: Call, model_id: UUID) -> None:
        self._bank = bank
        self._call = call
        self._model_id = model_id
        self._policy = policy_named(call.namespace.policy)

    async def load(self, batch: RequestBatch, place: int) -> Context:
        """Search always runs, whatever the arm will be."""
        request, task = batch.requests[place], batch.tasks.get(place)
        vectors, as_of = batch.vectors[place], request.as_of
        assert as_of is not None
        agent = await self._bank.ensure_agent(request.agent)
        routed = await self._route(request, task, vectors)
        is_present = place in batch.present
        past = None if is_present else await self._load_past(as_of)
        words = self._words(batch, place)
        seen_at = EVERYTHING if is_present else as_of
        scope = await self._scope(agent, request, past, self._names(batch, place), words)
        scope = replace(scope, as_of=seen_at)
        head, size = await self._search_head(batch, place, scope)
        if self._call.namespace.settings.identifiers:
            head = name_by_script(head)
        # How memory is used, and what binds a task, goes by the task itself and not by a model.
        by_model = batch.searches[place].by is QueriesBy.MODEL
        near = await self._surround(vectors[:1] if by_model else vectors, scope, routed.ids)
        binding = not self._policy.literal and request.may_serve(Kind.CONSTRAINT)
        constraints = await self._bank.constraints(near) if binding else ()
        some = bool(head.rows or constraints)
        cell = (agent.id, routed.ids.category)
        return Context(
            place=place,
            retrieval_id=batch.retrieval_ids[place],
            request=request,
            search=replace(
                batch.searches[place],
                filter=request.filter,
                rerank=Rerank.NONE if words is None else Rerank.FUSED,
                ordered_by=ALONE if words is None else FUSED,
            ),
            as_of=as_of,
            task=task,
            queries=batch.queries[place],
            vectors=vectors,
            agent=agent,
            category_ids=routed.ids,
            category=routed.name,
            confidence=routed.confidence,
            control_outcomes=await self._bank.count_controls(cell),
            states=past or await self._bank.cell_states(cell),
            past=past,
            head=head,
            head_size=size,
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
            return TaskCategory(await self._bank.ensure_category(given), given)
        nearest = await self._bank.place(vectors[0].vector)
        if nearest is None:
            return TaskCategory(await self._bank.ensure_category(GENERAL), GENERAL, 0.0)
        name = _name_of(nearest.ids, await self._bank.category_names())
        return TaskCategory(nearest.ids, name, nearest.confidence)

    def _names(self, batch: RequestBatch, place: int) -> tuple[str, ...]:
        """The identifiers that the caller named, in the task or in queries of its own; of very many
        the longest.
        """
        if self._policy.whole_bank or not self._call.namespace.settings.identifiers:
            return ()
        said = _said(batch, place)
        names = {name for query in said for name in find_names_to_look_for(query.text)}
        return tuple(sorted(names, key=lambda name: (-len(name), name))[:MOST_NAMES])

    def _words(self, batch: RequestBatch, place: int) -> TaskWords | None:
        """The words of the task, or of the caller's own queries, where they count."""
        wanted = choose_rerank(self._call.namespace, batch.requests[place].rerank)
        if wanted is Rerank.NONE or self._policy.whole_bank:
            return None
        said = _said(batch, place)
        vectors = batch.vectors[place][: len(said)]
        text = "\n".join(query.text for query in said)
        return TaskWords(
            pieces=tuple(piece for one in vectors for piece in one.token_ids)[:MOST_TERMS],
            raw=tuple(find_raw_terms(text)[:MOST_TERMS]),
            text=text,
        )

    async def _load_past(self, as_of: datetime) -> Learned | None:
        """The states of that time, where outcomes known later have been applied since."""
        newest = self._call.namespace.newest_known_at
        if newest is None or as_of >= newest:
            return None
        return await self._bank.past_states(as_of)

    async def _scope(
        self,
        agent: Agent,
        request: RetrievalRequest,
        past: Learned | None,
        names: tuple[str, ...],
        words: TaskWords | None,
    ) -> Scope:
        as_of = request.as_of
        assert as_of is not None
        replayed = past is not None or self._call.namespace.clock is Clock.REPLAY
        reserve = await self._bank.reserve(agent, as_of if replayed else None)
        return Scope(
            agent_id=agent.id,
            private=self._call.key.sees_private(agent.name),
            as_of=as_of,
            model_id=self._model_id,
            past=past is not None,
            party_id=self._call.key.party_id,
            strangers=reserve.strangers,
            weaker=reserve.weaker,
            filter=request.filter,
            names=names,
            words=words,
        )

    async def _search_head(self, batch: RequestBatch, place: int, scope: Scope) -> tuple[Head, int]:
        """The rows to rank, and how many they are. A whole bank is the same for all requests of one
        agent and time.
        """
        queries, vectors = batch.queries[place], batch.vectors[place]
        if not self._policy.whole_bank:
            bound = margin(len(vectors[0].vector))
            probes = _probes(queries, vectors)
            return await self._widen(probes, scope, bound, batch.requests[place])
        fields = frozenset(query.target.value for query in queries)
        bank = await self._bank.whole(fields, scope)
        return bank, bank.matching

    async def _widen(
        self, probes: Sequence[Probe], scope: Scope, bound: float, request: RetrievalRequest
    ) -> tuple[Head, int]:
        """The head; a larger one where most of it says the same as the rest, so that whoever
        writes many copies does not keep the others from being considered.
        """
        assert request.k is not None
        size = wanted = HEAD * request.k
        if scope.words is not None:
            size = wanted = max(wanted, WEIGHTS.head)
        while True:
            head = await self._bank.head(probes, scope, size, bound)
            rows = _nearest_rows(head, probes, size)
            if _say_enough(rows, request, wanted) or size >= min(
                head.matching, max(wanted, WIDEST)
            ):
                return head, size
            size = min(WIDENING * size, max(wanted, WIDEST))

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
            party_id=scope.party_id,
            filter=scope.filter,
            related=await self._bank.related(ids.category),
        )

    async def _load_guides(
        self, request: RetrievalRequest, near: Neighbourhood
    ) -> tuple[NearMetaGuideline, ...]:
        """The meta-guidelines among which one may be chosen."""
        if not wants_guidance(self._call, request):
            return ()
        return await self._bank.guides(near)

    async def _nearest_categories(self, vectors: Sequence[Embedding]) -> tuple[NearCategory, ...]:
        ranked = await self._bank.nearest_categories(vectors[0].vector, NEAR)
        names = await self._bank.category_names()
        return tuple(NearCategory(names[one], None, cosine) for one, cosine in ranked)


def _said(batch: RequestBatch, place: int) -> tuple[Query, ...]:
    """What the caller says: the task, or queries of its own; nothing of a model's."""
    queries = batch.queries[place]
    return queries[:1] if batch.searches[place].by is QueriesBy.MODEL else queries


def name_by_script(head: Head) -> Head:
    """With the memories that hold a rare run of characters of the task, in a script that puts no
    spaces between words: they are found by name, as others by an identifier.
    """
    if head.words is None:
        return head
    texts = [f"{row.situation}\n{row.lesson}" for row in head.rows]
    runs = find_named_by_script(head.words, texts, names_at_most(head.matching))
    if not runs:
        return head
    by_id = {head.rows[place].id: some for place, some in runs.items()}
    named = {one: (*head.named.get(one, ()), *some) for one, some in by_id.items()}
    return replace(head, named={**head.named, **named})


def _say_enough(rows: Sequence[FoundRow], request: RetrievalRequest, wanted: int) -> bool:
    """Whether they say half as many different things as are wanted; who says enough is not read
    on.
    """
    said = set[str]()
    for row in rows:
        said.add(row.look_alike(prose=request.format.is_prose))
        if 2 * len(said) >= wanted:
            return True
    return False


def _nearest_rows(head: Head, probes: Sequence[Probe], size: int) -> Sequence[FoundRow]:
    """The head itself, of the rows that contain it."""
    if len(head.rows) <= size:
        return head.rows
    queries = [QueryVector(one.field, one.vector) for one in probes]
    return [head.rows[place] for place in nearest(head.stored.similarities(queries), size)]


def _name_of(ids: CategoryIds, names: Mapping[UUID, str]) -> CategoryName:
    below = None if ids.subcategory is None else names[ids.subcategory]
    return CategoryName(names[ids.category], below)


def wants_guidance(call: Call, request: RetrievalRequest) -> bool:
    """Only a compiled guideline has a use for one: memories as data are served as they are."""
    return (
        call.namespace.settings.meta_guidelines
        and request.format.is_prose
        and request.may_serve(Kind.META_GUIDELINE)
        and not request.all_rankers
        and request.max_tokens > 0
    )
