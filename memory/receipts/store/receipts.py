"""ReceiptStore: what was served, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from sqlalchemy import (
    Column,
    ColumnElement,
    RowMapping,
    Select,
    exists,
    func,
    insert,
    select,
    text,
    true,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.memories.tables import memory
from memory.receipts.entities import (
    AgentTask,
    Cut,
    CutReason,
    Gates,
    Guideline,
    Item,
    Line,
    Receipt,
    ReceiptFilter,
    Timings,
)
from memory.receipts.tables import outcome, retrieval, retrieval_item
from memory.tasks.tables import agent, category

_sub = category.alias("sub")


_RECEIPTS = (
    retrieval.join(agent, agent.c.id == retrieval.c.agent_id)
    .join(category, category.c.id == retrieval.c.category_id)
    .outerjoin(_sub, _sub.c.id == retrieval.c.subcategory_id)
)


_NAMES = (
    retrieval.c.id.label("retrieval_id"),
    agent.c.name.label("agent"),
    category.c.name.label("category"),
    _sub.c.name.label("subcategory"),
)


@dataclass(frozen=True, slots=True)
class ReceiptContext:
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
class ReceiptOwner:
    """Whose a receipt is: enough to name it in a prediction."""

    agent_id: UUID
    task_id: UUID
    key_id: UUID | None
    all_rankers: bool
    rankers: Mapping[str, float]


Rows = TypeVar("Rows", bound=Select[tuple[object, ...]])


class ReceiptStore:
    """Receipts of one namespace. Storing one does not touch the bank."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add(self, receipts: Sequence[Receipt]) -> None:
        """Write receipts with their items."""
        await self._connection.execute(insert(retrieval), [self._row(one) for one in receipts])
        items = [self._item_row(receipt, item) for receipt in receipts for item in receipt.items]
        if items:
            await self._connection.execute(insert(retrieval_item), items)

    def _row(self, receipt: Receipt) -> dict[str, object]:
        guideline = receipt.guideline
        return {
            "id": receipt.retrieval_id,
            "namespace_id": self._namespace_id,
            "agent_id": receipt.agent_id,
            "agent_model": receipt.agent_model,
            "own_information": receipt.own_information,
            "task_id": receipt.task_id,
            "category_id": receipt.category_id,
            "subcategory_id": receipt.subcategory_id,
            "confidence": receipt.confidence,
            "purpose": receipt.purpose,
            "arm": receipt.arm,
            "propensity": receipt.propensity,
            "eligible": receipt.eligible,
            "reason": receipt.reason,
            "format": receipt.format,
            "k": receipt.k,
            "max_tokens": receipt.max_tokens,
            "bank_version": receipt.bank_version,
            "as_of": receipt.as_of,
            "model_id": receipt.model_id,
            "raw_gate": receipt.gates.raw,
            "score_floor": receipt.gates.score,
            "ranker": receipt.ranker,
            "rankers": dict(receipt.rankers),
            "all_rankers": receipt.all_rankers,
            "strength": receipt.strength,
            "policy": receipt.policy,
            "compiler": receipt.compiler,
            "counter": guideline.counter,
            "lines": [
                {"text": line.text, "memory_ids": [str(i) for i in line.memory_ids]}
                for line in guideline.lines
            ],
            "text": guideline.text,
            "tokens": guideline.tokens,
            "cut": [{"memory_id": str(c.memory_id), "reason": c.reason} for c in guideline.cut],
            "timings": receipt.timings.by_step(),
            "known_at": receipt.known_at,
            "recorded_at": receipt.recorded_at,
            "expires_at": receipt.expires_at,
            "key_id": receipt.key_id,
        }

    def _item_row(self, receipt: Receipt, item: Item) -> dict[str, object]:
        return {
            "retrieval_id": receipt.retrieval_id,
            "memory_id": item.memory_id,
            "namespace_id": self._namespace_id,
            "version": item.version,
            "similarity": item.similarity,
            "relevance": item.relevance,
            "effective_weight": item.effective_weight,
            "ranking_weight": item.ranking_weight,
            "score": item.score,
            "scores": item.scores,
            "rank": item.rank,
            "propensity": item.propensity,
            "served": item.served,
            "cited": item.cited,
            "exploration_slot": item.exploration_slot,
        }

    async def get(self, retrieval_id: UUID) -> Receipt:
        rows = await self._connection.execute(self._select(retrieval.c.id == retrieval_id))
        found = rows.mappings().first()
        if found is None:
            raise NotFound("no such retrieval", code="retrieval_not_found", field="retrieval_id")
        items = await self._items(retrieval_id)
        return replace(_to_receipt(found), items=items)

    async def browse(
        self, wanted: ReceiptFilter, page: Page, now: datetime
    ) -> tuple[list[Receipt], int]:
        """By id, one row more than the page, without items; and how many match."""
        condition = _matching(wanted, now)
        rows = page_by_id(
            self._select(condition), retrieval.c.id, page, newest_first=wanted.newest_first
        )
        found = [_to_receipt(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count())
            .select_from(_RECEIPTS)
            .where(retrieval.c.namespace_id == self._namespace_id, condition)
        )
        return found, total or 0

    async def contexts(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, ReceiptContext]:
        """What outcomes of these retrievals need to know, by retrieval id."""
        rows = await self._connection.execute(
            select(retrieval, category.c.metric, category.c.reward_kind)
            .join(category, category.c.id == retrieval.c.category_id)
            .where(
                retrieval.c.namespace_id == self._namespace_id, retrieval.c.id.in_(retrieval_ids)
            )
        )
        served = await self._served(retrieval_ids)
        return {row["id"]: _to_context(row, served.get(row["id"], ())) for row in rows.mappings()}

    async def owners(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, ReceiptOwner]:
        """Whose these receipts are, by retrieval id."""
        if not retrieval_ids:
            return {}
        rows = await self._connection.execute(
            select(retrieval.c.id, *_to_owner.columns).where(
                retrieval.c.namespace_id == self._namespace_id, retrieval.c.id.in_(retrieval_ids)
            )
        )
        return {row["id"]: _to_owner(row) for row in rows.mappings()}

    async def of_attempts(self, attempts: Sequence[AgentTask]) -> dict[AgentTask, list[UUID]]:
        """The receipts of each agent for each task, oldest first."""
        rows = await self._connection.execute(
            _OF_ATTEMPTS,
            {
                "ns": self._namespace_id,
                "agents": [one.agent_id for one in attempts],
                "tasks": [one.task_id for one in attempts],
            },
        )
        found: dict[AgentTask, list[UUID]] = {}
        for row in rows:
            found.setdefault(AgentTask(row.agent_id, row.task_id), []).append(row.id)
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

    async def _items(self, retrieval_id: UUID) -> tuple[Item, ...]:
        rows = await self._connection.execute(
            select(*_to_item.columns)
            .join(memory, memory.c.id == retrieval_item.c.memory_id)
            .where(retrieval_item.c.retrieval_id == retrieval_id)
            .order_by(retrieval_item.c.rank)
        )
        return tuple(_to_item(row) for row in rows.mappings())

    def _select(self, condition: ColumnElement[bool]) -> Select[tuple[object, ...]]:
        return (
            select(*_to_receipt.columns, *_COMPILED)
            .select_from(_RECEIPTS)
            .where(retrieval.c.namespace_id == self._namespace_id, condition)
        )


