"""OperationStore: what was done to memories, as the ledger has it, with what the fold needs."""

from uuid import UUID

from sqlalchemy import RowMapping, select
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.store.ledger import LAST, OPERATIONS
from memory.belief.tables import weight_event
from memory.memories.tables import memory

# Looked up for each event: of a namespace that was just filled the planner knows nothing, and would
# compare each event with each memory.
_START_WEIGHT = (
    select(memory.c.start_weight)
    .where(
        memory.c.namespace_id == weight_event.c.namespace_id,
        memory.c.id == weight_event.c.memory_id,
    )
    .scalar_subquery()
    .label("start_weight")
)


class OperationStore:
    """Of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def between(self, since: int = 0, until: int = LAST) -> list[RowMapping]:
        """The `set` events of memories that the fold replays beside outcomes, between two versions
        of the bank, in the ledger's order.
        """
        rows = await self._connection.execute(
            select(weight_event, _START_WEIGHT)
            .where(
                weight_event.c.namespace_id == self._namespace_id,
                weight_event.c.bank_version.between(since, until),
                weight_event.c.kind == "set",
                weight_event.c.subject == "memory",
                weight_event.c.reason.in_(OPERATIONS),
            )
            .order_by(weight_event.c.bank_version, weight_event.c.position)
        )
        return list(rows.mappings())
