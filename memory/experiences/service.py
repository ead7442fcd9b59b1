"""A lesson enters the bank: lesson → embedding → experience, unless it is an echo."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.experiences.rules import echoed, words_of
from memory.experiences.store.served import ServedStore, ServedText
from memory.guidelines.compiler import HEADER
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.ids import new_id
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.memories.entities import ExperienceDraft, Remembered, Status
from memory.memories.routing import Router
from memory.memories.service import Entrance, enter
from memory.memories.store.memories import NewMemory
from memory.tasks.entities import CategoryIds, Task
from memory.tasks.service import GENERAL, NameResolver
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Act, Call
from memory.verification.proposing import Proposal, propose
from memory.verification.rules import trust_of


async def echoes(
    engine: Engine, call: Call, drafts: Sequence[tuple[ExperienceDraft, datetime]]
) -> list[Remembered | None]:
    """For each draft, learned at its time: the answer where it is an echo, else None.

    Only what was served to this key lately is read, in a transaction that ends before the words
    are compared.
    """
    if not drafts:
        return []
    since = min(learned_at for _, learned_at in drafts)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ServedStore(connection, call.namespace.id)
        served = await store.lately(call.key.id, since)
    if not served:
        return [None] * len(drafts)
    return await asyncio.to_thread(_found, call, drafts, served)


def _found(
    call: Call, drafts: Sequence[tuple[ExperienceDraft, datetime]], served: Sequence[ServedText]
) -> list[Remembered | None]:
    texts: dict[UUID, list[str]] = {}
    current: dict[UUID, ServedText] = {}
    for one in served:
        # As a guideline has them: the situation, then the lesson.
        texts.setdefault(one.memory_id, []).append(f"{one.situation} {one.lesson}")
        current[one.memory_id] = one
    return [_answer(call, draft, texts, current) for draft, _ in drafts]


def _answer(
    call: Call,
    draft: ExperienceDraft,
    texts: Mapping[UUID, Sequence[str]],
    current: Mapping[UUID, ServedText],
) -> Remembered | None:
    # Only the lesson claims to be new: like tasks have like situations.
    repeated = echoed(words_of(draft.lesson, HEADER), texts)
    if not repeated:
        return None
    first = current[repeated[0]]
    return Remembered(
        id=first.memory_id,
        version=first.current,
        deduplicated=True,
        bank_version=call.namespace.bank_version,
        memory_status=Status(first.status),
        echoes=repeated,
    )


Answer = Remembered | MemoryFault


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A draft that was found good, with its vectors."""

    position: int
    draft: ExperienceDraft
    learned_at: datetime
    vectors: dict[str, Embedding]


async def remember(engine: Engine, call: Call, drafts: Sequence[ExperienceDraft]) -> list[Answer]:
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
    engine: Engine, call: Call, drafts: Sequence[ExperienceDraft]
) -> tuple[dict[int, Answer], dict[int, tuple[ExperienceDraft, datetime]]]:
    """What is answered before any model thinks, bad drafts and echoes; and the rest, dated."""
    dated = [_dated(call, draft) for draft in drafts]
    answers: dict[int, Answer] = {
        position: one for position, one in enumerate(dated) if isinstance(one, MemoryFault)
    }
    good = {p: (drafts[p], one) for p, one in enumerate(dated) if isinstance(one, datetime)}
    found = await echoes(engine, call, list(good.values()))
    repeated = {p: one for p, one in zip(good, found, strict=True) if one is not None}
    return answers | repeated, {p: one for p, one in good.items() if p not in repeated}


def _dated(call: Call, draft: ExperienceDraft) -> datetime | MemoryFault:
    """When the draft was learned, or why this key may not bring it."""
    try:
        call.key.require_agent(draft.agent)
        return call.namespace.known_at(draft.learned_at, call.now, "learned_at")
    except MemoryFault as fault:
        return fault


async def _embedded(
    engine: Engine, position: int, draft: ExperienceDraft, learned_at: datetime
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
        self._names = NameResolver(connection, call)
        self._tasks = TaskStore(connection, call.namespace.id)
        self._router = Router(connection, call.namespace.id, model_id)

    async def resolve(self, one: _Embedded) -> NewMemory:
        draft = one.draft
        agent = await self._names.ensure_agent(draft.agent)
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
            detail={"verification": draft.vouched_by} if draft.vouched_by else {},
            trust=trust_of(draft.vouched_by or "none", manages=self._call.key.may(Act.MANAGE)),
        )

    async def _task(self, one: _Embedded) -> Task | None:
        if one.draft.task is not None:
            task, _ = await self._names.ensure_task(one.draft.task, one.learned_at)
            return task
        return None if one.draft.task_id is None else await self._tasks.get(one.draft.task_id)

    async def _category(self, one: _Embedded, task: Task | None) -> CategoryIds:
        """The given category; else its task's; else the nearest; else `general`."""
        name = one.draft.category_name
        if name is not None:
            return await self._names.ensure_category(name)
        if task is not None:
            return task.category_ids
        place = await self._router.place(one.vectors["situation"].vector)
        return place.ids if place is not None else await self._names.ensure_category(GENERAL)


def _unverified(
    resolved: Mapping[int, NewMemory], stored: Mapping[int, Remembered]
) -> list[Proposal]:
    """What is new and wants to be tried before it is used."""
    return [
        Proposal(new, None, new.learned_at)
        for position, new in resolved.items()
        if new.draft.verify and not stored[position].deduplicated
    ]
