"""LlmCallStore: calls of a language model and their budget, seen through one namespace.
ServerBudgetStore: the money of all namespaces together.
"""

from dataclasses import replace
from datetime import date, datetime, timedelta
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Date,
    and_,
    case,
    cast,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.ids import first_id_of
from memory.kernel.paging import Page
from memory.kernel.postgres.paging import page_by_id
from memory.kernel.postgres.rows import RowMapper
from memory.llm.cost_entities import NOTHING, Charge, ServerDay, TokenUse
from memory.llm.entities import BudgetDay, LlmCall, LlmCallFilter
from memory.llm.tables import server_budget, writing, writing_budget
from memory.memories.tables import memory
from memory.tasks.tables import task

_private = exists().where(
    memory.c.id == func.any(writing.c.memory_ids), memory.c.visibility == "agent"
)
_to_call = RowMapper(LlmCall, [writing, _private.label("private")])
_RESERVED = case((writing_budget.c.reserved_until > func.now(), writing_budget.c.reserved), else_=0)
_COST_RESERVED = case(
    (writing_budget.c.reserved_until > func.now(), writing_budget.c.cost_reserved), else_=0.0
)
_SERVER_RESERVED = case(
    (server_budget.c.reserved_until > func.now(), server_budget.c.cost_reserved), else_=0.0
)
# A namespace may replay another day; money is spent today.
_TODAY = cast(func.timezone("UTC", func.now()), Date)
_STORED = [column for column in writing.c if column.name != "namespace_id"]

CLOCKS_APART = timedelta(hours=1)
"""By so much the clocks of two processes that make ids may differ."""

LEASE = timedelta(minutes=10)
"""How long tokens are set aside for an attempt of which nothing more is heard."""


