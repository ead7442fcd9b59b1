"""The feed of changes: where a reader is → what was written since, of what it may read."""

from collections.abc import Sequence
from datetime import timedelta
from typing import cast
from uuid import UUID

from memory.insight.change_entities import BankChange, ChangedPart, FeedPosition, ReadChanges
from memory.insight.store.changes import ChangeRow, ChangeStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Gone, NotFound
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.tenancy.entities import Act, Call

FOLLOWED = timedelta(hours=23)
"""Rows of the feed are kept for a day; who has not read for so long may have missed some."""
MAX_CHANGES_READ = 500


async def read_changes(
    engine: Engine, call: Call, position: FeedPosition | None, limit: int
) -> ReadChanges:
    """What was written since the reader was there; without a place, nothing yet, and the place.
    Raises Gone where it cannot be said what the reader has missed.
    """
    call.key.require(Act.READ)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ChangeStore(connection, call.namespace.id)
        now = await store.head()
        if now is None:
            raise NotFound("the namespace is there no more", code="namespace_not_found")
        if position is None:
            return ReadChanges((), (), now, has_more=False)
        _require_followed(position, now)
        reading = position.up_to(now)
        rows = await store.read(reading, limit)
        page, has_more = rows[:limit], len(rows) > limit
        named = sorted({one for row in page for one in row.memory_ids})
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        seen = {one for one, is_seen in (await reader.tell_apart(named)).items() if is_seen}
    reached = reading.after(page[-1].id) if has_more else reading.finished()
    told = [(row, found) for row in page if (found := _of_reader(row, seen)) is not None]
    return ReadChanges(
        tuple(found for _, found in told),
        tuple(reading.after(row.id) for row, _ in told),
        reached,
        has_more=has_more,
    )


async def find_head(engine: Engine, namespace_id: UUID) -> FeedPosition | None:
    """Where a reader is who has seen everything."""
    async with engine.database.transaction(namespace_id) as connection:
        return await ChangeStore(connection, namespace_id).head()


async def has_changes(engine: Engine, namespace_id: UUID, position: FeedPosition) -> bool:
    """Whether anything was written between a place and the later snapshot in it."""
    async with engine.database.transaction(namespace_id) as connection:
        return bool(await ChangeStore(connection, namespace_id).read(position, 0))


def _require_followed(position: FeedPosition, now: FeedPosition) -> None:
    if now.at - position.at > FOLLOWED:
        raise gone("what changed is kept for a day, and it was last read longer ago")
    # A backup that was restored, or another database: its transactions count anew.
    if position.next_transaction > now.next_transaction or position.version > now.version:
        raise gone("the database was restored, or is another one")


def gone(why: str) -> Gone:
    """That a reader may have missed something."""
    return Gone(
        f"it cannot be said what changed since: {why}; read what you follow anew, and go on"
        " without a place",
        code="changes_gone",
        field="after",
    )


def _of_reader(row: ChangeRow, seen: set[UUID]) -> BankChange | None:
    """The change as one may hear of it who sees these memories; None where all are hidden."""
    ids: Sequence[UUID] = [one for one in row.memory_ids if one in seen]
    if row.memory_ids and not ids:
        return None
    at = row.recorded_at.replace(microsecond=0)
    return BankChange(cast("ChangedPart", row.kind), tuple(ids), at)
