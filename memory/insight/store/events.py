"""WeightEventStore: what moved a memory, as people read it, seen through one namespace."""

from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.entities import WeightEvent
from memory.belief.tables import weight_event
from memory.kernel.paging import Page
from memory.receipts.tables import outcome
from memory.tasks.tables import agent


class WeightEventStore:
    """The ledger of one namespace, a memory at a time."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def of_memory(self, memory_id: UUID, page: Page) -> tuple[list[WeightEvent], int]:
        """Events of one memory and its deviations, oldest first, one more than the page."""
        condition: ColumnElement[bool] = (weight_event.c.namespace_id == self._namespace_id) & (
            weight_event.c.memory_id == memory_id
        )
        rows = (
            select(weight_event, agent.c.name.label("agent"), outcome.c.retrieval_id)
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
        found = [_event(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(weight_event).where(condition)
        )
        return found, total or 0


def _event(row: RowMapping) -> WeightEvent:
    return WeightEvent(**{name: row[name] for name in WeightEvent.__slots__})
