"""What ends a move another way than by arriving: it is called off, or what it left behind goes."""

from datetime import datetime
from uuid import UUID

from memory.kernel.errors import Conflict, NotFound
from memory.kernel.postgres.database import Database
from memory.tenancy.entities import AuditEvent, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.moves import MoveStore, Relocation
from memory.tenancy.store.namespaces import NamespaceStore
from memory.transfer.moving import Say
from memory.transfer.places import alone, find_space, move_running, relocation_of, require_two
from memory.transfer.store.moving import RowTarget


async def call_off(source: Database, target: Database, slug: str, now: datetime, say: Say) -> None:
    """As if the move had never begun; where the old place has deleted the namespace since, what had
    arrived goes. Raises Conflict where the source has given it away.
    """
    await require_two(source, target)
    try:
        space = await find_space(source, slug)
    except NotFound:
        space = None
    if space is None or await _is_of_another(target, slug, space.id):
        await _drop_stranded(target, slug, now, say)
        return
    async with alone(source, target, space.id):
        before = await relocation_of(source, space.id)
        if before is not None and before.state == "moved":
            raise Conflict(
                f"namespace {slug} has moved to {before.url}: it cannot be called off any more",
                code="namespace_moved",
            )
        async with source.transaction() as connection:
            await MoveStore(connection).open(space.id)
        await _drop_arriving(target, space.id, slug, now)
        say(f"called off: {slug} is served where it was, and what was copied is deleted")


async def _is_of_another(target: Database, slug: str, namespace_id: UUID) -> bool:
    """Whether what arrives under that name is one that the old place has no more."""
    try:
        there = await find_space(target, slug)
    except NotFound:
        return False
    if there.id == namespace_id:
        return False
    arriving = await relocation_of(target, there.id)
    return arriving is not None and arriving.state == "arriving"


async def _drop_stranded(target: Database, slug: str, now: datetime, say: Say) -> None:
    there = await find_space(target, slug)
    async with target.holding(f"arrive {there.id}") as held:
        if not held:
            raise move_running()
        arriving = await relocation_of(target, there.id)
        if arriving is None or arriving.state != "arriving":
            raise _not_moving(slug)
        say(
            f"the old database does not have the {slug} that has begun to arrive: what was copied "
            "of it to the new one is deleted"
        )
        await _drop_arriving(target, there.id, slug, now)
        say(f"called off: the name {slug} is free at the new place")


async def _drop_arriving(target: Database, namespace_id: UUID, slug: str, now: datetime) -> None:
    async with target.transaction() as connection:
        arriving = await MoveStore(connection).find(namespace_id, lock=True)
        if arriving is None or arriving.state != "arriving":
            raise _not_moving(slug)
        await NamespaceStore(connection).delete(namespace_id)
        event = AuditEvent("namespace.move_called_off", slug, {})
        await CallStore(connection).record(event, None, None, now)


def _not_moving(slug: str) -> NotFound:
    return NotFound(f"no move of {slug} to that database has begun", code="not_moving")


async def drop_remains(source: Database, slug: str, now: datetime) -> int:
    """Delete what a namespace that has moved left behind, but its keys and where it went; how many
    rows. Raises Conflict where it has not moved.
    """
    space, _ = await _moved_away(source, slug)
    async with source.transaction(space.id, wherever=True) as connection:
        gone = await RowTarget(connection, space.id).clear(kept=("api_key",))
        event = AuditEvent("namespace.remains_dropped", slug, {"rows": gone})
        await CallStore(connection).record(event, None, space.id, now)
    return gone


async def free_name(source: Database, target: Database, slug: str, now: datetime) -> str:
    """Delete all that a namespace that has moved left behind, with its keys and where it went: its
    name is free at the old place, where nobody is told the address any more that this returns.
    Raises Conflict where it has not moved, or is not open at the new place.
    """
    await require_two(source, target)
    space, before = await _moved_away(source, slug)
    there = await relocation_of(target, space.id)
    if there is not None and there.state == "arriving":
        raise Conflict(
            f"{slug} is not open at the new place yet: run the move again first", code="not_moved"
        )
    async with source.transaction() as connection:
        await NamespaceStore(connection).delete(space.id)
        event = AuditEvent("namespace.name_freed", slug, {"url": before.url})
        await CallStore(connection).record(event, None, None, now)
    return before.url


async def _moved_away(source: Database, slug: str) -> tuple[Namespace, Relocation]:
    space = await find_space(source, slug)
    before = await relocation_of(source, space.id)
    if before is None or before.state != "moved":
        raise Conflict(f"namespace {slug} has not moved: nothing is left behind", code="not_moved")
    return space, before
