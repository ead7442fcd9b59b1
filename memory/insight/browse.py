"""The bank is looked through: what matches → its order → one page, read whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.states import State
from memory.belief.store.states import StateStore
from memory.inference.service import require_model
from memory.insight.history import load_bank, load_snapshots
from memory.insight.service import present
from memory.insight.store.browsing import BrowsingStore, RowKey, SortedId, key_of
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.memories.browse_entities import (
    NEIGHBOURS,
    Browse,
    ListedMemory,
    MemoryCriteria,
    Neighbour,
    Sort,
)
from memory.memories.entities import Memory, Status
from memory.memories.service import hide_refuted, viewer
from memory.memories.store.queries import MemoryReader
from memory.memories.store.snapshots import Snapshot
from memory.tenancy.entities import Call


@dataclass(frozen=True, slots=True)
class _Past:
    """The bank as it stood: which memories, and their states."""

    snapshots: Mapping[UUID, Snapshot]
    states: Mapping[UUID, State]


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked, and the time to which weights are aged: that of the first page on all pages,
    so that nothing moves between them by waiting.
    """

    browse: Browse
    page: Page
    at: datetime
    past: _Past | None = None


async def browse_memories(
    engine: Engine, call: Call, browse: Browse, page: Page
) -> Listed[ListedMemory]:
    """One page of what matches; each match is on exactly one page, whatever is erased meanwhile."""
    browse.moment.require_reached(call.namespace, call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        request = await _fix_moment(connection, call, browse, page)
        rows, total = await _find_rows(connection, call, request)
        kept = rows[: page.limit]
        items = await _load_items(connection, call, request, [row.id for row in kept])
    after = _cursor(request, kept[-1]) if len(rows) > page.limit else None
    return Listed(items, total, after)


async def list_neighbours(engine: Engine, call: Call, memory_id: UUID) -> list[Neighbour]:
    """The memories of all kinds whose situations are most similar, whatever their status."""
    model_id = require_model(engine, call.namespace)
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        await MemoryReader(connection, call.namespace.id, seen_by).get(memory_id)
        store = BrowsingStore(connection, call.namespace.id, seen_by)
        cosines = await store.nearest(memory_id, model_id, NEIGHBOURS)
        request = _Request(Browse(), Page(NEIGHBOURS), present(call))
        items = await _load_items(connection, call, request, list(cosines))
    return [_neighbour(one, cosines[one.id]) for one in items]


async def some_memories(engine: Engine, call: Call, ids: Sequence[UUID]) -> list[Memory]:
    """Those of these memories that the caller may see, in their order, weights aged to now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        request = _Request(Browse(), Page(1), present(call))
        return list(await _load_items(connection, call, request, ids))


async def weigh_active(engine: Engine, call: Call) -> list[float]:
    """Effective weights of the active memories that the caller may see, as a list of them has
    them: in no order.
    """
    browse = Browse(MemoryCriteria(status=Status.ACTIVE))
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        lines = await BrowsingStore(connection, call.namespace.id, seen_by).lines(browse, None)
    weight = _weigher(call, _Request(browse, Page(1), present(call)))
    return [weight(line.id, line.state) for line in lines]


async def _fix_moment(connection: Connection, call: Call, browse: Browse, page: Page) -> _Request:
    if browse.moment.is_now:
        at = present(call) if page.after is None else datetime.fromisoformat(str(page.after[2]))
        return _Request(browse, page, at)
    bank = await load_bank(connection, call, browse.moment)
    snapshots = await load_snapshots(connection, call, browse.moment)
    known = {i: then for i, then in snapshots.items() if i in bank.states.memories}
    return _Request(browse, page, bank.at, _Past(known, bank.states.memories))


async def _find_rows(
    connection: Connection, call: Call, request: _Request
) -> tuple[Sequence[SortedId], int]:
    """One row more than the page, and how many match."""
    store = BrowsingStore(connection, call.namespace.id, await viewer(connection, call))
    criteria, sort = request.browse.criteria, request.browse.sort
    if request.past is None and sort is not Sort.WEIGHT and not criteria.has_weight_bounds:
        return await store.part(request.browse, request.page)
    lines = await store.lines(
        request.browse, None if request.past is None else request.past.snapshots
    )
    weight = _weigher(call, request)
    weighed = [(weight(line.id, line.state), line) for line in lines]
    rows = [
        SortedId(key if sort is Sort.WEIGHT else line.key, line.id)
        for key, line in weighed
        if criteria.lowest <= key <= criteria.highest
    ]
    return _after(sorted(rows, reverse=request.browse.descending), request), len(rows)


def _after(rows: Sequence[SortedId], request: _Request) -> Sequence[SortedId]:
    """From behind the last row that was seen, which may have gone since."""
    limit, after = request.page.limit + 1, request.page.after
    if after is None:
        return rows[:limit]
    last = SortedId(key_of(request.browse.sort, after[0]), UUID(str(after[1])))
    down = request.browse.descending
    start = next((i for i, row in enumerate(rows) if (row < last if down else row > last)), None)
    return [] if start is None else rows[start : start + limit]


def _weigher(call: Call, request: _Request) -> Callable[[UUID, State], float]:
    """How a memory's weight is read from its live state, or from that of the moment."""
    policy = policy_named(call.namespace.policy)

    def weight(memory_id: UUID, live: State) -> float:
        state = live if request.past is None else request.past.states[memory_id]
        return policy.effective_weight(policy.age_memory(state, request.at), None)

    return weight


async def _load_items(
    connection: Connection, call: Call, request: _Request, ids: Sequence[UUID]
) -> list[ListedMemory]:
    """The memories of these ids, in their order."""
    seen_by = await viewer(connection, call)
    reader = MemoryReader(connection, call.namespace.id, seen_by)
    found = {memory.id: memory for memory in await reader.some(ids)}
    if request.past is not None:
        snapshots = {memory_id: request.past.snapshots[memory_id] for memory_id in found}
        found = await _restore(reader, found, snapshots)
    states = StateStore(connection, call.namespace.id)
    known, counters = await states.load(found), await states.counts(list(found))
    weight = _weigher(call, request)
    listed = [
        replace(
            found[i],
            effective_weight=weight(i, known.memories[i]),
            served=counters[i].served,
            credited=counters[i].credited,
        )
        for i in ids
        if i in found
    ]
    return await hide_refuted(connection, call, listed)


async def _restore(
    reader: MemoryReader, found: Mapping[UUID, ListedMemory], snapshots: Mapping[UUID, Snapshot]
) -> dict[UUID, ListedMemory]:
    """As they were: why one has the status it has now says nothing about then."""
    texts = await reader.texts({memory_id: then.version for memory_id, then in snapshots.items()})
    restored: dict[UUID, ListedMemory] = {}
    for memory_id, text in texts.items():
        memory, then = found[memory_id], snapshots[memory_id]
        restored[memory_id] = replace(
            memory,
            version=then.version,
            status=then.status,
            status_reason=memory.status_reason if then.status is memory.status else None,
            situation=text.situation,
            lesson=text.lesson,
        )
    return restored


def _neighbour(memory: ListedMemory, cosine: float) -> Neighbour:
    return Neighbour(
        memory_id=memory.id,
        kind=memory.kind,
        status=memory.status,
        agent=memory.agent,
        category=memory.category,
        situation=memory.situation,
        lesson=memory.lesson,
        effective_weight=memory.effective_weight,
        cosine=cosine,
    )


def _cursor(request: _Request, row: SortedId) -> tuple[object, ...]:
    key: RowKey = row.key
    written = key.isoformat() if isinstance(key, datetime) else key
    return (written, str(row.id), request.at.isoformat())
