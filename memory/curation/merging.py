"""Two memories that somebody says are one: look at both → may they be one → retire the one into the
other → audit.

It does what the merging job does, for pairs that the job only lists as alike. Restoring the merged
memory takes the two apart again, and the job leaves them so.
"""

from uuid import UUID

from memory.curation.entities import MergeInto
from memory.curation.service import require_right
from memory.experiences.store import Merge, MergeMember, TwinStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, NotFound, Rejected
from memory.memories.entities import Kind, Memory, Status, Visibility
from memory.memories.service import get_memory
from memory.memories.store.memories import MemoryStore, Stamp
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore

IN_USE = (Status.ACTIVE, Status.PROBATION)


async def merge_memory(engine: Engine, call: Call, memory_id: UUID, change: MergeInto) -> Memory:
    """Retire the memory as merged into the other, which takes over its evidence and origins.

    The other keeps its words, its weight and its status: nothing is written to the ledger. Raises
    Rejected for a memory into itself, Conflict where the two may not be one.
    """
    call.key.require(Act.REMEMBER)
    if change.into == memory_id:
        raise Rejected("a memory is not merged into itself", field="into")
    merged = await get_memory(engine, call, memory_id)
    survivor = await _get_survivor(engine, call, change.into)
    for memory in (merged, survivor):
        require_right(call, memory)
    _require_mergeable(merged, survivor)
    async with engine.database.transaction(call.namespace.id) as connection:
        version = await NamespaceStore(connection).bump(call.namespace, memories=-1)
        store = TwinStore(connection, call.namespace.id)
        ids = sorted((survivor.id, merged.id))
        await store.hold(ids)
        if not await store.merge(Merge(_as_member(survivor), _as_member(merged)), version):
            raise Conflict("one of the two was changed since", code="status_conflict", field="into")
        stamp = Stamp(call.key.id, call.now, version)
        await MemoryStore(connection, call.namespace.id).feed(stamp, "merged", ids)
        detail = {"into": str(change.into), "reason": change.reason}
        event = AuditEvent("memory.merge", str(memory_id), detail)
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def _get_survivor(engine: Engine, call: Call, memory_id: UUID) -> Memory:
    try:
        return await get_memory(engine, call, memory_id)
    except NotFound as fault:
        raise NotFound(fault.detail, code=fault.kind, field="into") from fault


def _require_mergeable(merged: Memory, survivor: Memory) -> None:
    """Both are in use, of one kind, for the same readers, and equally trusted."""
    for memory, field in ((merged, "id"), (survivor, "into")):
        if memory.kind is Kind.CONSTRAINT:
            raise Conflict(
                "constraints are not merged by hand: approving one joins it with its like",
                code="merge_conflict",
                field=field,
            )
        if memory.status not in IN_USE:
            raise Conflict(
                f"only memories in use are merged; this one is {memory.status}",
                code="status_conflict",
                field=field,
            )
    if merged.pinned:
        raise Conflict("a pinned memory stays: unpin it first", code="merge_conflict", field="id")
    if (merged.kind, _readers(merged)) != (survivor.kind, _readers(survivor)):
        raise Conflict(
            "only memories of one kind, which the same agents may read, are merged",
            code="merge_conflict",
            field="into",
        )
    if merged.trust is not survivor.trust:
        raise Conflict(
            f"one is {merged.trust}, the other {survivor.trust}: make their trust equal first",
            code="merge_conflict",
            field="into",
        )


def _readers(memory: Memory) -> str | None:
    """The one agent that may see it, or None where all may."""
    return memory.agent if memory.visibility is Visibility.AGENT else None


def _as_member(memory: Memory) -> MergeMember:
    """As the store holds it against what is stored by then."""
    return MergeMember(
        id=memory.id,
        version=memory.version,
        status=memory.status,
        text=f"{memory.situation}\n{memory.lesson}",
        pinned=memory.pinned,
        credited=0,
        learned_at=memory.learned_at,
        merged_into=None,
    )
