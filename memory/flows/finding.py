"""What a retrieval finds before anything is ranked: who asks, in which category, and the exact
head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.access import Call
from memory.domain.loop import Ask, Query
from memory.domain.task import Agent, CategoryName, Task
from memory.flows.actors import GENERAL, name_category
from memory.flows.rebuild import past_states
from memory.learning.fold import Learned
from memory.learning.policy import policy_named
from memory.ports import Embedding
from memory.retrieval.head import margin, to_stored_precision
from memory.retrieval.routing import route
from memory.storage.actors import ActorStore
from memory.storage.database import Connection
from memory.storage.memories import MemoryStore
from memory.storage.search import Head, Probe, Scope, SearchStore
from memory.storage.states import StateStore

HEAD = 4
"""The head is this many times k: weights re-rank it and nothing else."""


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
            return self.task.category
        return self.ask.task.category if self.ask.task is not None else None


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that ranking needs, read in one transaction."""

    asked: Asked
    agent: Agent
    category_ids: tuple[UUID, UUID | None]
    category: CategoryName
    confidence: float
    controls: int
    head: Head
    head_size: int
    past: Learned | None


async def find(connection: Connection, call: Call, asked: Asked, model_id: UUID) -> Found:
    """Search always runs, whatever the arm will be."""
    actors = ActorStore(connection, call.namespace.id)
    agent = await actors.ensure_agent(asked.ask.agent, call.key.id, call.now)
    ids, category, confidence = await _category(connection, call, asked, model_id)
    past = await _past(connection, call, asked.as_of)
    scope = Scope(
        agent_id=agent.id,
        private=call.key.sees_private(agent.name),
        as_of=asked.as_of,
        model_id=model_id,
        past=past is not None,
    )
    probes = [
        Probe(to_stored_precision(made.vector), query.target.value)
        for query, made in zip(asked.queries, asked.vectors, strict=True)
    ]
    whole = policy_named(call.namespace.policy).whole_bank
    size = HEAD * asked.ask.k
    head = await SearchStore(connection, call.namespace.id).head(
        probes, scope, None if whole else size, margin(len(asked.vectors[0].vector))
    )
    return Found(
        asked=asked,
        agent=agent,
        category_ids=ids,
        category=category,
        confidence=confidence,
        controls=await StateStore(connection, call.namespace.id).controls(agent.id, ids[0]),
        head=head,
        head_size=head.matching if whole else size,
        past=past,
    )


async def _past(connection: Connection, call: Call, as_of: datetime) -> Learned | None:
    """The states of that time, where outcomes known later have been applied since."""
    newest = call.namespace.newest_known_at
    if newest is None or as_of >= newest:
        return None
    return await past_states(connection, call.namespace, as_of)


async def _category(
    connection: Connection, call: Call, asked: Asked, model_id: UUID
) -> tuple[tuple[UUID, UUID | None], CategoryName, float]:
    """The given category, for certain; else the nearest; else `general`."""
    if asked.task is not None:
        ids = (asked.task.category_id, asked.task.subcategory_id)
        return ids, asked.task.category, 1.0
    if asked.category is not None:
        ids = await name_category(connection, call, asked.category)
        return ids, asked.category, 1.0
    return await _routed(connection, call, asked.vectors, model_id)


async def _routed(
    connection: Connection, call: Call, vectors: Sequence[Embedding], model_id: UUID
) -> tuple[tuple[UUID, UUID | None], CategoryName, float]:
    centroids = await MemoryStore(connection, call.namespace.id).centroids(model_id)
    routed = route(vectors[0].vector, centroids)
    if routed.category_id is None:
        return await name_category(connection, call, GENERAL), GENERAL, 0.0
    names = await ActorStore(connection, call.namespace.id).names()
    return (routed.category_id, None), CategoryName(names[routed.category_id]), routed.confidence
