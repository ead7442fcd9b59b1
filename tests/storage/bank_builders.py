"""Banks laid down row by row, with vectors and states of one's choice; and what should be found."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import fsum, sqrt
from uuid import UUID

import numpy as np
from sqlalchemy import text

from memory.belief.state_mapping import StateChange, Subject
from memory.belief.states import State
from memory.belief.store.states import StateStore
from memory.inference.stand_ins import HashEmbedder
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.kernel.ports import Embedding, ModelIdentity
from memory.kernel.postgres.database import Connection
from memory.memories.entities import Visibility
from memory.memories.store.memories import MemoryStore, NewMemory, Stamp
from memory.tasks.entities import CategoryIds, CategoryName
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call
from memory.tenancy.store.namespaces import NamespaceStore
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON

Numbers = tuple[float, ...]
UNTOUCHED = (0.0, 0.01)
HALF_LIFE_DAYS = 90


@dataclass(slots=True)
class Dictated:
    """Every text has the vector that the test says."""

    vectors: dict[str, Numbers] = field(default_factory=dict[str, Numbers])

    @property
    def identity(self) -> ModelIdentity:
        return HashEmbedder().identity

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        await asyncio.sleep(0)
        return [embedding(self.vectors[said]) for said in texts]


@dataclass(frozen=True, slots=True)
class Laid:
    """A memory as a row: its vectors, its state, and this agent's deviation."""

    situation: Numbers
    lesson: Numbers = (1.0, 0.0, 0.0, 0.0)
    state: Numbers = UNTOUCHED
    touched: datetime | None = None
    deviation: Numbers | None = None
    learned_at: datetime = NOON
    status: str = "active"
    trust: str = "unverified"
    private: bool = False
    group: str | None = None
    id: UUID = field(default_factory=new_id)


def embedding(vector: Sequence[float]) -> Embedding:
    """As the embedder makes it: a unit vector in float32."""
    given = np.asarray(vector, dtype=np.float64)
    return Embedding((given / np.linalg.norm(given)).astype(np.float32), ())


async def lay(engine: Engine, call: Call, rows: Sequence[Laid], author: str = "solver") -> None:
    """Write a bank directly, one transaction for all."""
    async with engine.database.transaction(call.namespace.id) as connection:
        actors = ActorStore(connection, call.namespace.id)
        agent = await actors.ensure_agent(author, call.key.id, NOON)
        ids = await actors.ensure_category(CategoryName("weather"), call.key.id, NOON)
        version = await NamespaceStore(connection).bump(call.namespace, memories=len(rows))
        memories = [_new(row, agent.id, ids) for row in rows]
        store = MemoryStore(connection, call.namespace.id)
        await store.add(memories, Stamp(call.key.id, NOON, version))
        await store.add_first_vectors(memories, engine.model.id)
        await _states(connection, call, rows, agent.id)
        for row in rows:
            values = {"status": row.status, "trust": row.trust, "id": row.id}
            await connection.execute(text(STANDING), values)


STANDING = "UPDATE memory SET status = :status, trust = :trust WHERE id = :id"


def _new(row: Laid, agent_id: UUID, category_ids: CategoryIds) -> NewMemory:
    visibility = Visibility.AGENT if row.private else Visibility.NAMESPACE
    return NewMemory(
        id=row.id,
        draft=a_draft(lesson=f"rain lesson {row.id}", visibility=visibility),
        agent_id=agent_id,
        category_ids=category_ids,
        task_id=None,
        source_group=row.group or f"memory:{row.id}",
        learned_at=row.learned_at,
        vectors={"situation": embedding(row.situation), "lesson": embedding(row.lesson)},
    )


async def _states(connection: Connection, call: Call, rows: Sequence[Laid], agent: UUID) -> None:
    store = StateStore(connection, call.namespace.id)
    await store.save(
        StateChange(Subject("memory", memory_id=row.id), None, State(row.state, row.touched))
        for row in rows
    )
    await store.save(
        StateChange(
            Subject("deviation", memory_id=row.id, agent_id=agent),
            None,
            State(row.deviation, row.touched),
        )
        for row in rows
        if row.deviation is not None
    )


Probes = Sequence[tuple[str, Numbers]]
"""Queries: which text each is held against, and its vector."""


def cosine(stored: Numbers, asked: Numbers) -> float:
    """In float64, of what half precision keeps of both."""
    a, b = ([float(x) for x in embedding(v).vector.astype(np.float16)] for v in (stored, asked))
    dot = fsum(x * y for x, y in zip(a, b, strict=True))
    norms = sqrt(fsum(x * x for x in a) * fsum(y * y for y in b))
    return min(1.0, max(0.0, dot / norms))


def similarity(row: Laid, probes: Probes) -> float:
    return max(
        cosine(row.situation if where == "situation" else row.lesson, asked)
        for where, asked in probes
    )


def nearest(rows: Sequence[Laid], probes: Probes, size: int) -> list[tuple[UUID, float]]:
    """The head by plain arithmetic: most similar first, equals by id."""
    found = [(row.id, similarity(row, probes)) for row in rows]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:size]


def weights(row: Laid, as_of: datetime, policy: str) -> tuple[float, float]:
    """(effective, ranking) by the published formulas, aged to `as_of`."""
    share = 0.5 if row.status == "probation" else 1.0
    if policy == "paper":
        return share * row.state[0], share * row.state[0]
    mean, variance = aged(row.state, row.touched, as_of, 0.01)
    d, own = (0.0, 0.0025)
    if row.deviation is not None:
        d, own = aged(row.deviation, row.touched, as_of, 0.0025)
    effective = 1 + (mean + d) / 0.1
    ranking = 1 + (mean + d + 0.5 * sqrt(variance + own)) / 0.1
    return share * min(2.0, max(0.1, effective)), share * min(2.0, max(0.1, ranking))


def aged(
    state: Numbers, touched: datetime | None, as_of: datetime, prior: float
) -> tuple[float, float]:
    """Half the mean is gone in 90 days; the variance is on its way back to `prior`."""
    mean, variance = state
    if touched is None or as_of <= touched:
        return mean, variance
    kept = 0.5 ** ((as_of - touched).total_seconds() / (HALF_LIFE_DAYS * 86_400))
    return kept * mean, min(prior, variance + (1 - kept * kept) * (prior - variance))
