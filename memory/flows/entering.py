"""New memories become rows: text, vectors, first state, and the event that begins their history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.bank import Kind, Remembered
from memory.domain.namespace import Namespace
from memory.flows.sheets import Cause, Change, sheet_of, steps
from memory.learning.policy import policy_named
from memory.storage.centroids import CentroidStore
from memory.storage.database import Connection
from memory.storage.ledger import LedgerStore
from memory.storage.memories import MemoryStore, NewMemory, Stamp
from memory.storage.namespaces import NamespaceStore
from memory.storage.states import StateStore, Subject


@dataclass(frozen=True, slots=True)
class Entrance:
    """Into which namespace, by which key, when, and with which model's vectors."""

    namespace: Namespace
    key_id: UUID | None
    now: datetime
    model_id: UUID


async def enter(
    connection: Connection, entrance: Entrance, resolved: Mapping[int, NewMemory]
) -> dict[int, Remembered]:
    """Insert what is new and count what is not; the unique index decides between equals."""
    namespace = entrance.namespace
    store = MemoryStore(connection, namespace.id)
    known = await store.twins(list(resolved.values()))
    version = namespace.bank_version
    kept: set[UUID] = set()
    if missing := {new.twin_key for new in resolved.values()} - known.keys():
        version = await NamespaceStore(connection).bump(namespace.id, memories=len(missing))
        kept = await _insert(connection, entrance, resolved, version)
        if len(kept) != len(missing):
            await NamespaceStore(connection).recount(namespace.id, len(kept) - len(missing))
        known = await store.twins(list(resolved.values()))
    again = [known[new.twin_key][0] for new in resolved.values() if new.id not in kept]
    await store.add_evidence(again)
    answers: dict[int, Remembered] = {}
    for position, new in resolved.items():
        memory_id, text_version, status = known[new.twin_key]
        deduplicated = new.id not in kept
        answers[position] = Remembered(memory_id, text_version, deduplicated, version, status)
    return answers


async def _insert(
    connection: Connection, entrance: Entrance, resolved: Mapping[int, NewMemory], version: int
) -> set[UUID]:
    """Insert what has no twin now that the version is held: one that was there may be retired or
    erased since.
    """
    store = MemoryStore(connection, entrance.namespace.id)
    known = await store.twins(list(resolved.values()))
    candidates = reversed(list(resolved.values()))
    fresh = {new.twin_key: new for new in candidates if new.twin_key not in known}
    if not fresh:
        return set()
    stamp = Stamp(entrance.key_id, entrance.now, version)
    kept = await store.add(list(fresh.values()), stamp)
    await begin(connection, entrance, [new for new in fresh.values() if new.id in kept], version)
    return kept


async def begin(
    connection: Connection, entrance: Entrance, added: Sequence[NewMemory], version: int
) -> None:
    """Vectors, centroids and the first state of each new memory, with its event in the ledger.

    A category is where its experiences are: other kinds do not move its centroid.
    """
    namespace = entrance.namespace
    policy = policy_named(namespace.policy)
    store = MemoryStore(connection, namespace.id)
    owned = [(new.id, 1, new.vectors) for new in added]
    await store.add_all_vectors(owned, entrance.model_id)
    experiences = [new for new in added if new.kind is Kind.EXPERIENCE]
    await CentroidStore(connection, namespace.id).move(experiences, entrance.model_id)
    made = [
        (Change(_subject(new), None, policy.initial_memory(new.draft.weight)), new.learned_at)
        for new in added
    ]
    await StateStore(connection, namespace.id).save(sheet_of(change for change, _ in made))
    entries = [
        step
        for change, learned_at in made
        for step in steps([change], policy, Cause(version, "set", "created", learned_at))
    ]
    await LedgerStore(connection, namespace.id).append(entries, policy.name, entrance.now)


def _subject(new: NewMemory) -> Subject:
    return Subject("memory", memory_id=new.id)
