"""Changes that people and agents make: look at the memory → is it theirs → write → audit.

An edit of the words embeds them first, outside the transaction, and makes a new version.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Operation
from memory.belief.service import LedgerMoment, set_states
from memory.belief.store.states import StateStore
from memory.constraints.bank import get_constraint
from memory.constraints.entities import Constraint
from memory.constraints.proof import reason_to_wait
from memory.constraints.store.support import SupportStore
from memory.curation.entities import BulkChange, StatusChange, TrustChange
from memory.inference.service import adopt_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, StaleEdit
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection, UniqueTextTaken
from memory.kernel.text import INSTRUCTION, cleaned
from memory.memories.entities import (
    HIDDEN,
    Kind,
    Memory,
    MemoryEdit,
    Status,
    Trust,
    Visibility,
)
from memory.memories.rules import SAYS_NOTHING, next_status
from memory.memories.service import UNVERIFIED, get_memory, hide_private, reading_time
from memory.memories.store.memories import MemoryStore, NewVersion, Stamp, edited_columns
from memory.memories.store.status import StatusStore, StatusTransition
from memory.tenancy.entities import Act, AuditEntry, AuditEvent, AuditFilter, Call
from memory.tenancy.service import audit_trail
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.store.tickets import TicketStore
from memory.webhooks.store import Outbox


async def edit_memory(
    engine: Engine, call: Call, memory_id: UUID, edit: MemoryEdit, version: int
) -> Memory:
    """A new text makes a new version, and half of what was believed of the old one goes with it."""
    call.key.require(Act.REMEMBER)
    known_at = call.namespace.known_at(edit.known_at, call.now)
    current = await _load_editable(engine, call, memory_id, edit)
    if current.version != version:
        raise StaleEdit(f"the memory is at version {current.version}", field="If-Match")
    rewording = await _embed_rewording(engine, current, edit, known_at)

    async with engine.database.transaction(call.namespace.id) as connection:
        model_id = None
        if rewording is not None:
            model_id = await adopt_model(connection, engine, call.namespace)
            await StateStore(connection, call.namespace.id).lock()
        bank_version = await NamespaceStore(connection).bump(call.namespace)
        stamp = Stamp(call.key.id, call.now, bank_version)
        store = MemoryStore(connection, call.namespace.id)
        columns = edited_columns(edit) | {"bank_version": bank_version}
        if rewording is not None:
            # What the old words spoke against, the new ones may not.
            columns |= {"version": rewording.version, "sha256": rewording.digest, "contradicts": []}
            if current.status_reason == SAYS_NOTHING and rewording.says_something:
                columns |= {"status": Status.ACTIVE, "status_reason": None}
        await _write_columns(store, current, columns, stamp)
        if rewording is not None and model_id is not None:
            await store.add_version(rewording, model_id, stamp)
            await NamespaceStore(connection).saw(call.namespace.id, known_at)
            when = LedgerMoment(bank_version, known_at, call.now)
            await set_states(connection, call.namespace, Operation.EDIT, [memory_id], when)
        shown = version if rewording is None else rewording.version
        event = AuditEvent("memory.edit", str(memory_id), {"version": shown})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def _load_editable(engine: Engine, call: Call, memory_id: UUID, edit: MemoryEdit) -> Memory:
    """The memory, if its words are the caller's to edit."""
    current = await get_memory(engine, call, memory_id)
    require_right(call, current)
    if current.kind is Kind.META_GUIDELINE and edit.lesson is not None:
        cleaned(edit.lesson, "lesson", INSTRUCTION)
    if current.kind is Kind.CONSTRAINT and (edit.situation or edit.lesson):
        raise Conflict(
            "a constraint's words are what its support is for: bring others anew",
            code="status_conflict",
            field="lesson",
        )
    return current


async def _embed_rewording(
    engine: Engine, current: Memory, edit: MemoryEdit, known_at: datetime
) -> NewVersion | None:
    """The next version of the text; None where the words stay what they are."""
    situation, lesson = edit.situation or current.situation, edit.lesson or current.lesson
    if (situation, lesson) == (current.situation, current.lesson):
        return None
    if current.status in UNVERIFIED and current.status_reason != SAYS_NOTHING:
        raise Conflict("a candidate is reworded by refining it", code="status_conflict", field="id")
    one, other = await engine.embedder.embed([situation, lesson])
    vectors = {"situation": one, "lesson": other}
    return NewVersion(current.id, current.version + 1, situation, lesson, known_at, vectors)


def require_right(call: Call, memory: Memory) -> None:
    """An agent's key may change its agents' memories; how memory is used, managers decide, and what
    becomes of a constraint that all agents see.
    """
    shared = memory.visibility is Visibility.NAMESPACE
    if memory.kind is Kind.META_GUIDELINE or (memory.kind is Kind.CONSTRAINT and shared):
        call.key.require(Act.MANAGE)
    else:
        call.key.require_agent(memory.agent)


