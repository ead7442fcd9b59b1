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
from memory.domain.task import Task
from memory.engine import Engine
from memory.errors import MemoryFault
from memory.flows.actors import GENERAL, Names
from memory.flows.echoes import echoes
from memory.flows.entering import Entrance, enter
from memory.flows.models import adopt_model, require_model
from memory.flows.proposing import Proposal, propose
from memory.flows.routing import Router
from memory.ports import Embedding
from memory.storage.database import Connection
from memory.storage.memories import NewMemory
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
        desk = _Desk(connection, call, model_id)
        for one in embedded:
            try:
                resolved[one.position] = await desk.resolve(one)
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


class _Desk:
    """Names become ids: the agent, the source task, the category. For one transaction."""

    def __init__(self, connection: Connection, call: Call, model_id: UUID) -> None:
        self._call = call
        self._names = Names(connection, call)
        self._tasks = TaskStore(connection, call.namespace.id)
        self._router = Router(connection, call.namespace.id, model_id)

    async def resolve(self, one: _Embedded) -> NewMemory:
        draft = one.draft
        agent = await self._names.agent(draft.agent)
        task = await self._task(one)
        memory_id = new_id()
        return NewMemory(
            id=memory_id,
            draft=draft,
            agent_id=agent.id,
            category_ids=await self._category(one, task),
            task_id=task.id if task is not None else None,
            source_group=task.source_group if task is not None else f"memory:{memory_id}",
            learned_at=one.learned_at,
            vectors=one.vectors,
            status=Status.PROPOSED if draft.verify else Status.ACTIVE,
            detail={"verification": draft.verification} if draft.verification else {},
            trust=trust_of(draft.verification or "none", manages=self._call.key.may(Act.MANAGE)),
        )

    async def _task(self, one: _Embedded) -> Task | None:
        if one.draft.task is not None:
            task, _ = await self._names.task(one.draft.task, one.learned_at)
            return task
        return None if one.draft.task_id is None else await self._tasks.get(one.draft.task_id)

    async def _category(self, one: _Embedded, task: Task | None) -> tuple[UUID, UUID | None]:
        """The given category; else its task's; else the nearest; else `general`."""
        if one.draft.category is not None:
            return await self._names.category(one.draft.category)
        if task is not None:
            return task.category_id, task.subcategory_id
        place = await self._router.place(one.vectors["situation"].vector)
        return place.ids if place is not None else await self._names.category(GENERAL)


def _unverified(
    resolved: Mapping[int, NewMemory], stored: Mapping[int, Remembered]
) -> list[Proposal]:
    """What is new and wants to be tried before it is used."""
    return [
        Proposal(new, None, new.learned_at)
        for position, new in resolved.items()
        if new.draft.verify and not stored[position].deduplicated
    ]
