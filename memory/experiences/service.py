"""A lesson enters the bank: date it → is it an echo of what was served, and meanwhile embed it →
names become ids → store it, once for each text → propose its trial, where it wants one.

Each draft is taken or refused by itself.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from uuid import UUID

from memory.belief.policy import policy_named
from memory.experiences.rules import ServedWords, find_echoed, find_refuted, read_served, read_words
from memory.experiences.store import EchoStore, ServedText
from memory.guidelines.wording import HEADERS
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Forbidden, MemoryFault
from memory.kernel.ids import new_id
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.memories.entities import (
    ExperienceDraft,
    Remembered,
    RememberedWarning,
    Status,
    Visibility,
)
from memory.memories.routing import Router
from memory.memories.rules import SAYS_NOTHING, require_start_weight, says_nothing
from memory.memories.service import Entrance, enter, hide_private
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import NewMemory
from memory.tasks.entities import CategoryIds, Task
from memory.tasks.service import GENERAL, NameResolver
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Act, Call
from memory.verification.proposing import Proposal, propose
from memory.verification.rules import trust_of

Answer = Remembered | MemoryFault


UNKNOWN_SCRIPT = (
    "the embedding model does not know this script: similarity can hardly find this memory, and it"
    " is merged with nothing that is not written alike"
)


WAITS = "this tells an agent nothing: it is proposed, and comes into use once it is edited"


@dataclass(frozen=True, slots=True)
class _DatedDraft:
    """A draft in its place in the call, and when it was learned."""

    position: int
    draft: ExperienceDraft
    learned_at: datetime


@dataclass(frozen=True, slots=True)
class _EmbeddedDraft:
    """A draft that was found good, with its vectors."""

    dated: _DatedDraft
    vectors: dict[str, Embedding]


async def remember(engine: Engine, call: Call, drafts: Sequence[ExperienceDraft]) -> list[Answer]:
    """Store each draft once; the answers are in the drafts' order, each true by itself."""
    call.key.require(Act.REMEMBER)
    require_model(engine, call.namespace)
    literal = policy_named(call.namespace.policy).literal
    answers: dict[int, Answer] = {}
    dated: list[_DatedDraft] = []
    for position, draft in enumerate(drafts):
        try:
            call.key.require_agent(draft.agent)
            call.key.require_claim(draft.vouched_by or "none", "verification.source")
            require_start_weight(call.key, draft.weight, literal=literal)
            _require_reader(call, draft)
            learned_at = call.namespace.known_at(draft.learned_at, call.now, "learned_at")
            dated.append(_DatedDraft(position, draft, learned_at))
        except MemoryFault as fault:
            answers[position] = fault
    # The device is another's thread, and echoes are rare: neither waits for the other.
    compared, vectors = await asyncio.gather(
        _compare_with_served(engine, call, dated), _embed_each(engine, dated)
    )
    answers |= compared.echoes
    embedded: list[_EmbeddedDraft] = []
    for one, made in zip(dated, vectors, strict=True):
        if one.position in answers:
            continue
        if isinstance(made, MemoryFault):
            answers[one.position] = made
        else:
            embedded.append(made)

    async with engine.database.effect(call.namespace.id) as connection:
        model_id = await adopt_model(connection, engine, call.namespace)
        resolver = _DraftResolver(connection, call, model_id)
        resolved: dict[int, NewMemory] = {}
        for one in embedded:
            # A draft is some tenths of a millisecond, and there may be 256.
            await asyncio.sleep(0)
            try:
                refuted = compared.refuted.get(one.dated.position, ())
                resolved[one.dated.position] = await resolver.resolve(one, refuted)
            except MemoryFault as fault:
                answers[one.dated.position] = fault
        entrance = Entrance(call.namespace, call.key.id, call.now, model_id)
        stored = await enter(connection, entrance, resolved)
        answers |= {
            position: _told(answer, resolved[position]) for position, answer in stored.items()
        }
        await propose(engine, connection, entrance, _list_proposals(resolved, stored))
        known = {place: one for place, one in answers.items() if _was_there(one)}
        answers |= await hide_private(connection, call, known)
    return [answers[position] for position in range(len(drafts))]


def _require_reader(call: Call, draft: ExperienceDraft) -> None:
    """Who may not read what is there could find out by writing it."""
    if draft.visibility is Visibility.AGENT and not call.key.sees_private(draft.agent):
        raise Forbidden(
            f"a private memory of {draft.agent} is written by a key bound to that agent",
            field="visibility",
        )


def _was_there(answer: Answer) -> bool:
    return isinstance(answer, Remembered) and answer.deduplicated


def _told(answer: Remembered, new: NewMemory) -> Remembered:
    """With what its writer is to know of it, where it was stored."""
    if answer.deduplicated:
        return answer
    return replace(answer, contradicts=new.contradicts, warnings=_warnings(new))


def _warnings(new: NewMemory) -> tuple[RememberedWarning, ...]:
    found: list[RememberedWarning] = []
    if not all(vector.is_read for vector in new.vectors.values()):
        found.append(RememberedWarning("unknown_script", UNKNOWN_SCRIPT))
    if new.status_reason == SAYS_NOTHING:
        found.append(RememberedWarning(SAYS_NOTHING, WAITS))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Compared:
    """By position of a draft: the answer to one that only repeats what was served; which of the
    served another one speaks against.
    """

    echoes: Mapping[int, Remembered] = field(default_factory=dict[int, Remembered])
    refuted: Mapping[int, tuple[UUID, ...]] = field(default_factory=dict[int, tuple[UUID, ...]])


