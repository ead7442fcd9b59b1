"""A changeset takes effect, whole or not at all, when its ticket ends; it is undone by hand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict
from memory.kernel.postgres.database import Connection, UniqueTextTaken
from memory.memories.entities import Status
from memory.memories.service import hide_private, reading_time, retire
from memory.memories.store.memories import Stamp
from memory.memories.store.status import CANDIDATES, StatusStore, StatusTransition
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.changeset_entities import Changeset, ChangesetState
from memory.verification.store.changesets import ChangesetStore, HeldChangeset, PlannedChange

IN_USE = (Status.ACTIVE, Status.PROBATION)


async def can_apply(connection: Connection, namespace_id: UUID, ticket_id: UUID) -> bool:
    """Whether everything that the set touches is as it was when it was written. What it touches
    stays so until the transaction ends.
    """
    held = await ChangesetStore(connection, namespace_id).hold_by_ticket(ticket_id)
    store = StatusStore(connection, namespace_id)
    wanted = [one for change in held.changes for one in _touched(change)]
    found = {one.id: one for one in await store.hold(sorted(wanted))}

    def is_fit(change: PlannedChange) -> bool:
        new = None if change.memory_id is None else found.get(change.memory_id)
        old = None if change.replaces is None else found.get(change.replaces)
        fresh = change.memory_id is None or (
            new is not None and new.erased_at is None and new.status in CANDIDATES
        )
        same = change.replaces is None or (
            old is not None
            and old.erased_at is None
            and old.status in IN_USE
            and not old.pinned
            and old.version == change.version
        )
        return fresh and same

    return all(is_fit(change) for change in held.changes)


async def settle(
    connection: Connection,
    namespace_id: UUID,
    ticket_id: UUID,
    stamp: Stamp,
    applied_at: datetime | None,
) -> None:
    """The rest of the set follows its first memory: into use, and what it replaces out of it, known
    from `applied_at`; or, where that is None, all that it would bring is rejected.
    """
    store = ChangesetStore(connection, namespace_id)
    held = await store.hold_by_ticket(ticket_id)
    status = StatusStore(connection, namespace_id)
    new = [one.memory_id for one in held.changes if one.memory_id is not None]
    old = [one.replaces for one in held.changes if one.replaces is not None]
    reason = f"changeset {held.id}"
    changes: Sequence[PlannedChange] = held.changes
    if applied_at is not None:
        was = {one.id: one.status.value for one in await status.hold(sorted(old))}
        changes = [
            replace(one, was=was.get(one.replaces)) if one.replaces else one for one in changes
        ]
        entering = StatusTransition(CANDIDATES, Status.ACTIVE, reason, learned_at=applied_at)
        await status.move(new, entering, stamp)
        await retire(connection, namespace_id, dict.fromkeys(old, reason), stamp)
    else:
        gone = await status.move(new, StatusTransition(CANDIDATES, Status.REJECTED, reason), stamp)
        await NamespaceStore(connection).recount(namespace_id, -len(gone))
    state = ChangesetState.REJECTED if applied_at is None else ChangesetState.APPLIED
    await store.change(
        held.id,
        state=state.value,
        changes=[one.stored() for one in changes],
        finished_at=stamp.now,
    )


async def drop(
    connection: Connection, namespace_id: UUID, ticket_ids: Sequence[UUID], stamp: Stamp
) -> None:
    """The sets that are tried under these tickets, of which one memory was erased: nothing of them
    is applied any more.
    """
    store = ChangesetStore(connection, namespace_id)
    for changeset_id in await store.tried_under(ticket_ids):
        held = await store.hold(changeset_id)
        gone = [one.memory_id for one in held.changes if one.memory_id is not None]
        end = StatusTransition(CANDIDATES, Status.REJECTED, f"changeset {held.id}")
        rejected = await StatusStore(connection, namespace_id).move(gone, end, stamp)
        await NamespaceStore(connection).recount(namespace_id, -len(rejected))
        state = ChangesetState.REJECTED.value
        await store.change(held.id, state=state, reason="erased", finished_at=stamp.now)


async def undo(engine: Engine, call: Call, changeset_id: UUID) -> Changeset:
    """Take an applied set back: what it brought retires, what it retired returns as it was."""
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        store = ChangesetStore(connection, call.namespace.id)
        held = await store.hold(changeset_id)
        if held.state is not ChangesetState.APPLIED:
            raise Conflict(
                f"the changeset is {held.state}", code="changeset_not_applied", field="changeset_id"
            )
        version = await NamespaceStore(connection).bump(call.namespace)
        stamp = Stamp(call.key.id, call.now, version)
        await _take_back(connection, call, held, stamp)
        await store.change(held.id, state=ChangesetState.UNDONE.value)
        event = AuditEvent("changeset.undo", str(held.id), {})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        return await hide_private(connection, call, await store.get(changeset_id))


async def _take_back(connection: Connection, call: Call, held: HeldChangeset, stamp: Stamp) -> None:
    namespace_id, reason = call.namespace.id, f"undone: changeset {held.id}"
    new = [one.memory_id for one in held.changes if one.memory_id is not None]
    status = StatusStore(connection, namespace_id)
    if any(one.pinned and one.status in IN_USE for one in await status.hold(sorted(new))):
        raise Conflict(
            "a memory that the changeset brought is pinned",
            code="status_conflict",
            field="changeset_id",
        )
    await retire(connection, namespace_id, dict.fromkeys(new, reason), stamp)
    for change in held.changes:
        if change.replaces is None or change.was is None:
            continue
        back = StatusTransition((Status.RETIRED,), Status(change.was), reason)
        try:
            moved = await status.move([change.replaces], back, stamp)
        except UniqueTextTaken as fault:
            raise Conflict(
                "another living memory says the same as one that would return",
                code="memory_exists",
                field="changeset_id",
            ) from fault
        if moved:
            await status.mark_returned(change.replaces, reading_time(call))
            await NamespaceStore(connection).recount(namespace_id, 1)


def _touched(change: PlannedChange) -> list[UUID]:
    return [one for one in (change.memory_id, change.replaces) if one is not None]
