"""The bank is read, edited, paused, retired and erased."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory.bank import next_status
from memory.domain.access import Act, Call
from memory.domain.bank import (
    Edit,
    EditRequest,
    Erased,
    Erasure,
    Kind,
    Memory,
    MemoryFilter,
    MemoryText,
    Status,
    StatusChange,
    Visibility,
    fingerprint,
)
from memory.domain.guidance import INSTRUCTION
from memory.domain.namespace import Clock
from memory.domain.task import Listed, Page
from memory.domain.text import cleaned
from memory.engine import Engine
from memory.errors import Conflict, StaleEdit
from memory.flows.actors import viewer
from memory.flows.contradictions import Desk, weaken
from memory.flows.models import adopt_model
from memory.flows.setting import set_states
from memory.flows.sheets import read
from memory.learning.fold import Operation
from memory.learning.policy import policy_named
from memory.ports import Embedding
from memory.storage.calls import CallStore, Deed
from memory.storage.centroids import CentroidStore
from memory.storage.database import Connection, UniqueTextTaken
from memory.storage.erasure import ErasureStore, Reach
from memory.storage.memories import MemoryStore, Stamp
from memory.storage.namespaces import NamespaceStore
from memory.storage.paging import listed
from memory.storage.reading import MemoryReader
from memory.storage.states import StateStore
from memory.storage.support import SupportStore
from memory.storage.tickets import TicketStore
from memory.storage.weighing import WeighingStore

UNVERIFIED = frozenset({Status.PROPOSED, Status.VERIFYING, Status.REJECTED})
"""Of these the words are on trial, or were."""


async def get_memory(engine: Engine, call: Call, memory_id: UUID) -> Memory:
    """The memory as it stands, its weight aged to now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        return (await _weighed(connection, call, [await reader.get(memory_id)]))[0]


async def list_memories(
    engine: Engine, call: Call, wanted: MemoryFilter, page: Page
) -> Listed[Memory]:
    """Oldest first; every match is on exactly one page."""
    async with engine.database.transaction(call.namespace.id) as connection:
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        found, total = await reader.browse(wanted, page)
        weighed = await _weighed(connection, call, found)
    return listed(weighed, page, total, lambda memory: (str(memory.id),))


async def list_versions(engine: Engine, call: Call, memory_id: UUID) -> list[MemoryText]:
    """Every text the memory had."""
    async with engine.database.transaction(call.namespace.id) as connection:
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        return await reader.versions(memory_id)