async def _compare_with_served(
    engine: Engine, call: Call, drafts: Sequence[_DatedDraft]
) -> _Compared:
    """With what was served to this key lately, and so may only be repeated."""
    if not drafts:
        return _Compared()
    since = min(one.learned_at for one in drafts)
    look = partial(engine.database.exchange, namespace_id=call.namespace.id)
    served = await EchoStore(look, call.namespace.id).list_served(call.key.id, since)
    return await asyncio.to_thread(_compare, call, drafts, served) if served else _Compared()


def _compare(call: Call, drafts: Sequence[_DatedDraft], served: Sequence[ServedText]) -> _Compared:
    texts: dict[UUID, list[ServedWords]] = {}
    lessons: dict[UUID, list[ServedWords]] = {}
    current: dict[UUID, ServedText] = {}
    for one in served:
        # As a guideline has them: the situation, then the lesson.
        texts.setdefault(one.memory_id, []).append(
            read_served(f"{one.situation} {one.lesson}", whole=True)
        )
        lessons.setdefault(one.memory_id, []).append(read_served(one.lesson, whole=False))
        current[one.memory_id] = one
    echoes: dict[int, Remembered] = {}
    refuted: dict[int, tuple[UUID, ...]] = {}
    # Whoever speaks against a lesson need not repeat its situation.
    spoken = {memory: [*texts[memory], *lessons[memory]] for memory in texts}
    for one in drafts:
        # Only the lesson claims to be new: like tasks have like situations.
        words = read_words(one.draft.lesson, *HEADERS)
        repeated = find_echoed(words, texts)
        refuted[one.position] = find_refuted(words, spoken)
        if repeated:
            first = current[repeated[0]]
            echoes[one.position] = Remembered(
                id=first.memory_id,
                version=first.current,
                deduplicated=True,
                bank_version=call.namespace.bank_version,
                memory_status=first.status,
                echoes=repeated,
            )
    return _Compared(echoes, refuted)


async def _embed_each(
    engine: Engine, drafts: Sequence[_DatedDraft]
) -> list[_EmbeddedDraft | MemoryFault]:
    """The batcher joins all drafts of a call, and one that cannot be embedded fails alone."""
    return await asyncio.gather(*(_embed(engine, one) for one in drafts))


async def _embed(engine: Engine, one: _DatedDraft) -> _EmbeddedDraft | MemoryFault:
    try:
        situation, lesson = await engine.embedder.embed([one.draft.situation, one.draft.lesson])
    except MemoryFault as fault:
        return fault
    return _EmbeddedDraft(one, {"situation": situation, "lesson": lesson})


class _DraftResolver:
    """Names become ids: the agent, the source task, the category. For one transaction."""

    def __init__(self, connection: Connection, call: Call, model_id: UUID) -> None:
        self._call = call
        self._names = NameResolver(connection, call)
        self._tasks = TaskStore(connection, call.namespace.id)
        self._router = Router(CentroidStore(connection, call.namespace.id), model_id)

    async def resolve(self, one: _EmbeddedDraft, refuted: tuple[UUID, ...]) -> NewMemory:
        """A lesson that says nothing waits until it is edited."""
        draft = one.dated.draft
        agent = await self._names.ensure_agent(draft.agent)
        task = await self._load_task(one.dated)
        memory_id = new_id()
        empty = not draft.verify and says_nothing(draft.situation, draft.lesson)
        return NewMemory(
            id=memory_id,
            draft=draft,
            agent_id=agent.id,
            category_ids=await self._choose_category(one, task),
            task_id=task.id if task is not None else None,
            source_group=task.source_group if task is not None else f"memory:{memory_id}",
            learned_at=one.dated.learned_at,
            vectors=one.vectors,
            status=Status.PROPOSED if draft.verify or empty else Status.ACTIVE,
            status_reason=SAYS_NOTHING if empty else None,
            contradicts=refuted,
            detail={"verification": draft.vouched_by} if draft.vouched_by else {},
            trust=trust_of(draft.vouched_by or "none", manages=self._call.key.may(Act.MANAGE)),
        )

    async def _load_task(self, one: _DatedDraft) -> Task | None:
        if one.draft.task is not None:
            task, _ = await self._names.ensure_task(one.draft.task, one.learned_at)
            return task
        return None if one.draft.task_id is None else await self._tasks.get(one.draft.task_id)

    async def _choose_category(self, one: _EmbeddedDraft, task: Task | None) -> CategoryIds:
        """The given category; else its task's; else the nearest; else `general`."""
        name = one.dated.draft.category_name
        if name is not None:
            return await self._names.ensure_category(name)
        if task is not None:
            return task.category_ids
        place = await self._router.place(one.vectors["situation"].vector)
        return place.ids if place is not None else await self._names.ensure_category(GENERAL)


def _list_proposals(
    resolved: Mapping[int, NewMemory], stored: Mapping[int, Remembered]
) -> list[Proposal]:
    """What is new and wants to be tried before it is used."""
    return [
        Proposal(new, None, new.learned_at)
        for position, new in resolved.items()
        if new.draft.verify and not stored[position].deduplicated
    ]
