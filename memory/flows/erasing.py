"""What an erasure would take: it is done, counted, and undone before anyone can see it."""

from memory.domain.access import Act, Call
from memory.domain.bank import Erasure
from memory.domain.browsing import MAX_FORESEEN, ForeseenErasure
from memory.engine import Engine
from memory.flows.bank import erased_in
from memory.storage.erasure import ErasureStore
from memory.storage.resting import RestingStore


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
    return ForeseenErasure(erased, reach.memory_ids[:MAX_FORESEEN], retrievals, derived)
