"""What a memory's page tells beside its ledger: what was expected of outcomes, how sure a weight
was, and what it has to do with other memories.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from uuid import UUID

from memory.belief import weights
from memory.belief.belief import SCALE
from memory.belief.entities import WeightEvent
from memory.belief.policy import policy_named
from memory.belief.states import State
from memory.insight.service import require_memory
from memory.insight.store.memory_details import Gain, MemoryDetailStore, Relation
from memory.kernel.engine import Engine
from memory.memories.entities import HIDDEN
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.tenancy.entities import Call, Clock

BELIEF_STATE = 2
"""Numbers of a state that says how sure it is: a mean and a variance."""


@dataclass(frozen=True, slots=True)
class WeightBand:
    """The weights that lie one standard deviation below and above."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """A relation with the other memory's lesson; of one that may not be read, that it is there."""

    relation: Relation
    memory_id: UUID
    lesson: str | None


def weight_band(policy: str, state: Iterable[float]) -> WeightBand | None:
    """How sure the weight of this state is; None where the policy does not say."""
    values = tuple(state)
    if len(values) != BELIEF_STATE or policy_named(policy).lift(State(values), None) is None:
        return None
    mean, deviation = values[0], sqrt(values[1])
    ends = (
        weights.bounded(weights.NEUTRAL + end / SCALE)
        for end in (mean - deviation, mean + deviation)
    )
    return WeightBand(*ends)


async def list_gains(
    engine: Engine, call: Call, events: Iterable[WeightEvent]
) -> Mapping[UUID, Gain]:
    """What the outcomes of these events were expected to show and what they showed, by outcome."""
    ids = sorted({one.outcome_id for one in events if one.outcome_id is not None})
    if not ids:
        return {}
    async with engine.database.transaction(call.namespace.id) as connection:
        return await MemoryDetailStore(connection, call.namespace.id).gains(ids)


async def list_relations(engine: Engine, call: Call, memory_id: UUID) -> list[RelatedMemory]:
    """What speaks against it, what it speaks against, what it contradicts, what was merged."""
    replay = call.namespace.clock is Clock.REPLAY
    async with engine.database.transaction(call.namespace.id) as connection:
        await require_memory(connection, call, memory_id)
        store = MemoryDetailStore(connection, call.namespace.id)
        found = await store.relations(memory_id, replay=replay)
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        known = {one.id: one for one in await reader.some([each.memory_id for each in found])}
    return [
        RelatedMemory(
            one,
            one.memory_id if one.memory_id in known else HIDDEN,
            known[one.memory_id].lesson if one.memory_id in known else None,
        )
        for one in found
    ]