async def _write_columns(
    store: MemoryStore, current: Memory, columns: Mapping[str, object], stamp: Stamp
) -> None:
    try:
        written = await store.edit(current.id, columns, current.version)
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
    require_right(call, current)
    target = next_status(current.status, change.action)
    living = {"retire": -1, "restore": 1 if current.status is Status.RETIRED else 0}
    async with engine.database.transaction(call.namespace.id) as connection:
        if target is Status.ACTIVE:
            target = await _choose_restored_status(connection, call, current)
        version = await NamespaceStore(connection).bump(
            call.namespace, memories=living.get(change.action, 0)
        )
        store = StatusStore(connection, call.namespace.id)
        transition = StatusTransition((current.status,), target, change.reason)
        try:
            moved = await store.move([memory_id], transition, Stamp(call.key.id, call.now, version))
        except UniqueTextTaken as fault:
            raise Conflict(
                "another living memory says the same", code="memory_exists", field="id"
            ) from fault
        if not moved:
            raise Conflict("the memory's status was changed since", code="status_conflict")
        if change.action == "restore":
            await store.mark_returned(memory_id, reading_time(call))
        event = AuditEvent(f"memory.{change.action}", str(memory_id), {"reason": change.reason})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def _choose_restored_status(connection: Connection, call: Call, memory: Memory) -> Status:
    """What was never admitted comes back on probation: a detour is no verification. A constraint
    comes back to wait where it is not proven, but for an agent's own that its key brings back.
    """
    own = memory.visibility is Visibility.AGENT and call.key.sees_private(memory.agent)
    if memory.kind is Kind.CONSTRAINT and not own:
        pieces = await SupportStore(connection, call.namespace.id).pieces([memory.id])
        proven = reason_to_wait(pieces.get(memory.id, ())) is None
        return Status.ACTIVE if proven else Status.PROPOSED
    tickets = await TicketStore(connection, call.namespace.id).of_memory(memory.id)
    verified = not tickets or tickets[-1].decision == "admitted"
    return Status.ACTIVE if verified else Status.PROBATION


async def change_constraint(
    engine: Engine, call: Call, memory_id: UUID, change: StatusChange
) -> Constraint:
    """Suspend, retire or restore; what nothing counts for comes back to wait."""
    await get_constraint(engine, call, memory_id)
    await change_status(engine, call, memory_id, change)
    return await get_constraint(engine, call, memory_id)


async def change_trust(engine: Engine, call: Call, memory_id: UUID, change: TrustChange) -> Memory:
    """Believe the source, or not, or keep the memory from all retrievals (quarantined)."""
    call.key.require(Act.MANAGE)
    current = await get_memory(engine, call, memory_id)
    if current.trust is change.trust:
        raise Conflict(
            f"the memory is {change.trust} already", code="trust_conflict", field="trust"
        )
    async with engine.database.transaction(call.namespace.id) as connection:
        version = await NamespaceStore(connection).bump(call.namespace)
        stamp = Stamp(call.key.id, call.now, version)
        store = StatusStore(connection, call.namespace.id)
        if not await store.set_trust(memory_id, change.trust, stamp, was=current.trust):
            raise Conflict("the memory's trust was changed since", code="trust_conflict")
        if change.trust is Trust.QUARANTINED:
            shared = current.visibility is Visibility.NAMESPACE
            told = {"memory_id": memory_id if shared else HIDDEN}
            await Outbox(connection, call.namespace.id).put("memory.quarantined", told)
        detail = {"from": current.trust, "to": change.trust, "reason": change.reason}
        event = AuditEvent("memory.trust", str(memory_id), detail)
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def list_changes(
    engine: Engine, call: Call, wanted: AuditFilter, page: Page
) -> Listed[AuditEntry]:
    """The audit trail; of a private memory, only what was done and by whom."""
    trail = await audit_trail(engine, call, wanted, page)
    async with engine.database.transaction(call.namespace.id) as connection:
        return await hide_private(connection, call, trail)


async def change_all(engine: Engine, call: Call, bulk: BulkChange) -> list[Memory | MemoryFault]:
    """The result for each memory, in order; each change is kept or refused by itself."""
    return [await _change_one(engine, call, memory_id, bulk) for memory_id in bulk.ids]


async def _change_one(
    engine: Engine, call: Call, memory_id: UUID, bulk: BulkChange
) -> Memory | MemoryFault:
    try:
        if bulk.trust is not None:
            trust = TrustChange(bulk.trust, bulk.reason)
            return await change_trust(engine, call, memory_id, trust)
        status = StatusChange(bulk.action, bulk.reason)
        return await change_status(engine, call, memory_id, status)
    except MemoryFault as fault:
        return fault
