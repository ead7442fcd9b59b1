"""ReceiptStore: what was served, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, Select, func, insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.memories.entities import Kind
from memory.memories.tables import memory
from memory.receipts.entities import CutMemory, Format, GuidelineLine, Item, Receipt, ReceiptFilter
from memory.receipts.store.filtering import matching_receipts, turned
from memory.receipts.tables import retrieval, retrieval_item
from memory.tasks.entities import Agent, CategoryIds, CategoryName
from memory.tasks.tables import agent, category

_sub = category.alias("sub")


_RECEIPTS = (
    retrieval.join(agent, agent.c.id == retrieval.c.agent_id)
    .join(category, category.c.id == retrieval.c.category_id)
    .outerjoin(_sub, _sub.c.id == retrieval.c.subcategory_id)
)


_NAMES = (
    agent.c.name.label("agent"),
    category.c.name.label("category"),
    _sub.c.name.label("subcategory"),
)


Attempt = tuple[UUID, UUID]
"""An agent at a task, by id."""


_ITEM_COLUMNS = tuple(name for name in Item.__slots__ if name != "kind")


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """A receipt with the ids that its names stand for."""

    receipt: Receipt
    agent: Agent
    category_ids: CategoryIds
    model_id: UUID


@dataclass(frozen=True, slots=True)
class Binding:
    """What an outcome needs of its receipt: ids instead of names, and which texts were served."""

    retrieval_id: UUID
    agent_id: UUID
    agent_model: str | None
    own_information: bool
    task_id: UUID
    category_id: UUID
    arm: str
    propensity: float
    purpose: str
    ranker: str
    rankers: Mapping[str, float]
    all_rankers: bool
    expires_at: datetime
    key_id: UUID | None
    metric: str | None
    reward_kind: str | None
    cited: tuple[UUID, ...]
    authors: Mapping[UUID, UUID]
    shared: frozenset[UUID]
    erased: frozenset[UUID]
    current: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """Whose a receipt is: enough to name it in a prediction."""

    agent_id: UUID
    task_id: UUID
    key_id: UUID | None
    all_rankers: bool
    rankers: Mapping[str, float]


class ReceiptStore:
    """Receipts of one namespace. Storing one does not touch the bank."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def open(self, receipts: Sequence[NewReceipt]) -> None:
        """Write receipts with their items."""
        await self._connection.execute(insert(retrieval), [self._row(new) for new in receipts])
        items = [
            {
                "retrieval_id": new.receipt.id,
                "namespace_id": self._namespace_id,
                **{name: getattr(item, name) for name in _ITEM_COLUMNS},
            }
            for new in receipts
            for item in new.receipt.items
        ]
        if items:
            await self._connection.execute(insert(retrieval_item), items)

    def _row(self, new: NewReceipt) -> dict[str, object]:
        receipt = new.receipt
        named = {"agent", "category", "items", "lines", "cut", "rankers", "timings"}
        plain = {name: getattr(receipt, name) for name in Receipt.__slots__ if name not in named}
        return {
            **plain,
            "namespace_id": self._namespace_id,
            "agent_id": new.agent.id,
            "agent_model": new.agent.model,
            "own_information": new.agent.own_information,
            "category_id": new.category_ids.category,
            "subcategory_id": new.category_ids.subcategory,
            "model_id": new.model_id,
            "rankers": dict(receipt.rankers),
            "timings": dict(receipt.timings),
            "lines": [
                {"text": line.text, "memory_ids": [str(i) for i in line.memory_ids]}
                for line in receipt.lines
            ],
            "cut": [{"memory_id": str(c.memory_id), "reason": c.reason} for c in receipt.cut],
        }

    async def get(self, retrieval_id: UUID) -> Receipt:
        rows = await self._connection.execute(self._select(retrieval.c.id == retrieval_id))
        found = rows.mappings().first()
        if found is None:
            raise NotFound("no such retrieval", code="retrieval_not_found", field="retrieval_id")
        items = await self._items([retrieval_id])
        return _receipt(found, items.get(retrieval_id, ()))

    async def browse(
        self, wanted: ReceiptFilter, page: Page, now: datetime
    ) -> tuple[list[Receipt], int]:
        """By id, one row more than the page, without items; and how many match."""
        condition = matching_receipts(wanted, now)
        rows = turned(self._select(condition), retrieval.c.id, page, wanted.newest_first)
        found = [_receipt(row, ()) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count())
            .select_from(_RECEIPTS)
            .where(retrieval.c.namespace_id == self._namespace_id, condition)
        )
        return found, total or 0

    async def bindings(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, Binding]:
        """What outcomes of these retrievals need to know, by retrieval id."""
        rows = await self._connection.execute(
            select(retrieval, category.c.metric, category.c.reward_kind)
            .join(category, category.c.id == retrieval.c.category_id)
            .where(
                retrieval.c.namespace_id == self._namespace_id, retrieval.c.id.in_(retrieval_ids)
            )
        )
        served = await self._served(retrieval_ids)
        return {row["id"]: _binding(row, served.get(row["id"], ())) for row in rows.mappings()}

    async def claims(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, Claim]:
        """Whose these receipts are, by retrieval id."""
        if not retrieval_ids:
            return {}
        columns = [retrieval.c[name] for name in ("id", *Claim.__slots__)]
        rows = await self._connection.execute(
            select(*columns).where(
                retrieval.c.namespace_id == self._namespace_id, retrieval.c.id.in_(retrieval_ids)
            )
        )
        return {
            r.id: Claim(r.agent_id, r.task_id, r.key_id, r.all_rankers, r.rankers) for r in rows
        }

    async def of_attempts(self, attempts: Sequence[Attempt]) -> dict[Attempt, list[UUID]]:
        """The receipts of each agent for each task, oldest first."""
        rows = await self._connection.execute(
            _OF_ATTEMPTS,
            {
                "ns": self._namespace_id,
                "agents": [agent_id for agent_id, _ in attempts],
                "tasks": [task_id for _, task_id in attempts],
            },
        )
        found: dict[Attempt, list[UUID]] = {}
        for row in rows:
            found.setdefault((row.agent_id, row.task_id), []).append(row.id)
        return found

    async def _served(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, list[RowMapping]]:
        rows = await self._connection.execute(
            select(
                retrieval_item.c.retrieval_id,
                retrieval_item.c.memory_id,
                memory.c.agent_id,
                memory.c.visibility,
                memory.c.erased_at,
                (memory.c.version == retrieval_item.c.version).label("current"),
            )
            .join(memory, memory.c.id == retrieval_item.c.memory_id)
            .where(
                retrieval_item.c.retrieval_id.in_(retrieval_ids),
                retrieval_item.c.served,
                retrieval_item.c.cited,
            )
            .order_by(retrieval_item.c.retrieval_id, retrieval_item.c.rank)
        )
        served: dict[UUID, list[RowMapping]] = {}
        for row in rows.mappings():
            served.setdefault(row["retrieval_id"], []).append(row)
        return served

    async def _items(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, tuple[Item, ...]]:
        rows = await self._connection.execute(
            select(retrieval_item, memory.c.kind)
            .join(memory, memory.c.id == retrieval_item.c.memory_id)
            .where(retrieval_item.c.retrieval_id.in_(retrieval_ids))
            .order_by(retrieval_item.c.retrieval_id, retrieval_item.c.rank)
        )
        items: dict[UUID, tuple[Item, ...]] = {}
        for row in rows.mappings():
            numbers = {name: row[name] for name in _ITEM_COLUMNS}
            item = Item(kind=Kind(row["kind"]), **numbers)
            items[row["retrieval_id"]] = (*items.get(row["retrieval_id"], ()), item)
        return items

    def _select(self, condition: ColumnElement[bool]) -> Select[tuple[object, ...]]:
        return (
            select(retrieval, *_NAMES)
            .select_from(_RECEIPTS)
            .where(retrieval.c.namespace_id == self._namespace_id, condition)
        )


