"""ReceiptStore: what was served, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    exists,
    func,
    select,
    text,
    true,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.exposure import ExposedMemory
from memory.kernel.errors import NotFound
from memory.kernel.metrics import RewardKind
from memory.kernel.paging import Page
from memory.kernel.postgres.database import execute, look_inside, prepared
from memory.kernel.postgres.paging import page_by_id
from memory.kernel.postgres.rows import RowMapper
from memory.memories.entities import Kind
from memory.memories.tables import memory
from memory.receipts.entities import Gates, Item, Purpose, Receipt, Timings
from memory.receipts.guideline_entities import (
    Cut,
    CutReason,
    Guideline,
    Line,
    PastError,
    add_past_error,
)
from memory.receipts.key_entities import AgentTask, KeyedReceipt, ReceiptsOfKey
from memory.receipts.list_entities import ReceiptFilter
from memory.receipts.search_entities import Search
from memory.receipts.store.receipt_rows import write_receipts
from memory.receipts.tables import outcome, retrieval, retrieval_item
from memory.tasks.tables import agent, category, task

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
    """What an outcome needs of its receipt: ids instead of names, and which texts were served.

    `exposed`: what was cited, and the meta-guideline that would have been, had its coin not left it
    out; `stale` is the latter where it has another text by now, or none.
    """

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
    same_rankers: frozenset[str]
    passed_over: tuple[UUID, ...] | None
    all_rankers: bool
    expires_at: datetime
    key_id: UUID | None
    metric: str | None
    reward_kind: RewardKind | None
    cited: tuple[UUID, ...]
    exposed: Mapping[UUID, ExposedMemory]
    stale: frozenset[UUID]
    q99: float
    writers: Mapping[UUID, UUID | None]
    author_parties: Mapping[UUID, UUID]
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


class ReceiptStore:
    """Receipts of one namespace. Storing one does not touch the bank."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add(self, receipts: Sequence[Receipt]) -> None:
        """Write receipts with their items."""
        for statement in write_receipts(self._namespace_id, receipts):
            await execute(self._connection, statement)

    async def get(self, retrieval_id: UUID) -> Receipt:
        rows = await self._connection.execute(self._select(retrieval.c.id == retrieval_id))
        found = rows.mappings().first()
        if found is None:
            raise NotFound(
                f"no such retrieval: {retrieval_id}",
                code="retrieval_not_found",
                field="retrieval_id",
            )
        items = await self._items(retrieval_id)
        return replace(_to_receipt(found), items=items)

    async def some(self, retrieval_ids: Sequence[UUID]) -> list[Receipt]:
        """These receipts, by id, without items."""
        rows = await self._connection.execute(
            self._select(retrieval.c.id.in_(retrieval_ids)).order_by(retrieval.c.id)
        )
        return [_to_receipt(row) for row in rows.mappings()]

    async def browse(
        self, wanted: ReceiptFilter, page: Page, now: datetime
    ) -> tuple[list[Receipt], int]:
        """By id, one row more than the page, without items; and how many match."""
        condition = _matching(wanted, now)
        if wanted.words is not None:
            condition &= self._about(wanted.words)
        # Each receipt has one agent and one category: without their names an index finds the page
        # and counts. Joined at once, all receipts were put together to keep fifty.
        named = wanted.agent is not None or wanted.category is not None
        source = _RECEIPTS if named else retrieval
        here = (retrieval.c.namespace_id == self._namespace_id) & condition
        ids = page_by_id(
            select(retrieval.c.id).select_from(source).where(here).correlate(None),
            retrieval.c.id,
            page,
            newest_first=wanted.newest_first,
        )
        order = retrieval.c.id.desc() if wanted.newest_first else retrieval.c.id
        rows = self._select(retrieval.c.id.in_(ids)).order_by(order)
        found = [_to_receipt(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(select(func.count()).select_from(source).where(here))
        return found, total or 0

    async def of_key(
        self, wanted: ReceiptsOfKey, limit: int, *, living_at: datetime | None
    ) -> list[KeyedReceipt]:
        """At most `limit` receipts of a task or a trace, the newest first: those that have not
        expired at that time, or all. Not those that only ask about the bank.
        """
        condition = (retrieval.c.namespace_id == self._namespace_id) & (
            retrieval.c.purpose != Purpose.REPLAY
        )
        if wanted.task_key is not None:
            condition &= _of_task(wanted.task_key)
        else:
            condition &= retrieval.c.trace_id == wanted.trace_id
        if wanted.agent is not None:
            condition &= agent.c.name == wanted.agent
        if wanted.key_id is not None:
            condition &= retrieval.c.key_id == wanted.key_id
        if living_at is not None:
            condition &= retrieval.c.expires_at > living_at
        rows = await self._connection.execute(
            select(*_to_keyed.columns)
            .select_from(_RECEIPTS)
            .where(condition)
            .order_by(retrieval.c.id.desc())
            .limit(limit)
        )
        return [_to_keyed(row) for row in rows.mappings()]

    async def contexts(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, ReceiptContext]:
        """What outcomes of these retrievals need to know, by retrieval id."""
        ids = {"ns": self._namespace_id, "ids": list(retrieval_ids)}
        asked = [_CONTEXTS.of(**ids), _EXPOSED.of(**ids)]
        rows, exposed = await look_inside(self._connection, asked)
        served: dict[UUID, list[Mapping[str, Any]]] = {}
        for row in exposed:
            served.setdefault(row["retrieval_id"], []).append(row)
        return {row["id"]: _to_context(row, served.get(row["id"], ())) for row in rows}

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

    async def _items(self, retrieval_id: UUID) -> tuple[Item, ...]:
        rows = await self._connection.execute(
            select(*_to_item.columns)
            .join(memory, memory.c.id == retrieval_item.c.memory_id)
            .where(retrieval_item.c.retrieval_id == retrieval_id)
            .order_by(retrieval_item.c.left_out, retrieval_item.c.rank)
        )
        return tuple(_to_item(row) for row in rows.mappings())

    def _about(self, words: str) -> ColumnElement[bool]:
        """Of a task whose text has all these words, or parts of words; their signs are only signs.

        Nobody can say beforehand how many tasks have a word, and a plan for few looks each receipt
        up by itself. `IS TRUE` keeps it from becoming a join: the tasks are looked through once.
        """
        named = select(task.c.id).where(
            task.c.namespace_id == self._namespace_id,
            *(task.c.text.icontains(word, autoescape=True) for word in words.split()),
        )
        return retrieval.c.task_id.in_(named).is_(true())

    def _select(self, condition: ColumnElement[bool]) -> Select[tuple[object, ...]]:
        return (
            select(*_to_receipt.columns, *_COMPILED)
            .select_from(_RECEIPTS)
            .where(retrieval.c.namespace_id == self._namespace_id, condition)
        )


_CONTEXTS = prepared("""
    SELECT r.id, r.agent_id, r.agent_model, r.own_information, r.task_id, r.category_id, r.arm,
        r.propensity, r.purpose, r.ranker, r.rankers, r.same_rankers, r.passed_over, r.all_rankers,
        r.expires_at, r.key_id, c.metric, c.reward_kind,
        CAST(e.calibration ->> 'q99' AS double precision) AS q99
    FROM retrieval r
    JOIN category c ON c.namespace_id = r.namespace_id AND c.id = r.category_id
    JOIN embedding_model e ON e.id = r.model_id
    WHERE r.namespace_id = :ns AND r.id = ANY(CAST(:ids AS uuid[]))
""")


# What was cited, and the meta-guidelines that coins left out, by rank. Live-Evo credits what was
# retrieved, whatever the budget cut.
_EXPOSED = prepared("""
    SELECT i.retrieval_id, i.memory_id, i.similarity, i.inclusion, i.left_out, m.kind, m.key_id,
        k.party_id, m.visibility, m.erased_at, m.version = i.version AS current
    FROM retrieval_item i
    JOIN retrieval r ON r.namespace_id = i.namespace_id AND r.id = i.retrieval_id
    JOIN memory m ON m.namespace_id = i.namespace_id AND m.id = i.memory_id
    LEFT JOIN api_key k ON k.id = m.key_id
    WHERE i.namespace_id = :ns AND i.retrieval_id = ANY(CAST(:ids AS uuid[])) AND (
        i.served AND (i.cited OR r.policy = 'paper-strict' AND m.kind <> 'meta_guideline')
        OR i.left_out AND i.contender AND m.kind = 'meta_guideline')
    ORDER BY i.retrieval_id, i.rank
""")


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
        (retrieval.c.trace_id, wanted.trace_id),
    ):
        if value is not None:
            condition &= column == value
    if wanted.since is not None:
        condition &= retrieval.c.known_at >= wanted.since
    if wanted.before is not None:
        condition &= retrieval.c.known_at < wanted.before
    if wanted.min_reward is not None or wanted.max_reward is not None:
        condition &= _rewarded(wanted.min_reward, wanted.max_reward)
    return condition if wanted.task_key is None else condition & _of_task(wanted.task_key)


def _rewarded(lowest: float | None, highest: float | None) -> ColumnElement[bool]:
    here = outcome.c.namespace_id == retrieval.c.namespace_id
    here &= (outcome.c.retrieval_id == retrieval.c.id) & (outcome.c.status != "superseded")
    reward = outcome.c.reward
    return exists().where(
        here,
        reward >= (0.0 if lowest is None else lowest),
        reward <= (1.0 if highest is None else highest),
    )


def _of_task(key: str) -> ColumnElement[bool]:
    """Of the task that its caller calls so; keys are unique within a namespace."""
    named = select(task.c.id).where(
        task.c.namespace_id == retrieval.c.namespace_id, task.c.key == key
    )
    return retrieval.c.task_id.in_(named)


def _in_state(state: str, now: datetime) -> ColumnElement[bool]:
    here = outcome.c.retrieval_id == retrieval.c.id
    counts = outcome.c.status.in_(("accepted", "applied")) | (outcome.c.reason == "half_of_pair")
    answered = exists().where(here, counts)
    reported = exists().where(here, outcome.c.status != "superseded")
    states: dict[str, ColumnElement[bool]] = {
        "pending": (retrieval.c.expires_at > now) & ~reported,
        "expired": (retrieval.c.expires_at <= now) & ~reported,
        "answered": answered,
        "noted": reported & ~answered,
    }
    return states.get(state, true())


def expiry(known_at: datetime, expires_in: timedelta | None, default: timedelta) -> datetime:
    """Until when an outcome of this receipt moves anything."""
    return known_at + (expires_in if expires_in is not None else default)


def _to_context(row: Mapping[str, Any], exposed: Sequence[Mapping[str, Any]]) -> ReceiptContext:
    served = [item for item in exposed if not item["left_out"]]
    left_out = [item for item in exposed if item["left_out"]]
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
        same_rankers=frozenset(row["same_rankers"] or ()),
        passed_over=None if row["passed_over"] is None else tuple(row["passed_over"]),
        all_rankers=row["all_rankers"],
        expires_at=row["expires_at"],
        key_id=row["key_id"],
        metric=row["metric"],
        reward_kind=row["reward_kind"],
        cited=tuple(item["memory_id"] for item in served),
        exposed={item["memory_id"]: _to_exposed(item) for item in exposed},
        stale=frozenset(
            i["memory_id"] for i in left_out if i["erased_at"] is not None or not i["current"]
        ),
        q99=row["q99"],
        writers={item["memory_id"]: item["key_id"] for item in served},
        author_parties={
            item["memory_id"]: item["party_id"] for item in served if item["party_id"] is not None
        },
        shared=frozenset(i["memory_id"] for i in served if i["visibility"] == "namespace"),
        erased=frozenset(i["memory_id"] for i in served if i["erased_at"] is not None),
        current=all(item["current"] for item in served),
    )


