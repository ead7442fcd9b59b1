"""A run that goes on in parts, each in a transaction of its own, is stopped between two of them.

A run that is one transaction cannot be: nobody sees it before it is over, and then it is.
"""

from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, NotFound
from memory.kernel.postgres.leadership import JobRun, WorkStore
from memory.memories.service import hide_private
from memory.retention.service import RETENTION
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore


async def stop_run(engine: Engine, call: Call, run_id: UUID) -> JobRun:
    """Stop a run that works in parts: the part under way ends, and what is left waits for the job's
    next run. Raises NotFound for no run of this namespace, and Conflict where nothing
    of it is left to stop.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        store = WorkStore(connection)
        run = await store.find_run(run_id, call.namespace.id)
        if run is None:
            raise NotFound(
                "there is no such run; a dry run changes nothing, is not kept, and has nothing to "
                "stop",
                code="not_found",
                field="run_id",
            )
        last = await store.last_run(run.job, call.namespace.id)
        if last is None or last.id != run_id or not await store.stop(run_id, call.namespace.id):
            raise Conflict(
                "nothing of this run is left to stop", code="status_conflict", field="run_id"
            )
        event = AuditEvent("job.stop", str(run_id), {"job": run.job, "period": run.period})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        return await hide_private(connection, call, await store.get_run(run_id))


async def find_last_run(engine: Engine, call: Call) -> UUID | None:
    """Names the last run of the job that goes on in parts: of the others nothing is done any more,
    whatever they have left.
    """
    async with engine.database.transaction(call.namespace.id) as connection:
        run = await WorkStore(connection).last_run(RETENTION, call.namespace.id)
    return None if run is None else run.id
