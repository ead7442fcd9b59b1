"""WritingStore: tries of a language model and their budget, seen through one namespace."""

from dataclasses import replace
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, exists, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.paging import Page
from memory.llm.entities import Writing, WritingFilter
from memory.llm.tables import writing, writing_budget
from memory.memories.tables import memory
from memory.tasks.tables import task

_COLUMNS = tuple(name for name in Writing.__slots__ if name != "private")


class WritingStore:
    """Writings of one namespace. Storing one does not touch the bank."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def reserve(self, day: date, tokens: int, limit: int) -> bool:
        """Sets tokens aside, or counts a stop and says False: the row's lock lets no two calls
        take the same tokens.
        """
        left = writing_budget.c.spent + writing_budget.c.reserved + tokens <= limit
        if tokens <= limit:
            taken = await self._connection.execute(
                upsert(writing_budget)
                .values(namespace_id=self._namespace_id, day=day, reserved=tokens)
                .on_conflict_do_update(
                    index_elements=["namespace_id", "day"],
                    set_={"reserved": writing_budget.c.reserved + tokens},
                    where=left,
                )
                .returning(writing_budget.c.day)
            )
            if taken.first() is not None:
                return True
        await self._connection.execute(
            upsert(writing_budget)
            .values(namespace_id=self._namespace_id, day=day, stopped=1)
            .on_conflict_do_update(
                index_elements=["namespace_id", "day"],
                set_={"stopped": writing_budget.c.stopped + 1},
            )
        )
        return False

    async def settle(self, day: date, reserved: int, spent: int) -> None:
        """What was set aside becomes what was used."""
        await self._connection.execute(
            update(writing_budget)
            .where(writing_budget.c.namespace_id == self._namespace_id, writing_budget.c.day == day)
            .values(
                reserved=func.greatest(0, writing_budget.c.reserved - reserved),
                spent=writing_budget.c.spent + spent,
            )
        )

    async def used(self, day: date) -> tuple[int, int, int]:
        """Tokens spent and reserved on a day, and the tries that were stopped."""
        rows = await self._connection.execute(
            select(writing_budget).where(
                writing_budget.c.namespace_id == self._namespace_id, writing_budget.c.day == day
            )
        )
        row = rows.first()
        return (0, 0, 0) if row is None else (row.spent, row.reserved, row.stopped)

    async def add(self, made: Writing, now: datetime) -> None:
        """Keeps a try; blank where its sources were erased while the model thought. Their rows are
        held, so that an erasure comes before, and is seen, or after, and finds the try.
        """
        if await self._erased(made):
            made = replace(made, prompt="", answer="", detail=None, erased_at=now)
        row = {name: getattr(made, name) for name in _COLUMNS}
        row["memory_ids"] = list(made.memory_ids)
        await self._connection.execute(
            insert(writing).values(namespace_id=self._namespace_id, **row)
        )

    async def _erased(self, made: Writing) -> bool:
        erased = False
        for table, ids in ((memory, made.memory_ids), (task, (made.task_id,))):
            held = await self._connection.execute(
                select(table.c.erased_at)
                .where(table.c.id.in_([one for one in ids if one is not None]))
                .order_by(table.c.id)
                .with_for_update(read=True)
            )
            erased |= any(row.erased_at is not None for row in held)
        return erased

    async def attach(
        self, writing_id: UUID, *, memory_id: UUID | None = None, ticket_id: UUID | None = None
    ) -> None:
        """Names the candidate, or its ticket, that came of a writing."""
        values = {"memory_id": memory_id, "ticket_id": ticket_id}
        await self._connection.execute(
            update(writing)
            .where(writing.c.namespace_id == self._namespace_id, writing.c.id == writing_id)
            .values({name: value for name, value in values.items() if value is not None})
        )

    async def browse(self, wanted: WritingFilter, page: Page) -> tuple[list[Writing], int]:
        """Oldest first, one row more than the page; and how many match."""
        condition = self._matching(wanted)
        private = exists().where(
            memory.c.id == func.any(writing.c.memory_ids), memory.c.visibility == "agent"
        )
        rows = select(writing, private.label("private")).where(condition)
        if page.after is not None:
            rows = rows.where(writing.c.id > UUID(str(page.after[0])))
        found = await self._connection.execute(rows.order_by(writing.c.id).limit(page.limit + 1))
        total = await self._connection.scalar(
            select(func.count()).select_from(writing).where(condition)
        )
        return [_read(row) for row in found.mappings()], total or 0

    def _matching(self, wanted: WritingFilter) -> ColumnElement[bool]:
        condition: ColumnElement[bool] = writing.c.namespace_id == self._namespace_id
        for name in WritingFilter.__slots__:
            value = getattr(wanted, name)
            if value is not None:
                condition &= writing.c[name] == value
        return condition


def _read(row: RowMapping) -> Writing:
    plain = {name: row[name] for name in Writing.__slots__ if name != "memory_ids"}
    return Writing(memory_ids=tuple(row["memory_ids"]), **plain)