def _to_exposed(item: Mapping[str, Any]) -> ExposedMemory:
    return ExposedMemory(
        similarity=item["similarity"],
        directs=item["kind"] == Kind.META_GUIDELINE,
        inclusion=item["inclusion"],
        left_out=item["left_out"],
    )


def _to_guideline(row: RowMapping) -> Guideline:
    guideline = Guideline(
        text=row["text"],
        lines=tuple(
            Line(line["text"], tuple(UUID(one) for one in line["memory_ids"]), line.get("other"))
            for line in row["lines"]
        ),
        tokens=row["tokens"],
        counter=row["counter"],
        cut=tuple(Cut(UUID(cut["memory_id"]), CutReason(cut["reason"])) for cut in row["cut"]),
    )
    return add_past_error(guideline, PastError.read(row["past_error"]))


_COMPILED = tuple(
    retrieval.c[name]
    for name in (
        *("text", "lines", "tokens", "counter", "cut", "timings", "raw_gate", "score_floor"),
        *("search", "past_error"),
    )
)
"""What a receipt's guideline, gates, timings and search are made of."""


_to_keyed = RowMapper(KeyedReceipt, [*_NAMES, retrieval])


_to_owner = RowMapper(ReceiptOwner, [retrieval])


_to_item = RowMapper(Item, [retrieval_item, memory.c.kind], computed={"sentence": lambda _: None})


_to_receipt = RowMapper(
    Receipt,
    [*_NAMES, retrieval],
    computed={
        "guideline": _to_guideline,
        "items": lambda _: (),
        "formats": lambda _: None,
        "search": lambda row: Search.read(row["search"]),
        "past_error": lambda row: PastError.read(row["past_error"]),
        "gates": lambda row: Gates(row["raw_gate"], row["score_floor"]),
        "timings": lambda row: Timings(**row["timings"]),
    },
)