_OF_ATTEMPTS = text("""
    SELECT r.id, r.agent_id, r.task_id FROM retrieval r
    JOIN unnest(CAST(:agents AS uuid[]), CAST(:tasks AS uuid[])) AS attempt (agent_id, task_id)
      ON attempt.agent_id = r.agent_id AND attempt.task_id = r.task_id
    WHERE r.namespace_id = :ns ORDER BY r.id
""")


def _matching(wanted: ReceiptFilter, now: datetime) -> ColumnElement[bool]:
    """Over receipts joined with their agents and categories."""
    condition: ColumnElement[bool] = true() & _in_state(wanted.state, now)
    for column, value in (
        (agent.c.name, wanted.agent),
        (category.c.name, wanted.category),
        (retrieval.c.arm, wanted.arm),
    ):
        if value is not None:
            condition &= column == value
    return condition


def _in_state(state: str, now: datetime) -> ColumnElement[bool]:
    answered = exists().where(
        outcome.c.retrieval_id == retrieval.c.id,
        outcome.c.status.in_(("accepted", "applied")),
    )
    states: dict[str, ColumnElement[bool]] = {
        "pending": (retrieval.c.expires_at > now) & ~answered,
        "expired": (retrieval.c.expires_at <= now) & ~answered,
        "answered": answered,
    }
    return states.get(state, true())


