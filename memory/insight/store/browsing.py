"""BrowsingStore: memories of all kinds in any order, on narrow rows, seen through one namespace.

Which rows match is decided without reading texts, other than for a search in them; the rows of
one page are read whole afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Uuid,
    bindparam,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY, INTEGER
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.states import State
from memory.belief.tables import memory_weight
from memory.kernel.paging import Page
from memory.memories.browse_entities import Browse, MemoryCriteria, Sort
from memory.memories.entities import Viewer
from memory.memories.store.queries import may_see
from memory.memories.store.snapshots import Snapshot
from memory.memories.tables import memory, memory_version
from memory.receipts.tables import receipt_tally, retrieval_item
from memory.tasks.tables import agent, category

RowKey = datetime | int | float


class SortedId(NamedTuple):
    """What a row is sorted by, and its id, which decides between equals."""

    key: Any
    id: UUID


@dataclass(frozen=True, slots=True)
class SortableMemory:
    """A matching memory: what it is sorted by beside its weight, and its state."""

    id: UUID
    key: RowKey
    state: State


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the lines come from: the bank as it is, or as it stood, when `status` was looked at
    already.
    """

    source: FromClause
    version: ColumnElement[int]
    status: ColumnElement[str] | None = None


class BrowsingStore:
    """What was erased is gone, what is private stays with its agent."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID, viewer: Viewer) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._owners, self._seen = viewer.owners, may_see(viewer)

    async def part(self, browse: Browse, page: Page) -> tuple[list[SortedId], int]:
        """Ids in order with what they are sorted by, one more than the page; and how many match.

        Not for what weights decide: those are not a column.
        """
        rows = _now()
        key = self._key(browse.sort)
        condition = self._matching(browse.criteria, rows)
        chosen = select(memory.c.id, key.label("key")).select_from(rows.source).where(condition)
        place = tuple_(key, memory.c.id)
        if page.after is not None:
            last = tuple_(literal(key_of(browse.sort, page.after[0])), UUID(str(page.after[1])))
            chosen = chosen.where(place < last if browse.descending else place > last)
        order = (key.desc(), memory.c.id.desc()) if browse.descending else (key, memory.c.id)
        found = await self._connection.execute(chosen.order_by(*order).limit(page.limit + 1))
        total = await self._connection.scalar(
            select(func.count()).select_from(rows.source).where(condition)
        )
        return [SortedId(row.key, row.id) for row in found], total or 0

    async def lines(
        self, browse: Browse, snapshots: Mapping[UUID, Snapshot] | None
    ) -> list[SortableMemory]:
        """Every match, in no order; with `snapshots`, of the bank as it stood."""
        rows = _now() if snapshots is None else _past(snapshots, browse.criteria)
        states = (memory_weight.c.state, memory_weight.c.touched_at)
        found = await self._connection.execute(
            select(memory.c.id, self._key(browse.sort).label("key"), *states)
            .select_from(rows.source)
            .where(self._matching(browse.criteria, rows))
        )
        return [
            SortableMemory(row.id, row.key, State(tuple(row.state), row.touched_at))
            for row in found
        ]

    async def nearest(self, memory_id: UUID, model_id: UUID, limit: int) -> dict[UUID, float]:
        """The memories whose situations are nearest to this one's, every one compared: cosines by
        id, the nearest first.
        """
        rows = await self._connection.execute(
            _NEAREST,
            {
                "ns": self._namespace_id,
                "owners": self._owners,
                "id": memory_id,
                "model": model_id,
                "limit": limit,
            },
        )
        return {row.id: row.cosine for row in rows}

    def _key(self, sort: Sort) -> ColumnElement[Any]:
        match sort:
            case Sort.SERVED:
                item = retrieval_item.c
                served = select(func.count()).where(
                    item.namespace_id == self._namespace_id,
                    item.memory_id == memory.c.id,
                    item.served,
                )
                tally = receipt_tally.c
                removed = select(tally.n).where(
                    tally.namespace_id == self._namespace_id,
                    tally.kind == "memory",
                    tally.subject_id == memory.c.id,
                )
                return served.scalar_subquery() + func.coalesce(removed.scalar_subquery(), 0)
            case Sort.CREDITED:
                return memory_weight.c.n_credited
            case Sort.RECORDED | Sort.WEIGHT:
                return memory.c.recorded_at

    def _matching(self, criteria: MemoryCriteria, rows: _Rows) -> ColumnElement[bool]:
        here = memory.c.namespace_id == self._namespace_id
        condition = here & memory.c.erased_at.is_(None) & self._seen
        if criteria.kind is not None:
            condition &= memory.c.kind == criteria.kind
        if criteria.trust is not None:
            condition &= memory.c.trust == criteria.trust
        if criteria.status is not None and rows.status is not None:
            condition &= rows.status == criteria.status
        if criteria.agent is not None:
            condition &= memory.c.agent_id.in_(self._named(agent, criteria.agent))
        if criteria.category is not None:
            condition &= memory.c.category_id.in_(self._named(category, criteria.category))
        if criteria.text is not None:
            condition &= _contains(criteria.text, rows.version)
        return condition

    def _named(self, table: FromClause, name: str) -> Select[tuple[UUID]]:
        here = table.c.namespace_id == self._namespace_id
        return select(table.c.id).where(here, table.c.name == name)


def key_of(sort: Sort, written: object) -> RowKey:
    """What a cursor says of the last row, read back."""
    match sort:
        case Sort.RECORDED:
            return datetime.fromisoformat(str(written))
        case Sort.SERVED | Sort.CREDITED:
            return int(str(written))
        case Sort.WEIGHT:
            return float(str(written))


def _now() -> _Rows:
    source = memory.join(memory_weight, memory_weight.c.memory_id == memory.c.id)
    return _Rows(source, memory.c.version, memory.c.status)


def _past(snapshots: Mapping[UUID, Snapshot], criteria: MemoryCriteria) -> _Rows:
    kept = {i: t for i, t in snapshots.items() if criteria.status in (None, t.status)}
    ids = cast(bindparam("ids", list(kept)), ARRAY(Uuid))
    versions = cast(bindparam("versions", [t.version for t in kept.values()]), ARRAY(INTEGER))
    stood = func.unnest(ids, versions).table_valued("id", "version", name="stood")
    stood = stood.render_derived()
    source = _now().source.join(stood, stood.c.id == memory.c.id)
    return _Rows(source, stood.c.version)


def _contains(text: str, version: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether the text stands in situation or lesson, in any case; its signs are only signs."""
    words = memory_version.c
    return exists().where(
        words.memory_id == memory.c.id,
        words.version == version,
        or_(
            words.situation.icontains(text, autoescape=True),
            words.lesson.icontains(text, autoescape=True),
        ),
    )


# The distance is taken in a materialised step that has no order, so that no index of vectors, which
# would find only some of the rows, can ever serve it.
_NEAREST = text("""
    WITH own AS (
        SELECT e.vector FROM embedding e JOIN memory m
          ON m.id = e.memory_id AND m.version = e.version
        WHERE e.namespace_id = :ns AND e.memory_id = :id AND e.model_id = :model
          AND e.field = 'situation'
    ), near AS MATERIALIZED (
        SELECT m.id, 1 - (e.vector <=> own.vector) AS cosine
        FROM own, memory m JOIN embedding e ON e.memory_id = m.id AND e.version = m.version
        WHERE m.namespace_id = :ns AND m.erased_at IS NULL AND m.owner = ANY(:owners)
          AND m.id <> :id AND e.model_id = :model AND e.field = 'situation'
    )
    SELECT id, cosine FROM near ORDER BY cosine DESC, id LIMIT :limit
""")
