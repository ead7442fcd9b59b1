"""A lesson enters the bank: lesson → embedding → experience."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.bank.admission import trust_of
from memory.domain.access import Act, Call
from memory.domain.bank import Draft, Remembered, Status
from memory.domain.ids import new_id
from memory.engine import Engine
from memory.errors import MemoryFault
from memory.flows.actors import GENERAL, Names
from memory.flows.echoes import echoes
from memory.flows.entering import Entrance, enter
from memory.flows.models import adopt_model, require_model
from memory.flows.proposing import Proposal, propose
from memory.ports import Embedding
from memory.retrieval.routing import route
from memory.storage.database import Connection
from memory.storage.memories import MemoryStore, NewMemory
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
        entrance = Entrance(call.namespace, call.key.id, call.now, model_id)
        stored = await enter(connection, entrance, resolved)
        answers |= stored
        await propose(engine, connection, entrance, _unverified(resolved, stored))
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
        status=Status.PROPOSED if draft.verify else Status.ACTIVE,
        detail={"verification": draft.verification} if draft.verification else {},
        trust=trust_of(draft.verification or "none", manages=call.key.may(Act.MANAGE)),
    )


def _unverified(
    resolved: Mapping[int, NewMemory], stored: Mapping[int, Remembered]
) -> list[Proposal]:
    """What is new and wants to be tried before it is used."""
    return [
        Proposal(new, None, new.learned_at)
        for position, new in resolved.items()
        if new.draft.verify and not stored[position].deduplicated
    ]
