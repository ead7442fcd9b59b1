"""Text and vectors go, wherever they are kept, or it is said what would; numbers stay."""

from uuid import UUID

from memory.constraints.contradictions import Desk, weaken
from memory.erasure.entities import MAX_REACHED, Erased, Erasure
from memory.erasure.store.erasure import ErasureStore, Reach, RestingStore
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.memories.service import viewer
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, Stamp
from memory.memories.store.queries import MemoryReader
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.store.tickets import TicketStore


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
    event = AuditEvent("erase", subject, {name: getattr(erased, name) for name in Erased.__slots__})
    await calls.record(event, call.key.id, call.namespace.id, call.now)
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


async def foresee_erasure(engine: Engine, call: Call, erasure: Erasure) -> ForeseenErasure:
    """The counts the erasure would answer with, what it would reach, and what rests on that.

    Its locks are held as long as the erasure itself would hold them.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        reach = await ErasureStore(connection, call.namespace.id).reach(erasure)
        resting = RestingStore(connection, call.namespace.id)
        retrievals = await resting.retrievals(reach)
        derived = await resting.derived(reach)
        savepoint = await connection.begin_nested()
        erased = await erased_in(connection, call, erasure)
        await savepoint.rollback()
    return ForeseenErasure(erased, reach.memory_ids[:MAX_REACHED], retrievals, derived)
