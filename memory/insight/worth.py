"""Worth of its place: coins and outcomes → a comparison → what can be said of it.

Reads only. Nothing here moves, ranks or retires a memory, and what an agent says that it used is
not looked at: it used what it was served, so that would undo the coin.
"""

from collections.abc import Iterable, Sequence
from math import inf
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.belief.worth import place_effect
from memory.insight.service import present
from memory.insight.store.worth import CompanionRow, WeighedRun, WorthStore
from memory.insight.worth_entities import BelievedEffect, Companion, Worth, WorthByWeight
from memory.insight.worth_wording import summarise, summarise_class, verdict
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.memories.entities import HIDDEN
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.tenancy.entities import Call

CLASSES = (0.1, 0.5, 0.9, 1.1, 1.5)
"""The least weight of each class; the third is neutral."""


async def get_worth(engine: Engine, call: Call, memory_id: UUID) -> Worth:
    """What serving a memory added, against what took its place."""
    now = present(call)
    async with engine.database.transaction(call.namespace.id) as connection:
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        memory = await reader.get(memory_id)
        store = WorthStore(connection, call.namespace.id)
        place = place_effect(await store.runs(memory_id, memory.version), now)
        seen = await store.appearances(memory_id)
        told = place.effect is not None
        near = [] if told else await store.companions(memory_id)
        companions = await _name(reader, near)
        believed = await _believed(connection, call, memory_id)
    return Worth(
        memory_id=memory_id,
        verdict=verdict(place),
        summary=summarise(place, companions, came_up=seen.came_up),
        place=place,
        came_up=seen.came_up,
        served=seen.served,
        believed=believed,
        companions=companions,
    )


async def list_worth_by_weight(engine: Engine, call: Call) -> list[WorthByWeight]:
    """The same over all memories, by the weight that each had at the retrieval, lightest first.
    What weighs more should have added more.
    """
    async with engine.database.transaction(call.namespace.id) as connection:
        runs = await WorthStore(connection, call.namespace.id).newest_runs()
    ends = (*CLASSES[1:], None)
    return [_pool(call, runs, lowest, below) for lowest, below in zip(CLASSES, ends, strict=True)]


def _pool(
    call: Call, runs: Iterable[WeighedRun], lowest: float, below: float | None
) -> WorthByWeight:
    # Weights lie within bounds, which probation halves: the lightest class has no lower end.
    least = -inf if lowest == CLASSES[0] else lowest
    some = [one for one in runs if least <= one.weight < (inf if below is None else below)]
    place = place_effect((one.run for one in some), present(call))
    return WorthByWeight(
        lowest=lowest,
        below=below,
        verdict=verdict(place),
        summary=summarise_class(place),
        memories=len({one.memory_id for one in some}),
        place=place,
    )


async def _name(reader: MemoryReader, rows: Sequence[CompanionRow]) -> tuple[Companion, ...]:
    """Companions with their lessons; of those that may not be read, that they are there."""
    known = {memory.id: memory for memory in await reader.some([one.memory_id for one in rows])}
    return tuple(
        Companion(
            memory_id=one.memory_id if one.memory_id in known else HIDDEN,
            lesson=known[one.memory_id].lesson if one.memory_id in known else None,
            together=one.together,
            apart=one.apart,
        )
        for one in rows
    )


async def _believed(connection: Connection, call: Call, memory_id: UUID) -> BelievedEffect | None:
    policy = policy_named(call.namespace.policy)
    states = await StateStore(connection, call.namespace.id).load([memory_id])
    lift = policy.lift(policy.age_memory(states.memories[memory_id], present(call)), None)
    return None if lift is None else BelievedEffect(lift.mean, lift.sd)
