"""WeightEventStore: what moved a memory, as people read it, seen through one namespace."""

from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.entities import WeightEvent
from memory.belief.tables import weight_event
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.receipts.tables import outcome
from memory.tasks.tables import agent

_to_event = RowMapper(
    WeightEvent,
    [
        weight_event,
        agent.c.name.label("agent"),
        weight_event.c.party_id.label("party"),
        outcome.c.retrieval_id,
    ],
)


class WeightEventStore:
    """The ledger of one namespace, a memory at a time."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def of_memory(self, memory_id: UUID, page: Page) -> tuple[list[WeightEvent], int]:
        """Events of one memory, its deviations and influences, oldest first, one more than the
        page.
        """
        condition: ColumnElement[bool] = (weight_event.c.namespace_id == self._namespace_id) & (
            weight_event.c.memory_id == memory_id
        )
        rows = (
            select(*_to_event.columns)
            .select_from(
                weight_event.outerjoin(agent, agent.c.id == weight_event.c.agent_id).outerjoin(
                    outcome, outcome.c.id == weight_event.c.outcome_id
                )
            )
            .where(condition)
            .order_by(weight_event.c.bank_version, weight_event.c.position)
            .limit(page.limit + 1)
        )
        if page.after is not None:
            version, position = (int(str(part)) for part in page.after)
            rows = rows.where(
                (weight_event.c.bank_version > version)
                | ((weight_event.c.bank_version == version) & (weight_event.c.position > position))
            )
        found = [_to_event(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(weight_event).where(condition)
        )
        return found, total or 0