def page_by_id(rows: Rows, key: Column[UUID], page: Page, *, newest_first: bool = False) -> Rows:
    """The rows of a page and one more, by ids that grow with time."""
    if page.after is not None:
        last = UUID(str(page.after[0]))
        rows = rows.where(key < last if newest_first else key > last)
    return rows.order_by(key.desc() if newest_first else key).limit(page.limit + 1)


def expiry(known_at: datetime, expires_in: timedelta | None, default: timedelta) -> datetime:
    """Until when an outcome of this receipt moves anything."""
    return known_at + (expires_in if expires_in is not None else default)


def _to_context(row: RowMapping, served: Sequence[RowMapping]) -> ReceiptContext:
    return ReceiptContext(
        retrieval_id=row["id"],
        agent_id=row["agent_id"],
        agent_model=row["agent_model"],
        own_information=row["own_information"],
        task_id=row["task_id"],
        category_id=row["category_id"],
        arm=row["arm"],
        propensity=row["propensity"],
        purpose=row["purpose"],
        ranker=row["ranker"],
        rankers=row["rankers"],
        all_rankers=row["all_rankers"],
        expires_at=row["expires_at"],
        key_id=row["key_id"],
        metric=row["metric"],
        reward_kind=row["reward_kind"],
        cited=tuple(item["memory_id"] for item in served),
        authors={item["memory_id"]: item["agent_id"] for item in served},
        shared=frozenset(i["memory_id"] for i in served if i["visibility"] == "namespace"),
        erased=frozenset(i["memory_id"] for i in served if i["erased_at"] is not None),
        current=all(item["current"] for item in served),
    )


def _to_guideline(row: RowMapping) -> Guideline:
    return Guideline(
        text=row["text"],
        lines=tuple(
            Line(line["text"], tuple(UUID(one) for one in line["memory_ids"]))
            for line in row["lines"]
        ),
        tokens=row["tokens"],
        counter=row["counter"],
        cut=tuple(Cut(UUID(cut["memory_id"]), CutReason(cut["reason"])) for cut in row["cut"]),
    )


_COMPILED = tuple(
    retrieval.c[name]
    for name in (
        *("text", "lines", "tokens", "counter", "cut", "timings", "raw_gate", "score_floor"),
    )
)
"""What a receipt's guideline, gates and timings are made of."""


_to_owner = RowMapper(ReceiptOwner, [retrieval])


_to_item = RowMapper(Item, [retrieval_item, memory.c.kind], computed={"sentence": lambda _: None})


_to_receipt = RowMapper(
    Receipt,
    [*_NAMES, retrieval],
    computed={
        "guideline": _to_guideline,
        "items": lambda _: (),
        "gates": lambda row: Gates(row["raw_gate"], row["score_floor"]),
        "timings": lambda row: Timings(**row["timings"]),
    },
)