class LlmCallStore:
    """Calls of one namespace. Storing one does not touch the bank."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def reserve(
        self,
        day: date,
        tokens: int,
        limit: int,
        lease: timedelta = LEASE,
        charge: Charge = NOTHING,
    ) -> bool:
        """Sets tokens and what they cost at most aside, or counts a stop and says False: the row's
        lock lets no two calls take the same. What a caller that died has set aside comes back when
        nothing has been set aside for the lease.
        """
        left = writing_budget.c.spent + _RESERVED + tokens <= limit
        # What costs nothing is within any limit, also where a dearer model went beyond it.
        unlimited = charge.limit is None or not charge.dollars
        most = float("inf") if charge.limit is None or unlimited else charge.limit
        left &= writing_budget.c.cost + _COST_RESERVED + charge.dollars <= most
        until = func.now() + lease
        if tokens <= limit and charge.dollars <= most:
            taken = await self._connection.execute(
                upsert(writing_budget)
                .values(
                    namespace_id=self._namespace_id,
                    day=day,
                    reserved=tokens,
                    cost_reserved=charge.dollars,
                    reserved_until=until,
                )
                .on_conflict_do_update(
                    index_elements=["namespace_id", "day"],
                    set_={
                        "reserved": _RESERVED + tokens,
                        "cost_reserved": _COST_RESERVED + charge.dollars,
                        "reserved_until": func.greatest(writing_budget.c.reserved_until, until),
                    },
                    where=left,
                )
                .returning(writing_budget.c.day)
            )
            if taken.first() is not None:
                return True
        await self._count_stop(day)
        return False

    async def _count_stop(self, day: date) -> None:
        """One more question that was not asked."""
        await self._connection.execute(
            upsert(writing_budget)
            .values(namespace_id=self._namespace_id, day=day, stopped=1)
            .on_conflict_do_update(
                index_elements=["namespace_id", "day"],
                set_={"stopped": writing_budget.c.stopped + 1},
            )
        )

    async def give_back(self, day: date, tokens: int, charge: Charge) -> None:
        """What was set aside is used for nothing: the question is not asked after all."""
        await self.settle(day, tokens, 0, (charge, NOTHING))
        await self._count_stop(day)

    async def settle(
        self,
        day: date,
        reserved: int,
        spent: int,
        charges: tuple[Charge, Charge] = (NOTHING, NOTHING),
    ) -> None:
        """What was set aside becomes what was used, tokens and `charges`."""
        aside, paid = charges
        await self._connection.execute(
            update(writing_budget)
            .where(writing_budget.c.namespace_id == self._namespace_id, writing_budget.c.day == day)
            .values(
                reserved=func.greatest(0, writing_budget.c.reserved - reserved),
                spent=writing_budget.c.spent + spent,
                cost_reserved=func.greatest(0.0, writing_budget.c.cost_reserved - aside.dollars),
                cost=writing_budget.c.cost + paid.dollars,
                unpriced=writing_budget.c.unpriced + paid.unpriced,
            )
        )

    async def used(self, day: date) -> tuple[int, int, int]:
        """Tokens spent and reserved on a day, and the calls that were stopped."""
        rows = await self._connection.execute(
            select(
                writing_budget.c.spent, _RESERVED.label("reserved"), writing_budget.c.stopped
            ).where(
                writing_budget.c.namespace_id == self._namespace_id, writing_budget.c.day == day
            )
        )
        row = rows.first()
        return (0, 0, 0) if row is None else (row.spent, row.reserved, row.stopped)

    async def cost_of(self, day: date) -> tuple[float, float]:
        """US dollars spent and set aside on a day."""
        rows = await self._connection.execute(
            select(writing_budget.c.cost, _COST_RESERVED.label("reserved")).where(
                writing_budget.c.namespace_id == self._namespace_id, writing_budget.c.day == day
            )
        )
        row = rows.first()
        return (0.0, 0.0) if row is None else (row.cost, row.reserved)

    async def days_since(self, began: date) -> list[BudgetDay]:
        """What each day took since then, the newest first."""
        rows = await self._connection.execute(
            select(
                writing_budget.c.day,
                writing_budget.c.spent.label("tokens"),
                writing_budget.c.cost,
                writing_budget.c.unpriced,
                writing_budget.c.stopped,
            )
            .where(
                writing_budget.c.namespace_id == self._namespace_id, writing_budget.c.day >= began
            )
            .order_by(writing_budget.c.day.desc())
        )
        return [BudgetDay(**row) for row in rows.mappings()]

    async def use_since(self, began: datetime) -> list[TokenUse]:
        """Tokens of the calls that were sent since then, by UTC day, role and model."""
        day = func.date(func.timezone("UTC", writing.c.recorded_at))
        asked, answered = func.octet_length(writing.c.prompt), func.octet_length(writing.c.answer)
        words = func.sum(asked + answered)
        rows = await self._connection.execute(
            select(
                day.label("day"),
                writing.c.role,
                writing.c.model,
                func.count().label("calls"),
                func.sum(writing.c.tokens).label("tokens"),
                case((words > 0, cast(func.sum(answered), DOUBLE_PRECISION) / words)).label(
                    "written_share"
                ),
            )
            .where(
                writing.c.namespace_id == self._namespace_id,
                # Ids follow time, and the index is by id.
                writing.c.id >= first_id_of(began - CLOCKS_APART),
                writing.c.recorded_at >= began,
                writing.c.status != "stopped",
            )
            .group_by(day, writing.c.role, writing.c.model)
            .order_by(day, writing.c.role, writing.c.model)
        )
        return [TokenUse(**row) for row in rows.mappings()]

    async def add(self, new: LlmCall, now: datetime) -> None:
        """Keeps a call; blank where its sources were erased while the model answered. Their rows
        are held, so that an erasure comes before, and is seen, or after, and finds the call.
        """
        if await self._is_erased(new):
            new = replace(new, prompt="", answer="", detail=None, erased_at=now)
        await self._connection.execute(
            insert(writing).values(
                **{column.name: getattr(new, column.name) for column in _STORED},
                namespace_id=self._namespace_id,
            )
        )

    async def _is_erased(self, new: LlmCall) -> bool:
        erased = False
        for table, ids in ((memory, new.memory_ids), (task, (new.task_id,))):
            held = await self._connection.execute(
                select(table.c.erased_at)
                .where(table.c.id.in_([one for one in ids if one is not None]))
                .order_by(table.c.id)
                .with_for_update(read=True)
            )
            erased |= any(row.erased_at is not None for row in held)
        return erased

    async def attach(
        self, llm_call_id: UUID, *, memory_id: UUID | None = None, ticket_id: UUID | None = None
    ) -> None:
        """Names the candidate, or its ticket, that came of a call."""
        values = {"memory_id": memory_id, "ticket_id": ticket_id}
        await self._connection.execute(
            update(writing)
            .where(writing.c.namespace_id == self._namespace_id, writing.c.id == llm_call_id)
            .values({name: value for name, value in values.items() if value is not None})
        )

    async def browse(self, wanted: LlmCallFilter, page: Page) -> tuple[list[LlmCall], int]:
        """One row more than the page, and how many match."""
        condition = self._matching(wanted)
        rows = page_by_id(
            select(*_to_call.columns).where(condition),
            writing.c.id,
            page,
            newest_first=wanted.newest_first,
        )
        found = await self._connection.execute(rows)
        total = await self._connection.scalar(
            select(func.count()).select_from(writing).where(condition)
        )
        return [_to_call(row) for row in found.mappings()], total or 0

    def _matching(self, wanted: LlmCallFilter) -> ColumnElement[bool]:
        wishes = (
            (writing.c.id, wanted.id),
            (writing.c.role, wanted.role),
            (writing.c.status, wanted.status),
            (writing.c.retrieval_id, wanted.retrieval_id),
            (writing.c.memory_id, wanted.memory_id),
        )
        asked = [column == value for column, value in wishes if value is not None]
        return and_(writing.c.namespace_id == self._namespace_id, *asked)


class ServerBudgetStore:
    """The money of all namespaces together: one row a UTC day, whose lock lets no two processes
    take the same.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def reserve(self, dollars: float, limit: float, lease: timedelta) -> date | None:
        """Sets them aside of the day that it is by the database's clock, and says which; or counts
        a stop, and says None. What a process that died has set aside comes back when nothing has
        been set aside for the lease.
        """
        until = func.now() + lease
        if dollars <= limit:
            taken = await self._connection.execute(
                upsert(server_budget)
                .values(day=_TODAY, cost_reserved=dollars, reserved_until=until)
                .on_conflict_do_update(
                    index_elements=["day"],
                    set_={
                        "cost_reserved": _SERVER_RESERVED + dollars,
                        "reserved_until": func.greatest(server_budget.c.reserved_until, until),
                    },
                    where=server_budget.c.cost + _SERVER_RESERVED + dollars <= limit,
                )
                .returning(server_budget.c.day)
            )
            if (row := taken.first()) is not None:
                return row.day
        await self._connection.execute(
            upsert(server_budget)
            .values(day=_TODAY, stopped=1)
            .on_conflict_do_update(
                index_elements=["day"], set_={"stopped": server_budget.c.stopped + 1}
            )
        )
        return None

    async def settle(self, day: date, reserved: float, spent: float) -> None:
        """What was set aside becomes what was paid."""
        left = func.greatest(0.0, server_budget.c.cost_reserved - reserved)
        await self._connection.execute(
            update(server_budget)
            .where(server_budget.c.day == day)
            .values(cost_reserved=left, cost=server_budget.c.cost + spent)
        )

    async def today(self) -> ServerDay:
        """What was paid and is set aside today, and how many questions were not asked."""
        rows = await self._connection.execute(
            select(
                server_budget.c.cost,
                _SERVER_RESERVED.label("cost_reserved"),
                server_budget.c.stopped,
            ).where(server_budget.c.day == _TODAY)
        )
        found = rows.mappings().first()
        return ServerDay() if found is None else ServerDay(**found)
