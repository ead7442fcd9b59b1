"""The bank of meta-guidelines: people add theirs beside those that reflection makes."""

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
from memory.meta_guidelines.store import GuidanceStore
from memory.tasks.entities import CategoryIds
from memory.tasks.service import GENERAL, NameResolver
from memory.tenancy.entities import Act, Call, Namespace
from memory.tenancy.store.namespaces import NamespaceStore


@dataclass(frozen=True, slots=True)
class Written:
    """By whom and when something is written: a key's id, or None for the server's own."""

    key_id: UUID | None
    now: datetime


async def embedded(engine: Engine, draft: MetaGuidelineDraft) -> dict[str, Embedding]:
    reason, instruction = await engine.embedder.embed([draft.failure_reason, draft.instruction])
    return {"situation": reason, "lesson": instruction}


def new_memory(
    draft: MetaGuidelineDraft,
    origin: str,
    where: tuple[UUID, CategoryIds, datetime],
    vectors: dict[str, Embedding],
) -> NewMemory:
    """A draft with its author, category and time, ready to become rows."""
    agent_id, category_ids, learned_at = where
    memory_id = new_id()
    return NewMemory(
        id=memory_id,
        draft=draft.as_draft(),
        agent_id=agent_id,
        category_ids=category_ids,
        task_id=None,
        source_group=f"memory:{memory_id}",
        learned_at=learned_at,
        vectors=vectors,
        kind=Kind.META_GUIDELINE,
        detail=detail_of(draft.directives, origin),
    )


async def admit(
    connection: Connection,
    namespace: Namespace,
    news: Sequence[NewMemory],
    what: tuple[UUID, Written],
) -> int:
    """Insert what no living text equals; returns the bank version. The caps on a category stand
    in for the quota.
    """
    model_id, written = what
    namespaces = NamespaceStore(connection)
    version = await namespaces.bump(namespace.id)
    stamp = Stamp(written.key_id, written.now, version)
    kept = await MemoryStore(connection, namespace.id).add(news, stamp)
    await namespaces.recount(namespace.id, len(kept))
    added = [new for new in news if new.id in kept]
    entrance = Entrance(namespace, written.key_id, written.now, model_id)
    await begin(connection, entrance, added, version)
    return version


async def add(engine: Engine, call: Call, draft: MetaGuidelineDraft) -> Remembered:
    """A person's meta-guideline: trusted, for a manager vouches for it."""
    call.key.require(Act.MANAGE)
    require_model(engine, call.namespace)
    learned_at = call.namespace.known_at(draft.learned_at, call.now, "learned_at")
    vectors = await embedded(engine, draft)
    async with engine.database.transaction(call.namespace.id) as connection:
        names = NameResolver(connection, call)
        model_id = await adopt_model(connection, engine, call.namespace)
        agent = await names.ensure_agent(draft.agent)
        where = (agent.id, await names.ensure_category(draft.category_name or GENERAL), learned_at)
        new = replace(new_memory(draft, WRITTEN, where, vectors), trust=Trust.TRUSTED)
        known = await _known(connection, call, new)
        if known is not None:
            return known
        await _require_place(connection, call, new, model_id)
        version = await admit(
            connection, call.namespace, [new], (model_id, Written(call.key.id, call.now))
        )
        found = (await MemoryStore(connection, call.namespace.id).twins([new]))[new.twin_key]
        return Remembered(found.id, found.version, found.id != new.id, version, found.status)


async def _known(connection: Connection, call: Call, new: NewMemory) -> Remembered | None:
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
    store = GuidanceStore(connection, call.namespace.id)
    held = await store.rivals(new.category_ids.category, model_id, new.vectors["lesson"])
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
