"""A candidate is put into other words, and tried anew: a few times, then its rejection stands."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from memory.belief.fold import Operation
from memory.belief.service import LedgerMoment, set_states
from memory.belief.store.states import StateStore
from memory.inference.service import adopt_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, StaleEdit
from memory.kernel.postgres.database import Connection, UniqueTextTaken
from memory.memories.entities import ExperienceDraft, Memory, MemoryEdit, Status
from memory.memories.service import UNVERIFIED, Entrance, get_memory
from memory.memories.store.memories import MemoryStore, NewMemory, NewVersion, Stamp
from memory.memories.store.status import StatusStore
from memory.tenancy.entities import Act, AuditEvent, Call, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.proposing import Proposal, TargetReward, propose
from memory.verification.rules import MAX_REFINEMENTS
from memory.verification.store.tickets import TicketStore


async def refine(
    engine: Engine, call: Call, memory_id: UUID, edit: MemoryEdit, version: int
) -> Memory:
    """Reword a candidate, also a rejected one: it is proposed again, under a new ticket."""
    call.key.require(Act.REMEMBER)
    known_at = call.namespace.known_at(edit.known_at, call.now)
    current = await get_memory(engine, call, memory_id)
    call.key.require_agent(current.agent)
    if current.status not in UNVERIFIED:
        raise Conflict(
            f"only a candidate is refined; this memory is {current.status}: edit it",
            code="status_conflict",
        )
    if current.version != version:
        raise StaleEdit(f"the memory is at version {current.version}", field="If-Match")
    texts = (edit.situation or current.situation, edit.lesson or current.lesson)
    if texts == (current.situation, current.lesson):
        raise Conflict("the texts are the same as before", code="memory_exists", field="lesson")
    one, other = await engine.embedder.embed(list(texts))
    vectors = {"situation": one, "lesson": other}
    wording = NewVersion(memory_id, version + 1, *texts, known_at, vectors)
    by = Rewording(call.namespace, call.key.id, call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        await reword(engine, connection, by, current, wording=wording)
    return await get_memory(engine, call, memory_id)


@dataclass(frozen=True, slots=True)
class Rewording:
    """Where, by whose key and when a candidate is reworded, and why."""

    namespace: Namespace
    key_id: UUID | None
    now: datetime
    reason: Literal["refined", "repaired"] = "refined"


async def reword(
    engine: Engine,
    connection: Connection,
    by: Rewording,
    current: Memory,
    *,
    wording: NewVersion,
) -> None:
    """The candidate's next version, under a new ticket; the earlier words and trials stay."""
    namespace = by.namespace
    model_id = await adopt_model(connection, engine, namespace)
    await StateStore(connection, namespace.id).lock()
    reference = await _close_ticket(connection, by, current.id)
    living = 1 if current.status is Status.REJECTED else 0
    version = await NamespaceStore(connection).bump(namespace, memories=living)
    stamp = Stamp(by.key_id, by.now, version)
    await _write(MemoryStore(connection, namespace.id), current, wording, stamp, by.reason)
    await MemoryStore(connection, namespace.id).add_version(wording, model_id, stamp)
    await NamespaceStore(connection).saw(namespace.id, wording.known_at)
    moment = LedgerMoment(version, wording.known_at, by.now)
    await set_states(connection, namespace, Operation.EDIT, [current.id], moment)
    entrance = Entrance(namespace, by.key_id, by.now, model_id)
    new = await _candidate(connection, namespace.id, current, wording)
    proposal = Proposal(new, reference, wording.known_at, current.version + 1)
    await propose(engine, connection, entrance, [proposal])
    action = "memory.refine" if by.reason == "refined" else "memory.repair"
    event = AuditEvent(action, str(current.id), {"version": current.version + 1})
    await CallStore(connection).record(event, by.key_id, namespace.id, by.now)


async def _close_ticket(
    connection: Connection, by: Rewording, memory_id: UUID
) -> TargetReward | None:
    """End the ticket of the old words; the reward to beat stays what it was."""
    store = TicketStore(connection, by.namespace.id)
    known = await store.of_memory(memory_id)
    if not known:
        raise Conflict("the memory is not a candidate", code="status_conflict", field="id")
    if len(known) > MAX_REFINEMENTS:
        raise Conflict(
            f"a candidate can be refined at most {MAX_REFINEMENTS} times",
            code="refinements_spent",
            field="id",
        )
    waiting = [ticket.id for ticket in known if ticket.decided_at is None]
    ended = {"state": "expired", "reason": by.reason, "decided_at": by.now}
    await store.change(waiting, ended)
    last = known[-1]
    if last.rule == "wins":
        raise Conflict(
            "the memory is tried with others, as a changeset", code="status_conflict", field="id"
        )
    if last.trials[0].reference is None:
        return None
    return TargetReward(last.trials[0].reference, last.metric, last.reward_kind)


async def _write(
    store: MemoryStore, current: Memory, wording: NewVersion, stamp: Stamp, reason: str
) -> None:
    values: dict[str, object] = {
        "version": wording.version,
        "sha256": wording.digest,
        "status": Status.PROPOSED,
        "status_reason": reason,
        "bank_version": stamp.bank_version,
    }
    try:
        written = await store.edit(current.id, values, current.version)
    except UniqueTextTaken as fault:
        raise Conflict(
            "another memory says the same already", code="memory_exists", field="lesson"
        ) from fault
    if not written:
        raise StaleEdit("the memory was changed since", field="If-Match")
    await store.feed(stamp, "edited", [current.id])


async def _candidate(
    connection: Connection, namespace_id: UUID, current: Memory, wording: NewVersion
) -> NewMemory:
    """The memory as a ticket needs it."""
    origin = await StatusStore(connection, namespace_id).get_origin(current.id)
    draft = ExperienceDraft(
        agent=current.agent,
        situation=wording.situation,
        lesson=wording.lesson,
        task_id=current.task_id,
        verify=True,
    )
    return NewMemory(
        id=current.id,
        draft=draft,
        agent_id=origin.agent_id,
        category_ids=origin.category_ids,
        task_id=current.task_id,
        source_group=origin.source_group,
        learned_at=wording.known_at,
        vectors=wording.vectors,
        status=Status.PROPOSED,
        trust=current.trust,
    )
