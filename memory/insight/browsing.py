"""The bank is looked through: what matches → its order → one page, read whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.states import State
from memory.belief.store.states import StateStore
from memory.inference.service import require_model
from memory.insight.history import bank_of, standing
from memory.insight.store.browsing import BrowsingStore, Key, key_of
from memory.insight.weights import present
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.memories.browse_entities import NEIGHBOURS, Browse, ListedMemory, Neighbour, Sort
from memory.memories.entities import Memory, Status
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.memories.store.snapshots import Snapshot
from memory.tenancy.entities import Call

Row = tuple[Key, UUID]
"""What a row is sorted by, and its id."""


@dataclass(frozen=True, slots=True)
class _Past:
    """The bank as it stood: which memories, and their states."""

    then: Mapping[UUID, Snapshot]
    states: Mapping[UUID, State]


@dataclass(frozen=True, slots=True)
class _Look:
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
    async with engine.database.transaction(call.namespace.id) as connection:
        look = await _look(connection, call, browse, page)
        rows, total = await _rows(connection, call, look)
        kept = rows[: page.limit]
        items = await _items(connection, call, look, [memory_id for _, memory_id in kept])
    after = _position(look, kept[-1]) if len(rows) > page.limit else None
    return Listed(items, total, after)


async def neighbours(engine: Engine, call: Call, memory_id: UUID) -> list[Neighbour]:
    """The memories of all kinds whose situations are most similar, whatever their status."""
    model_id = require_model(engine, call.namespace)
    async with engine.database.transaction(call.namespace.id) as connection:
        shown = await viewer(connection, call)
        await MemoryReader(connection, call.namespace.id, shown).get(memory_id)
        store = BrowsingStore(connection, call.namespace.id, shown)
        near = await store.nearest(memory_id, model_id, NEIGHBOURS)
        look = _Look(Browse(), Page(NEIGHBOURS), present(call))
        found = await _items(connection, call, look, [near_id for near_id, _ in near])
    cosines = dict(near)
    return [_neighbour(one, cosines[one.id]) for one in found]


async def some_memories(engine: Engine, call: Call, ids: Sequence[UUID]) -> list[Memory]:
    """Those of these memories that the caller may see, in their order, weights aged to now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        look = _Look(Browse(), Page(1), present(call))
        return list(await _items(connection, call, look, ids))


async def _look(connection: Connection, call: Call, browse: Browse, page: Page) -> _Look:
    if browse.moment.is_now:
        at = present(call) if page.after is None else datetime.fromisoformat(str(page.after[2]))
        return _Look(browse, page, at)
    bank = await bank_of(connection, call, browse.moment)
    then = await standing(connection, call, browse.moment)
    known = {i: t for i, t in then.items() if i in bank.states.memories}
    return _Look(browse, page, bank.at, _Past(known, bank.states.memories))


async def _rows(connection: Connection, call: Call, look: _Look) -> tuple[Sequence[Row], int]:
    """One row more than the page, and how many match."""
    store = BrowsingStore(connection, call.namespace.id, await viewer(connection, call))
    criteria, sort = look.browse.criteria, look.browse.sort
    if look.past is None and sort is not Sort.WEIGHT and not criteria.has_weight_bounds:
        found, total = await store.part(look.browse, look.page)
        return [(key, memory_id) for memory_id, key in found], total
    lines = await store.lines(look.browse, None if look.past is None else look.past.then)
    weight = _weights(call, look)
    weighed = [(weight(line.id, State(line.state, line.touched_at)), line) for line in lines]
    rows: list[Row] = [
        (heft if sort is Sort.WEIGHT else line.key, line.id)
        for heft, line in weighed
        if criteria.lowest <= heft <= criteria.highest
    ]
    return _behind(sorted(rows, reverse=look.browse.descending), look), len(rows)


def _behind(rows: Sequence[Row], look: _Look) -> Sequence[Row]:
    """From behind the last row that was seen, which may have gone since."""
    limit, after = look.page.limit + 1, look.page.after
    if after is None:
        return rows[:limit]
    last: Row = (key_of(look.browse.sort, after[0]), UUID(str(after[1])))
    down = look.browse.descending
    start = next((i for i, row in enumerate(rows) if (row < last if down else row > last)), None)
    return [] if start is None else rows[start : start + limit]


def _weights(call: Call, look: _Look) -> Callable[[UUID, State], float]:
    """How a memory's weight is read from its live state, or from that of the moment."""
    policy = policy_named(call.namespace.policy)

    def weight(memory_id: UUID, live: State) -> float:
        state = live if look.past is None else look.past.states[memory_id]
        return policy.effective_weight(policy.age_memory(state, look.at), None)

    return weight


async def _items(
    connection: Connection, call: Call, look: _Look, ids: Sequence[UUID]
) -> list[ListedMemory]:
    """The memories of these ids, in their order."""
    shown = await viewer(connection, call)
    found = {m.id: m for m in await MemoryReader(connection, call.namespace.id, shown).some(ids)}
    if look.past is not None:
        then = {memory_id: look.past.then[memory_id] for memory_id in found}
        store = BrowsingStore(connection, call.namespace.id, shown)
        texts = await store.texts({memory_id: t.version for memory_id, t in then.items()})
        found = {i: _stood(found[i], then[i], texts[i]) for i in found if i in texts}
    states = StateStore(connection, call.namespace.id)
    known, counters = await states.load(found), await states.counts(list(found))
    weight = _weights(call, look)
    return [
        replace(
            found[i],
            effective_weight=weight(i, known.memories[i]),
            served=counters[i].served,
            credited=counters[i].credited,
        )
        for i in ids
        if i in found
    ]


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


def _stood(memory: ListedMemory, then: Snapshot, texts: tuple[str, str]) -> ListedMemory:
    """As it was: why it has the status it has now says nothing about then."""
    status = Status(then.status)
    reason = memory.status_reason if status is memory.status else None
    said = {"situation": texts[0], "lesson": texts[1]}
    return replace(memory, version=then.version, status=status, status_reason=reason, **said)


def _position(look: _Look, row: Row) -> tuple[object, ...]:
    key, memory_id = row
    written = key.isoformat() if isinstance(key, datetime) else key
    return (written, str(memory_id), look.at.isoformat())
