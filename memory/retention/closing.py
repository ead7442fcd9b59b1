"""The ledger is closed: what is old is folded once more, each subject gets a `set` event with the
state that came of it, and from then on a fold begins there.

A part of the ledger is read and folded → events written, in slices that nobody sees → published
under the state lock, where it still stands as it was read. What a correction withdrew later is
left out of the fold, so that the states are those that a rebuild of the whole ledger gives.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.belief.fold import Entry, Learn, Learned, fold
from memory.belief.policy import policy_named
from memory.belief.state_mapping import (
    ChangeCause,
    StateChange,
    Subject,
    diff_states,
    ledger_entries,
)
from memory.belief.store.ledger import CLOSED, OPEN, Closing, LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.postgres.database import Connection
from memory.receipts.rebuild import ledger
from memory.retention.entities import Ages
from memory.retention.store.closing import ClosingStore, Place
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore


@dataclass(slots=True)
class ClosedLedger:
    """Where the ledger is closed, with the states there, as one visit keeps them in mind."""

    closing: Closing | None
    states: Learned
    places: dict[Subject, Place]
    stale: list[Place]

    @property
    def version(self) -> int:
        return OPEN if self.closing is None else self.closing.bank_version


@dataclass(slots=True)
class ClosingPart:
    """A part of the ledger that is about to be closed: the version it ends with, and what is still
    to be written for it.
    """

    version: int
    known_at: datetime
    learned: int
    states: Learned
    changes: list[StateChange]
    written: int = 0
    first: int = 0

    @property
    def is_written(self) -> bool:
        return self.written >= len(self.changes)


async def load_closed(connection: Connection, namespace: Namespace) -> ClosedLedger:
    """As it stands."""
    closing = await LedgerStore(connection, namespace.id).closing()
    if closing is None:
        return ClosedLedger(None, Learned(), {}, [])
    found = await ClosingStore(connection, namespace.id).load(closing.bank_version)
    return ClosedLedger(closing, found.states, found.places, found.stale)


async def plan_part(
    connection: Connection, namespace: Namespace, closed: ClosedLedger, ages: Ages, limit: int
) -> ClosingPart | None:
    """The next part that can be closed, folded; None where nothing is old enough."""
    store = ClosingStore(connection, namespace.id)
    last = await store.last_closable(closed.version, ages)
    if last <= closed.version:
        return None
    version = await store.step_to(closed.version, last, limit)
    await store.drop_unpublished(closed.version, version)
    standing = await store.standing(closed.version, version)
    entries = await ledger(connection, namespace.id, since=closed.version + 1, until=version)
    known_at = _newest(entries, closed.closing)
    if known_at is None or sum(isinstance(one, Learn) for one in entries) != standing.learned:
        return None
    policy = policy_named(namespace.policy)
    states = await asyncio.to_thread(fold, policy, entries, start=closed.states)
    return ClosingPart(
        version,
        known_at,
        standing.learned,
        states,
        diff_states(closed.states, states),
        first=await store.first_free(version),
    )


def _newest(entries: Sequence[Entry], closing: Closing | None) -> datetime | None:
    times = [entry.now for entry in entries]
    return max(times if closing is None else [*times, closing.known_at], default=None)


async def write_part(
    connection: Connection, namespace: Namespace, part: ClosingPart, limit: int, now: datetime
) -> None:
    """Write its next events. A closing is no move: state and weight are the same before and after,
    also where the subject is at its start again.
    """
    changes = part.changes[part.written : part.written + limit]
    same = [StateChange(one.subject, one.after, one.after) for one in changes]
    cause = ChangeCause(part.version, "set", CLOSED, part.known_at)
    policy = policy_named(namespace.policy)
    await LedgerStore(connection, namespace.id).append(
        ledger_entries(same, policy, cause), policy.name, now, first=part.first + part.written
    )


async def publish_part(
    connection: Connection,
    namespace: Namespace,
    closed: ClosedLedger,
    part: ClosingPart,
    now: datetime,
) -> Closing | None:
    """Close the ledger up to there, in a transaction as short as can be; None where somebody has
    withdrawn what was folded, changed the policy, or reads the whole ledger: then it is planned
    anew.
    """
    await StateStore(connection, namespace.id).lock()
    store = ClosingStore(connection, namespace.id)
    standing = await store.standing(closed.version, part.version)
    if (await NamespaceStore(connection).get(namespace.id)).policy != namespace.policy:
        return None
    if standing.waiting or standing.learned != part.learned or not await store.try_alone():
        return None
    earlier = None if closed.closing is None else closed.closing.withdrawn_version
    withdrawn = max((one for one in (earlier, standing.withdrawn_version) if one), default=None)
    closing = Closing(part.version, part.known_at, withdrawn, now)
    await store.publish(closing)
    return closing


def move_closed(closed: ClosedLedger, part: ClosingPart, closing: Closing) -> ClosedLedger:
    """What was published, kept in mind; the events in whose place others stand are to go."""
    places, stale = dict(closed.places), list(closed.stale)
    for position, change in enumerate(part.changes, start=part.first):
        if change.subject in places:
            stale.append(places[change.subject])
        places[change.subject] = (part.version, position)
    return ClosedLedger(closing, part.states, places, stale)
