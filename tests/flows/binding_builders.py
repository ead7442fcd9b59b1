"""Constraints laid down row by row, with the tasks and pairs they come from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from memory.constraints.entities import DISTILLED, Wording, detail_of
from memory.inference.service import adopt_model
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.memories.entities import ExperienceDraft, Kind, Status, Trust, Visibility
from memory.memories.service import Entrance, enter
from memory.memories.store.memories import NewMemory
from memory.tasks.entities import DISTILLER, CategoryName, TaskDraft
from memory.tasks.store.actors import ActorStore
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tenancy.entities import Call
from tests.fixtures.engine import NOON

Vectors = dict[str, Embedding]
MATHS = CategoryName("mathematics", "algebra")


@dataclass(frozen=True, slots=True)
class Laid:
    """A constraint of a category, learned from these tasks, each by a pair of these agents."""

    trigger: str
    tasks: Sequence[str] = ("solve for the price of a ticket",)
    category: CategoryName = MATHS
    pair: tuple[str, str] = ("small", "large")
    counts: bool = True
    status: Status = Status.ACTIVE
    trust: Trust = Trust.UNVERIFIED
    weight: float = 1.0
    owner: str | None = None
    known_at: datetime = NOON

    @property
    def wording(self) -> Wording:
        return Wording(self.trigger, f"the check for {self.trigger}", "guessing")


async def lay(engine: Engine, call: Call, *rows: Laid) -> list[UUID]:
    """Write them as admission does; the ids, in their order."""
    texts = [text for row in rows for text in (row.wording.situation, row.wording.lesson)]
    made = await engine.embedder.embed(texts)
    ids: list[UUID] = []
    for i, row in enumerate(rows):
        tasks = await engine.embedder.embed(list(row.tasks))
        vectors = {"situation": made[2 * i], "lesson": made[2 * i + 1]}
        async with engine.database.transaction(call.namespace.id) as connection:
            model_id = await adopt_model(connection, engine, call.namespace)
            new = await _new(connection, call, row, vectors)
            entrance = Entrance(call.namespace, call.key.id, call.now, model_id)
            [entered] = (await enter(connection, entrance, {0: new})).values()
            for said, vector in zip(row.tasks, tasks, strict=True):
                await _support(connection, call, (row, entered.id, model_id), (said, vector))
            standing = {"status": row.status, "trust": row.trust, "id": entered.id}
            await connection.execute(text(STANDING), standing)
            ids.append(entered.id)
    return ids


async def _new(connection: Connection, call: Call, row: Laid, vectors: Vectors) -> NewMemory:
    actors = ActorStore(connection, call.namespace.id)
    author = await actors.ensure_agent(row.owner or DISTILLER, call.key.id, NOON)
    draft = ExperienceDraft(
        agent=author.name,
        situation=row.wording.situation,
        lesson=row.wording.lesson,
        weight=row.weight,
        visibility=Visibility.AGENT if row.owner else Visibility.NAMESPACE,
    )
    return NewMemory(
        id=new_id(),
        draft=draft,
        agent_id=author.id,
        category_ids=await actors.ensure_category(row.category, call.key.id, NOON),
        task_id=None,
        source_group=f"constraint:{row.trigger}",
        learned_at=row.known_at,
        vectors=vectors,
        kind=Kind.CONSTRAINT,
        detail=detail_of(row.wording, DISTILLED),
    )


async def _support(
    connection: Connection,
    call: Call,
    what: tuple[Laid, UUID, UUID],
    source: tuple[str, Embedding],
) -> None:
    row, memory_id, model_id = what
    said, vector = source
    actors = ActorStore(connection, call.namespace.id)
    ran = [await actors.ensure_agent(name, call.key.id, NOON) for name in row.pair]
    ids = await actors.ensure_category(row.category, call.key.id, NOON)
    written = Provenance(call.key.id, NOON, NOON)
    place = {"category": row.category.name, "subcategory": row.category.subcategory}
    draft = TaskDraft(said, key=f"source:{said}", **place)
    task, _ = await TaskStore(connection, call.namespace.id).ensure(draft, ids, written)
    values = {
        "id": new_id(),
        "ns": call.namespace.id,
        "memory": memory_id,
        "task": task.id,
        "model": model_id,
        "vector": str([float(x) for x in vector.vector]),
        "one": ran[0].id,
        "other": ran[1].id,
        "one_family": ran[0].family,
        "other_family": ran[1].family,
        "counts": row.counts,
        "known": row.known_at,
    }
    for statement in STATEMENTS:
        await connection.execute(text(statement), values)


STANDING = "UPDATE memory SET status = :status, trust = :trust WHERE id = :id"
STATEMENTS = (
    """
    INSERT INTO task_embedding (task_id, model_id, namespace_id, vector)
    VALUES (:task, :model, :ns, CAST(:vector AS halfvec)) ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO constraint_support (id, namespace_id, memory_id, task_id, preferred_agent_id,
        unpreferred_agent_id, preferred_family, unpreferred_family, pair_class, verifier, counts,
        known_at, recorded_at)
    VALUES (:id, :ns, :memory, :task, :one, :other, :one_family, :other_family, 'discordant',
        'test', :counts, :known, :known)
    """,
)


def copies(laid: Laid, number: int) -> list[Laid]:
    """So many of a kind, each with words of its own."""
    return [replace(laid, trigger=f"{laid.trigger} {chr(97 + i)}") for i in range(number)]
