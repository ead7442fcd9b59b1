"""Memories are read, enter the bank as rows, leave use; and which of them a caller sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.state_mapping import ChangeCause, StateChange, Subject, ledger_entries
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.memories.entities import (
    Kind,
    Memory,
    MemoryFilter,
    MemoryVersion,
    Remembered,
    Status,
    Viewer,
)
from memory.memories.masking import Answer, Mask, ids_in
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, NewMemory, Stamp, Twin
from memory.memories.store.queries import MemoryReader
from memory.memories.store.status import StatusStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Clock, Namespace
from memory.tenancy.store.namespaces import NamespaceStore


async def viewer(connection: Connection, call: Call) -> Viewer:
    """Whose private memories this key may see: those of the agents it is bound to; bound to none,
    the constraints that it brought.
    """
    store = ActorStore(connection, call.namespace.id)
    found = [await store.find_agent(name) for name in call.key.agents or ()]
    return Viewer(
        tuple(agent.id for agent in found if agent is not None),
        key_id=call.key.id if call.key.agents is None else None,
        manages=call.key.may(Act.MANAGE),
    )


async def hide_private(connection: Connection, call: Call, answer: Answer) -> Answer:
    """The answer as this key may read it: without the words and ids of memories it may not see."""
    seen_by = await viewer(connection, call)
    return (await load_mask(connection, call.namespace.id, seen_by, answer)).apply(answer)


async def load_mask(
    connection: Connection, namespace_id: UUID, seen_by: Viewer, answer: object
) -> Mask:
    """What an answer tells of memories that this viewer does not see."""
    named = sorted(set(ids_in(answer)))
    if not named:
        return Mask()
    known = await MemoryReader(connection, namespace_id, seen_by).tell_apart(named)
    return Mask(
        readable=frozenset(memory_id for memory_id, seen in known.items() if seen),
        hidden=frozenset(memory_id for memory_id, seen in known.items() if not seen),
    )


UNVERIFIED = frozenset({Status.PROPOSED, Status.VERIFYING, Status.REJECTED})
"""Of these the words are on trial, or were."""


async def get_memory(engine: Engine, call: Call, memory_id: UUID) -> Memory:
    """The memory as it stands, its weight aged to now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        [memory] = await _weighed(connection, call, [await reader.get(memory_id)])
        return (await hide_refuted(connection, call, [memory]))[0]


async def list_memories(
    engine: Engine, call: Call, wanted: MemoryFilter, page: Page
) -> Listed[Memory]:
    """Oldest first; every match is on exactly one page."""
    async with engine.database.transaction(call.namespace.id) as connection:
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        found, total = await reader.browse(wanted, page)
        weighed = await _weighed(connection, call, found)
        weighed = await hide_refuted(connection, call, weighed)
    return listed(weighed, page, total, lambda memory: (str(memory.id),))


Refuting = TypeVar("Refuting", bound=Memory)


async def hide_refuted(
    connection: Connection, call: Call, memories: list[Refuting]
) -> list[Refuting]:
    """Without the ids of private memories that they speak against."""
    refuted = [memory.contradicts for memory in memories]
    if not any(refuted):
        return memories
    shown = await hide_private(connection, call, refuted)
    return [replace(memory, contradicts=ids) for memory, ids in zip(memories, shown, strict=True)]


async def list_versions(engine: Engine, call: Call, memory_id: UUID) -> list[MemoryVersion]:
    """Every text the memory had."""
    async with engine.database.transaction(call.namespace.id) as connection:
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        return await reader.versions(memory_id)


async def _weighed(connection: Connection, call: Call, memories: list[Memory]) -> list[Memory]:
    """Each memory with its effective weight now, for no agent in particular."""
    policy = policy_named(call.namespace.policy)
    states = await StateStore(connection, call.namespace.id).load([m.id for m in memories])
    now = reading_time(call)

    def weight(memory_id: UUID) -> float:
        state = states.memories[memory_id]
        return policy.effective_weight(policy.age_memory(state, now) if now else state, None)

    return [replace(memory, effective_weight=weight(memory.id)) for memory in memories]


def reading_time(call: Call) -> datetime | None:
    """Now; in a replay namespace, the newest fact that was applied, if any was."""
    return call.namespace.newest_known_at if call.namespace.clock is Clock.REPLAY else call.now


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
        version = await NamespaceStore(connection).bump(namespace, memories=len(missing))
        # Now that the version is held: what had a twin may have none since, which retired.
        known = await store.twins(list(resolved.values()))
        candidates = reversed(list(resolved.values()))
        fresh = {new.twin_key: new for new in candidates if new.twin_key not in known}
        kept = await _insert(connection, entrance, list(fresh.values()), version)
        if len(kept) != len(missing):
            await NamespaceStore(connection).recount(namespace.id, len(kept) - len(missing))
        if len(kept) == len(fresh):
            known |= {key: Twin(new.id, 1, new.status) for key, new in fresh.items()}
        else:
            known = await store.twins(list(resolved.values()))
    again = [known[new.twin_key].id for new in resolved.values() if new.id not in kept]
    await store.add_evidence(again)
    answers: dict[int, Remembered] = {}
    for position, new in resolved.items():
        twin = known[new.twin_key]
        deduplicated = new.id not in kept
        answers[position] = Remembered(twin.id, twin.version, deduplicated, version, twin.status)
    return answers


async def _insert(
    connection: Connection, entrance: Entrance, fresh: Sequence[NewMemory], version: int
) -> set[UUID]:
    """The ids of those that went in."""
    if not fresh:
        return set()
    stamp = Stamp(entrance.key_id, entrance.now, version)
    kept = await MemoryStore(connection, entrance.namespace.id).add(fresh, stamp)
    await begin(connection, entrance, [new for new in fresh if new.id in kept], version)
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
    await store.add_first_vectors(added, entrance.model_id)
    experiences = [new for new in added if new.kind is Kind.EXPERIENCE]
    await CentroidStore(connection, namespace.id).move(experiences, entrance.model_id)
    entries = [
        entry
        for new in added
        for entry in ledger_entries(
            [StateChange(_subject(new), None, policy.initial_memory(new.draft.weight))],
            policy,
            ChangeCause(version, "set", "created", new.learned_at),
        )
    ]
    await StateStore(connection, namespace.id).save(entry.change for entry in entries)
    await LedgerStore(connection, namespace.id).append(entries, policy.name, entrance.now)


def _subject(new: NewMemory) -> Subject:
    return Subject("memory", memory_id=new.id)


async def retire(
    connection: Connection,
    namespace_id: UUID,
    reasons: Mapping[UUID, str],
    stamp: Stamp,
    counted_off: int = 0,
) -> list[UUID]:
    """Retire what still lives and is not pinned; returns which.

    `counted_off`: how many the version in `stamp` has already taken from the count of the living.
    """
    retired = await StatusStore(connection, namespace_id).retire(reasons, stamp)
    await NamespaceStore(connection).recount(namespace_id, counted_off - len(retired))
    await MemoryStore(connection, namespace_id).feed(stamp, "retired", retired)
    return retired