_OF_ATTEMPTS = text("""
    SELECT r.id, r.agent_id, r.task_id FROM retrieval r
    JOIN unnest(CAST(:agents AS uuid[]), CAST(:tasks AS uuid[])) AS attempt (agent_id, task_id)
      ON attempt.agent_id = r.agent_id AND attempt.task_id = r.task_id
    WHERE r.namespace_id = :ns ORDER BY r.id
""")


def expiry(known_at: datetime, expires_in: timedelta | None, default: timedelta) -> datetime:
    """Until when an outcome of this receipt moves anything."""
    return known_at + (expires_in if expires_in is not None else default)


def _binding(row: RowMapping, served: Sequence[RowMapping]) -> Binding:
    made = {"retrieval_id", "cited", "authors", "shared", "erased", "current"}
    plain = {name: row[name] for name in Binding.__slots__ if name not in made}
    return Binding(
        retrieval_id=row["id"],
        cited=tuple(item["memory_id"] for item in served),
        authors={item["memory_id"]: item["agent_id"] for item in served},
        shared=frozenset(i["memory_id"] for i in served if i["visibility"] == "namespace"),
        erased=frozenset(i["memory_id"] for i in served if i["erased_at"] is not None),
        current=all(item["current"] for item in served),
        **plain,
    )


def _receipt(row: RowMapping, items: tuple[Item, ...]) -> Receipt:
    made = {"category", "format", "lines", "cut", "items"}
    plain = {name: row[name] for name in Receipt.__slots__ if name not in made}
    return Receipt(
        category=CategoryName(row["category"], row["subcategory"]),
        format=Format(row["format"]),
        lines=tuple(
            GuidelineLine(line["text"], tuple(UUID(i) for i in line["memory_ids"]))
            for line in row["lines"]
        ),
        cut=tuple(CutMemory(UUID(cut["memory_id"]), cut["reason"]) for cut in row["cut"]),
        items=items,
        **plain,
    )
