"""Whether a memory's source is believed is decided by those who manage the namespace; and one
decision is made about many memories at once.
"""

from uuid import UUID

from memory.domain.access import Act, Call
from memory.domain.bank import Memory, StatusChange
from memory.domain.browsing import Bulk, TrustChange
from memory.engine import Engine
from memory.errors import Conflict, MemoryFault
from memory.flows.bank import change_status, get_memory
from memory.storage.admitting import AdmittingStore
from memory.storage.calls import CallStore, Deed
from memory.storage.memories import Stamp
from memory.storage.namespaces import NamespaceStore


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
        store = AdmittingStore(connection, call.namespace.id)
        if not await store.believe(memory_id, (current.trust, change.trust), stamp):
            raise Conflict("the memory's trust was changed since", code="trust_conflict")
        detail = {"from": current.trust, "to": change.trust, "reason": change.reason}
        deed = Deed("memory.trust", str(memory_id), detail)
        await CallStore(connection).note(deed, call.key.id, call.namespace.id, call.now)
    return await get_memory(engine, call, memory_id)


async def change_all(engine: Engine, call: Call, bulk: Bulk) -> list[Memory | MemoryFault]:
    """What became of each memory, in order; each change is kept or refused by itself."""
    return [await _changed(engine, call, memory_id, bulk) for memory_id in bulk.ids]


async def _changed(engine: Engine, call: Call, memory_id: UUID, bulk: Bulk) -> Memory | MemoryFault:
    try:
        if bulk.trust is not None:
            change = TrustChange(bulk.trust, bulk.reason)
            return await change_trust(engine, call, memory_id, change)
        status = StatusChange(bulk.action, bulk.reason)
        return await change_status(engine, call, memory_id, status)
    except MemoryFault as fault:
        return fault
