"""A lesson enters the bank: lesson → embedding → experience."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.access import Act, Call
from memory.domain.bank import Draft, Remembered
from memory.domain.ids import new_id
from memory.engine import Engine
from memory.errors import MemoryFault
from memory.flows.actors import GENERAL, Names
from memory.flows.echoes import echoes
from memory.flows.models import adopt_model, require_model
from memory.learning.policy import policy_named
from memory.ports import Embedding
from memory.retrieval.routing import route
from memory.storage.database import Connection
from memory.storage.ledger import LedgerStore, Step, Subject
from memory.storage.memories import MemoryStore, NewMemory, Stamp
from memory.storage.namespaces import NamespaceStore
from memory.storage.states import StateStore, Stored
from memory.storage.tasks import TaskStore

Answer = Remembered | MemoryFault


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A draft that was found good, with its vectors."""

    position: int
    draft: Draft
    learned_at: datetime
    vectors: dict[str, Embedding]


async def remember(engine: Engine, call: Call, drafts: Sequence[Draft]) -> list[Answer]:
    """Store each draft once; the answers are in the drafts' order, each true by itself."""
    call.key.require(Act.REMEMBER)
    require_model(engine, call.namespace)
    answers, fresh = await _sifted(engine, call, drafts)
    embedded: list[_Embedded] = []
    made = await asyncio.gather(*(_embedded(engine, p, *fresh[p]) for p in fresh))
    for position, one in zip(fresh, made, strict=True):
        if isinstance(one, MemoryFault):
            answers[position] = one
        else:
            embedded.append(one)

    async with engine.database.transaction(call.namespace.id) as connection:
        model_id = await adopt_model(connection, engine, call.namespace)
        resolved: dict[int, NewMemory] = {}
        names = Names(connection, call)
        for one in embedded:
            try:
                resolved[one.position] = await _resolve(connection, call, names, (one, model_id))
            except MemoryFault as fault:
                answers[one.position] = fault
        answers |= await _store(connection, call, resolved, model_id)
    return [answers[position] for position in range(len(drafts))]


async def _sifted(
    engine: Engine, call: Call, drafts: Sequence[Draft]
) -> tuple[dict[int, Answer], dict[int, tuple[Draft, datetime]]]:
    """What is answered before any model thinks, bad drafts and echoes; and the rest, dated."""
    dated = [_dated(call, draft) for draft in drafts]
    answers: dict[int, Answer] = {
        position: one for position, one in enumerate(dated) if isinstance(one, MemoryFault)
    }
    good = {p: (drafts[p], one) for p, one in enumerate(dated) if isinstance(one, datetime)}
    found = await echoes(engine, call, list(good.values()))
    repeated = {p: one for p, one in zip(good, found, strict=True) if one is not None}
    return answers | repeated, {p: one for p, one in good.items() if p not in repeated}


def _dated(call: Call, draft: Draft) -> datetime | MemoryFault:
    """When the draft was learned, or why this key may not bring it."""
    try:
        call.key.require_agent(draft.agent)
        return call.namespace.known_at(draft.learned_at, call.now, "learned_at")
    except MemoryFault as fault:
        return fault


async def _embedded(
    engine: Engine, position: int, draft: Draft, learned_at: datetime
) -> _Embedded | MemoryFault:
    """The draft with its vectors, or what is wrong with it; the batcher joins all drafts of a call,
    and one that cannot be embedded fails alone.
    """
    try:
        situation, lesson = await engine.embedder.embed([draft.situation, draft.lesson])
    except MemoryFault as fault:
        return fault
    return _Embedded(position, draft, learned_at, {"situation": situation, "lesson": lesson})


async def _resolve(
    connection: Connection, call: Call, names: Names, what: tuple[_Embedded, UUID]
) -> NewMemory:
    """Names become ids: the agent, the source task, the category."""
    one, model_id = what
    draft = one.draft
    agent = await names.agent(draft.agent)
    task = None
    if draft.task is not None:
        task, _ = await names.task(draft.task, one.learned_at)
    elif draft.task_id is not None:
        task = await TaskStore(connection, call.namespace.id).get(draft.task_id)
    if draft.category is not None:
        ids = await names.category(draft.category)
    elif task is not None:
        ids = (task.category_id, task.subcategory_id)
    else:
        centroids = await MemoryStore(connection, call.namespace.id).centroids(model_id)
        routed = route(one.vectors["situation"].vector, centroids).category_id
        ids = (routed, None) if routed is not None else await names.category(GENERAL)
    memory_id = new_id()
    return NewMemory(
        id=memory_id,
        draft=draft,
        agent_id=agent.id,
        category_ids=ids,
        task_id=task.id if task is not None else None,
        source_group=task.source_group if task is not None else f"memory:{memory_id}",
        learned_at=one.learned_at,
        vectors=one.vectors,
    )


async def _store(
    connection: Connection, call: Call, resolved: dict[int, NewMemory], model_id: UUID
) -> dict[int, Answer]:
    """Insert what is new and count what is not; the unique index decides between equals."""
    store = MemoryStore(connection, call.namespace.id)
    known = await store.twins(list(resolved.values()))
    version = call.namespace.bank_version
    kept: set[UUID] = set()
    if missing := {new.twin_key for new in resolved.values()} - known.keys():
        version = await NamespaceStore(connection).bump(call.namespace.id, memories=len(missing))
        # Asked again under the version: a twin that was there may be retired or erased since.
        known = await store.twins(list(resolved.values()))
        fresh = {
            new.twin_key: new for new in reversed(resolved.values()) if new.twin_key not in known
        }
        if fresh:
            kept = await store.add(list(fresh.values()), Stamp(call.key.id, call.now, version))
            added = [new for new in fresh.values() if new.id in kept]
            await _begin(connection, call, added, (model_id, version))
        if len(kept) != len(missing):
            await NamespaceStore(connection).recount(call.namespace.id, len(kept) - len(missing))
        known = await store.twins(list(resolved.values()))
    again = [known[new.twin_key][0] for new in resolved.values() if new.id not in kept]
    await store.add_evidence(again)
    return {
        position: Remembered(
            known[new.twin_key][0], known[new.twin_key][1], new.id not in kept, version
        )
        for position, new in resolved.items()
    }


async def _begin(
    connection: Connection, call: Call, added: Sequence[NewMemory], at: tuple[UUID, int]
) -> None:
    """Vectors, centroids and the first state of each new memory, with its event in the ledger."""
    model_id, version = at
    policy = policy_named(call.namespace.policy)
    store = MemoryStore(connection, call.namespace.id)
    await store.add_all_vectors([(new.id, 1, new.vectors) for new in added], model_id)
    await store.move_centroids(added, model_id)
    states = {new.id: policy.initial_memory(new.draft.weight) for new in added}
    stored = {id_: Stored(state.values, state.touched) for id_, state in states.items()}
    await StateStore(connection, call.namespace.id).save_memories(stored)
    steps = [
        Step(
            bank_version=version,
            subject=Subject("memory", memory_id=new.id),
            kind="set",
            reason="created",
            before=None,
            after=stored[new.id],
            weights=(None, policy.effective_weight(states[new.id], None)),
            outcome_id=None,
            known_at=new.learned_at,
        )
        for new in added
    ]
    await LedgerStore(connection, call.namespace.id).append(steps, policy.name, call.now)