async def edit_memory(engine: Engine, call: Call, memory_id: UUID, ask: EditRequest) -> Memory:
    """A new text makes a new version, and half of what was believed of the old one goes with it."""
    call.key.require(Act.REMEMBER)
    known_at = call.namespace.known_at(ask.known_at, call.now)
    current = await _to_edit(engine, call, memory_id, ask)
    texts = (ask.edit.situation or current.situation, ask.edit.lesson or current.lesson)
    reworded = texts != (current.situation, current.lesson)
    vectors: dict[str, Embedding] = {}
    if reworded:
        _require_settled(current)
        situation, lesson = await engine.embedder.embed(list(texts))
        vectors |= {"situation": situation, "lesson": lesson}

    async with engine.database.transaction(call.namespace.id) as connection:
        if reworded:
            await StateStore(connection, call.namespace.id).lock()
        version = await NamespaceStore(connection).bump(call.namespace.id)
        stamp = Stamp(call.key.id, call.now, version)
        await _write_edit(connection, call, current, (ask.edit, texts, reworded), stamp)
        if reworded:
            store = MemoryStore(connection, call.namespace.id)
            await store.add_version(memory_id, current.version + 1, texts, known_at, stamp)
            model_id = await adopt_model(connection, engine, call.namespace)
            await store.add_vectors(memory_id, current.version + 1, model_id, vectors)
            await NamespaceStore(connection).saw(call.namespace.id, known_at)
            await set_states(
                connection,
                call.namespace,
                Operation.EDIT,
                [memory_id],
                (version, known_at, call.now),
            )
        deed = Deed("memory.edit", str(memory_id), {"version": current.version + reworded})
        await CallStore(connection).note(deed, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def _to_edit(engine: Engine, call: Call, memory_id: UUID, ask: EditRequest) -> Memory:
    """The memory as the caller saw it, if it is theirs to edit."""
    current = await get_memory(engine, call, memory_id)
    _require_right(call, current)
    if current.kind is Kind.META_GUIDELINE and ask.edit.lesson is not None:
        cleaned(ask.edit.lesson, "lesson", INSTRUCTION)
    if current.kind is Kind.CONSTRAINT and (ask.edit.situation or ask.edit.lesson):
        raise Conflict(
            "a constraint's words are what its support is for: bring others anew",
            code="status_conflict",
            field="lesson",
        )
    if current.version != ask.version:
        raise StaleEdit(f"the memory is at version {current.version}", field="If-Match")
    return current


def _require_settled(current: Memory) -> None:
    if current.status in UNVERIFIED:
        raise Conflict("a candidate is reworded by refining it", code="status_conflict", field="id")


def _require_right(call: Call, memory: Memory) -> None:
    """An agent's key may change its agents' memories; how memory is used, managers decide, and what
    becomes of a constraint that all agents see.
    """
    shared = memory.visibility is Visibility.NAMESPACE
    if memory.kind is Kind.META_GUIDELINE or (memory.kind is Kind.CONSTRAINT and shared):
        call.key.require(Act.MANAGE)
    else:
        call.key.require_agent(memory.agent)


async def _write_edit(
    connection: Connection,
    call: Call,
    current: Memory,
    edit: tuple[Edit, tuple[str, str], bool],
    stamp: Stamp,
) -> None:
    change, texts, reworded = edit
    values: dict[str, object] = {"bank_version": stamp.bank_version}
    if change.metadata is not None:
        values["metadata"] = dict(change.metadata)
    if change.pinned is not None:
        values["pinned"] = change.pinned
    if reworded:
        values |= {"version": current.version + 1, "sha256": fingerprint(*texts)}
    store = MemoryStore(connection, call.namespace.id)
    try:
        written = await store.edit(current.id, values, current.version)
    except UniqueTextTaken as fault:
        raise Conflict(
            "another memory says the same already", code="memory_exists", field="lesson"
        ) from fault
    if not written:
        raise StaleEdit("the memory was changed since", field="If-Match")
    await store.feed(stamp, "edited", [current.id])


async def change_status(
    engine: Engine, call: Call, memory_id: UUID, change: StatusChange
) -> Memory:
    """Suspend, retire or restore; the record stays."""
    call.key.require(Act.REMEMBER)
    current = await get_memory(engine, call, memory_id)
    _require_right(call, current)
    target = next_status(current.status, change.action)
    living = {"retire": -1, "restore": 1 if current.status.value == "retired" else 0}
    async with engine.database.transaction(call.namespace.id) as connection:
        if target is Status.ACTIVE:
            target = await _restored(connection, call, current)
        version = await NamespaceStore(connection).bump(
            call.namespace.id, memories=living.get(change.action, 0)
        )
        stamp = Stamp(call.key.id, call.now, version)
        store = MemoryStore(connection, call.namespace.id)
        try:
            step = (current.status, target)
            changed = await store.set_status(memory_id, step, change.reason, stamp)
        except UniqueTextTaken as fault:
            raise Conflict(
                "another living memory says the same", code="memory_exists", field="id"
            ) from fault
        if not changed:
            raise Conflict("the memory's status was changed since", code="status_conflict")
        if change.action == "restore":
            weighing = WeighingStore(connection, call.namespace.id)
            await weighing.returned(memory_id, _present(call))
        deed = Deed(f"memory.{change.action}", str(memory_id), {"reason": change.reason})
        await CallStore(connection).note(deed, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def _restored(connection: Connection, call: Call, memory: Memory) -> Status:
    """What was never admitted comes back on probation: a detour is no verification. A constraint
    comes back to wait where nothing counts for it any more.
    """
    if memory.kind is Kind.CONSTRAINT and memory.visibility is Visibility.NAMESPACE:
        counts = await SupportStore(connection, call.namespace.id).counts([memory.id])
        supported = memory.id in counts and counts[memory.id].tasks > 0
        return Status.ACTIVE if supported else Status.PROPOSED
    tickets = await TicketStore(connection, call.namespace.id).of_memory(memory.id)
    verified = not tickets or tickets[-1].decision == "admitted"
    return Status.ACTIVE if verified else Status.PROBATION


async def erase(engine: Engine, call: Call, erasure: Erasure) -> Erased:
    """Text and vectors go, with every served line and stored answer that carries them; numbers
    stay.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        return await erased_in(connection, call, erasure)


async def erased_in(connection: Connection, call: Call, erasure: Erasure) -> Erased:
    """Erase inside the caller's transaction."""
    store = ErasureStore(connection, call.namespace.id)
    reach = await store.reach(erasure)
    if erasure.memory_id is not None and not reach.memory_ids:
        await MemoryReader(connection, call.namespace.id, await viewer(connection, call)).get(
            erasure.memory_id
        )
    # Before the version is taken: whoever ends a ticket locks it first, too.
    await TicketStore(connection, call.namespace.id).blank(reach.memory_ids, call.now)
    await store.blank_lessons(erasure, reach.memory_ids)
    await store.hold_receipts(reach.memory_ids)
    version = await NamespaceStore(connection).bump(call.namespace.id, memories=-reach.living)
    await store.hold_memories(reach.memory_ids)
    erased, weakened = await _erase(store, call, (erasure, reach))
    await CentroidStore(connection, call.namespace.id).recount()
    await weaken(Desk(connection, call.namespace, call.key.id, call.now), weakened)
    stamp = Stamp(call.key.id, call.now, version)
    await MemoryStore(connection, call.namespace.id).feed(stamp, "erased", reach.memory_ids)
    calls = CallStore(connection)
    await calls.blank(call.namespace.id)
    subject = next(
        str(part)
        for part in (erasure.memory_id, erasure.agent, erasure.key_id, erasure.task_id)
        if part is not None
    )
    deed = Deed("erase", subject, {name: getattr(erased, name) for name in Erased.__slots__})
    await calls.note(deed, call.key.id, call.namespace.id, call.now)
    return erased


async def _erase(
    store: ErasureStore, call: Call, what: tuple[Erasure, Reach]
) -> tuple[Erased, list[UUID]]:
    """What was erased, and the constraints that lost support by it."""
    erasure, reach = what
    versions, embeddings = await store.blank_memories(reach.memory_ids, call.now)
    lines = await store.blank_lines(reach.memory_ids)
    tasks = await store.blank_tasks(reach.task_ids, call.now)
    runs = await store.blank_runs(erasure, reach.task_ids, call.now)
    weakened = await store.blank_contrasts(erasure, reach.task_ids, runs)
    writings = await store.blank_writings(erasure, reach, call.now)
    await store.blank_rationales(erasure, reach.task_ids)
    memories = len(reach.memory_ids)
    erased = Erased(memories, versions, embeddings, lines, tasks, writings, len(runs))
    return erased, weakened


async def _weighed(connection: Connection, call: Call, memories: list[Memory]) -> list[Memory]:
    """Each memory with its effective weight now, for no agent in particular."""
    policy = policy_named(call.namespace.policy)
    sheet = read(await StateStore(connection, call.namespace.id).load([m.id for m in memories]))
    now = _present(call)

    def weight(memory_id: UUID) -> float:
        state = sheet.memories[memory_id]
        return policy.effective_weight(policy.age_memory(state, now) if now else state, None)

    return [replace(memory, effective_weight=weight(memory.id)) for memory in memories]


def _present(call: Call) -> datetime | None:
    """Now; in a replay namespace, the newest fact that was applied, if any was."""
    return call.namespace.newest_known_at if call.namespace.clock is Clock.REPLAY else call.now
