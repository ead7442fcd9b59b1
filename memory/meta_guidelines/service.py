"""The bank of meta-guidelines: people add theirs beside those that reflection makes.

A draft → its vectors → names become ids → what says the same is counted → room → rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.guidelines.entities import Directives
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.memories.entities import Kind, MemoryFilter, Remembered, Trust, Viewer
from memory.memories.service import Entrance, begin, get_memory, list_memories
from memory.memories.store.memories import MemoryStore, NewMemory, Stamp
from memory.memories.store.queries import MemoryReader
from memory.meta_guidelines.entities import (
    PER_CATEGORY,
    WRITTEN,
    MetaGuideline,
    MetaGuidelineDraft,
    detail_of,
)
from memory.meta_guidelines.store import MetaGuidelineStore
from memory.tasks.entities import CategoryIds
from memory.tasks.service import GENERAL, NameResolver
from memory.tenancy.entities import Act, Call
from memory.tenancy.store.namespaces import NamespaceStore


async def add(engine: Engine, call: Call, draft: MetaGuidelineDraft) -> Remembered:
    """A person's meta-guideline: trusted, for a manager vouches for it."""
    call.key.require(Act.MANAGE)
    require_model(engine, call.namespace)
    learned_at = call.namespace.known_at(draft.learned_at, call.now, "learned_at")
    vectors = await embed_draft(engine, draft)
    async with engine.database.effect(call.namespace.id) as connection:
        names = NameResolver(connection, call)
        model_id = await adopt_model(connection, engine, call.namespace)
        agent = await names.ensure_agent(draft.agent)
        category_ids = await names.ensure_category(draft.category_name or GENERAL)
        place = MetaGuidelinePlace(agent.id, category_ids, learned_at)
        new = replace(make_memory(draft, WRITTEN, place, vectors), trust=Trust.TRUSTED)
        known = await _count_known(connection, call, new)
        if known is not None:
            return known
        await _require_place(connection, call, new, model_id)
        entrance = Entrance(call.namespace, call.key.id, call.now, model_id)
        version = await store_memories(connection, entrance, [new])
        twin = (await MemoryStore(connection, call.namespace.id).twins([new]))[new.twin_key]
        return Remembered(twin.id, twin.version, twin.id != new.id, version, twin.status)


async def embed_draft(engine: Engine, draft: MetaGuidelineDraft) -> dict[str, Embedding]:
    reason, instruction = await engine.embedder.embed([draft.failure_reason, draft.instruction])
    return {"situation": reason, "lesson": instruction}


@dataclass(frozen=True, slots=True)
class MetaGuidelinePlace:
    """Whose it is, for which kind of task, and since when."""

    agent_id: UUID
    category_ids: CategoryIds
    learned_at: datetime


def make_memory(
    draft: MetaGuidelineDraft,
    origin: str,
    place: MetaGuidelinePlace,
    vectors: dict[str, Embedding],
) -> NewMemory:
    """The draft, ready to become rows."""
    memory_id = new_id()
    return NewMemory(
        id=memory_id,
        draft=draft.as_draft(),
        agent_id=place.agent_id,
        category_ids=place.category_ids,
        task_id=None,
        source_group=f"memory:{memory_id}",
        learned_at=place.learned_at,
        vectors=vectors,
        kind=Kind.META_GUIDELINE,
        detail=detail_of(draft.directives, origin),
    )


async def store_memories(
    connection: Connection, entrance: Entrance, news: Sequence[NewMemory]
) -> int:
    """Insert what no living text equals; returns the bank version. The caps on a category stand
    in for the quota.
    """
    namespaces = NamespaceStore(connection)
    version = await namespaces.bump(entrance.namespace)
    stamp = Stamp(entrance.key_id, entrance.now, version)
    kept = await MemoryStore(connection, entrance.namespace.id).add(news, stamp)
    await namespaces.recount(entrance.namespace.id, len(kept))
    await begin(connection, entrance, [new for new in news if new.id in kept], version)
    return version


async def _count_known(connection: Connection, call: Call, new: NewMemory) -> Remembered | None:
    """The living meta-guideline that says the same, with one more piece of evidence."""
    store = MemoryStore(connection, call.namespace.id)
    twin = (await store.twins([new])).get(new.twin_key)
    if twin is None:
        return None
    reader = MemoryReader(connection, call.namespace.id, Viewer())
    same = Directives.read((await reader.get(twin.id)).detail) == Directives.read(new.detail)
    if not same:
        raise Conflict(
            "a meta-guideline says the same with other directives; retire it first",
            code="memory_exists",
            field="directives",
        )
    await store.add_evidence([twin.id])
    return Remembered(
        id=twin.id,
        version=twin.version,
        deduplicated=True,
        bank_version=call.namespace.bank_version,
        memory_status=twin.status,
    )


async def _require_place(
    connection: Connection, call: Call, new: NewMemory, model_id: UUID
) -> None:
    store = MetaGuidelineStore(connection, call.namespace.id)
    held = await store.list_held(new.category_ids.category, model_id, new.vectors["lesson"])
    if len(held) >= PER_CATEGORY:
        raise Rejected(
            f"the category holds {len(held)} meta-guidelines; retire one first",
            code="quota_exceeded",
            field="category",
            limit=PER_CATEGORY,
        )


async def get(engine: Engine, call: Call, memory_id: UUID) -> MetaGuideline:
    """The meta-guideline as it stands. Raises NotFound for a memory of another kind."""
    return MetaGuideline.of(await get_memory(engine, call, memory_id))


async def browse(
    engine: Engine, call: Call, wanted: MemoryFilter, page: Page
) -> Listed[MetaGuideline]:
    """Oldest first."""
    found = await list_memories(engine, call, replace(wanted, kind=Kind.META_GUIDELINE), page)
    return Listed([MetaGuideline.of(memory) for memory in found.items], found.total, found.next)
