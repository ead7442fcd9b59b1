"""Memories are edited, paused, retired, brought back, believed or not."""

from uuid import UUID

from memory.belief.fold import Operation
from memory.belief.service import LedgerMoment, set_states
from memory.belief.store.states import StateStore
from memory.constraints.entities import Constraint
from memory.constraints.service import get
from memory.constraints.store.support import SupportStore
from memory.curation.entities import BulkChange, StatusChange, TrustChange
from memory.inference.service import adopt_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, StaleEdit
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection, UniqueTextTaken
from memory.kernel.text import INSTRUCTION, cleaned
from memory.memories.entities import Kind, Memory, MemoryEdit, Status, Visibility, fingerprint
from memory.memories.rules import next_status
from memory.memories.service import UNVERIFIED, get_memory, reading_time
from memory.memories.store.memories import MemoryStore, Stamp
from memory.memories.store.status import StatusStore
from memory.memories.store.weights import WeighingStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.store.tickets import TicketStore


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
                LedgerMoment(version, known_at, call.now),
            )
        event = AuditEvent("memory.edit", str(memory_id), {"version": current.version + reworded})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
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
    edit: tuple[MemoryEdit, tuple[str, str], bool],
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
            await weighing.returned(memory_id, reading_time(call))
        event = AuditEvent(f"memory.{change.action}", str(memory_id), {"reason": change.reason})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
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


async def change_constraint(
    engine: Engine, call: Call, memory_id: UUID, change: StatusChange
) -> Constraint:
    """Suspend, retire or restore; what nothing counts for comes back to wait."""
    await get(engine, call, memory_id)
    await change_status(engine, call, memory_id, change)
    return await get(engine, call, memory_id)


async def change_trust(engine: Engine, call: Call, memory_id: UUID, change: TrustChange) -> Memory:
    """Believe the source, or not, or keep the memory from all retrievals (quarantined)."""
    call.key.require(Act.MANAGE)
    current = await get_memory(engine, call, memory_id)
    if current.trust is change.trust:
        raise Conflict(
            f"the memory is {change.trust} already", code="trust_conflict", field="trust"
        )
    async with engine.database.transaction(call.namespace.id) as connection:
        version = await NamespaceStore(connection).bump(call.namespace.id)
        stamp = Stamp(call.key.id, call.now, version)
        store = StatusStore(connection, call.namespace.id)
        if not await store.believe(memory_id, (current.trust, change.trust), stamp):
            raise Conflict("the memory's trust was changed since", code="trust_conflict")
        detail = {"from": current.trust, "to": change.trust, "reason": change.reason}
        event = AuditEvent("memory.trust", str(memory_id), detail)
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def change_all(engine: Engine, call: Call, bulk: BulkChange) -> list[Memory | MemoryFault]:
    """What became of each memory, in order; each change is kept or refused by itself."""
    return [await _changed(engine, call, memory_id, bulk) for memory_id in bulk.ids]


async def _changed(
    engine: Engine, call: Call, memory_id: UUID, bulk: BulkChange
) -> Memory | MemoryFault:
    try:
        if bulk.trust is not None:
            change = TrustChange(bulk.trust, bulk.reason)
            return await change_trust(engine, call, memory_id, change)
        status = StatusChange(bulk.action, bulk.reason)
        return await change_status(engine, call, memory_id, status)
    except MemoryFault as fault:
        return fault
