"""Weights, the events that moved them, and where one memory was served."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from memory.belief.entities import WeightEvent
from memory.belief.policy import Policy, policy_named
from memory.belief.states import State
from memory.belief.store.states import StateStore
from memory.insight.entities import WeightOrder, WeightRow, WeightView
from memory.insight.store.episodes import EpisodeStore
from memory.insight.store.events import WeightEventStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.memories.browse_entities import AgentRecord, Episode
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Clock


async def list_episodes(engine: Engine, call: Call, memory_id: UUID, page: Page) -> Listed[Episode]:
    """The receipts in which it was served, the newest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        shown = await viewer(connection, call)
        await MemoryReader(connection, call.namespace.id, shown).get(memory_id)
        found, total = await EpisodeStore(connection, call.namespace.id).of_memory(memory_id, page)
    return listed(found, page, total, lambda episode: (str(episode.retrieval_id),))


async def records_of(engine: Engine, call: Call, memory_id: UUID) -> list[AgentRecord]:
    """What came of it for each agent in each category, and each agent's deviation, aged to now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        shown = await viewer(connection, call)
        await MemoryReader(connection, call.namespace.id, shown).get(memory_id)
        cells = await EpisodeStore(connection, call.namespace.id).by_cell(memory_id)
        states = await StateStore(connection, call.namespace.id).load([memory_id])
    policy, now = policy_named(call.namespace.policy), present(call)
    memory = policy.age_memory(states.memories[memory_id], now)
    records: list[AgentRecord] = []
    for cell in cells:
        known = states.deviations.get((memory_id, cell.agent_id))
        deviation = None if known is None else policy.age_deviation(known, now)
        records.append(
            AgentRecord(
                agent=cell.agent,
                category=cell.category,
                served=cell.served,
                n=cell.n,
                reward=cell.reward,
                n_pairs=cell.n_pairs,
                reward_without=cell.reward_without,
                deviation=None if deviation is None else deviation.values[0],
                effective_weight=policy.effective_weight(memory, deviation),
            )
        )
    return records


NAMES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "belief": (("mean", "variance"), ("mean", "variance")),
    "paper": (("weight",), ()),
    "steps": (("weight",), ()),
    "delta": (("mean",), ()),
}
"""What the numbers of a memory's state, and of a deviation, are called in each policy."""


async def weight_of(engine: Engine, call: Call, memory_id: UUID, agent: str | None) -> WeightView:
    """A memory's weight now, for one agent or for none in particular."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await MemoryReader(connection, call.namespace.id, await viewer(connection, call)).get(
            memory_id
        )
        agent_id = await _agent_id(connection, call, agent)
        store = StateStore(connection, call.namespace.id)
        states = await store.load([memory_id])
        counters = (await store.counts([memory_id]))[memory_id]
    policy = policy_named(call.namespace.policy)
    now = present(call)
    memory = policy.age_memory(states.memories[memory_id], now)
    known = None if agent_id is None else states.deviations.get((memory_id, agent_id))
    deviation = None if known is None else policy.age_deviation(known, now)
    return WeightView(
        memory_id=memory_id,
        agent=agent,
        effective_weight=policy.effective_weight(memory, deviation),
        ranking_weight=policy.ranking_weight(memory, deviation),
        state=_named(policy, 0, memory),
        deviation=None if deviation is None else _named(policy, 1, deviation),
        served=counters.served,
        credited=counters.credited,
        helpful=counters.helpful,
        harmful=counters.harmful,
        touched_at=memory.touched,
    )


async def weight_events(
    engine: Engine, call: Call, memory_id: UUID, page: Page
) -> Listed[WeightEvent]:
    """Every change of the memory's belief and of agents' deviations from it, oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await MemoryReader(connection, call.namespace.id, await viewer(connection, call)).get(
            memory_id
        )
        store = WeightEventStore(connection, call.namespace.id)
        found, total = await store.of_memory(memory_id, page)
    return listed(found, page, total, lambda event: (event.bank_version, event.position))


async def list_weights(
    engine: Engine, call: Call, wanted: WeightOrder, page: Page
) -> Listed[WeightRow]:
    """Living memories by effective weight; each is on exactly one page while nothing moves."""
    async with engine.database.transaction(call.namespace.id) as connection:
        agent_id = await _agent_id(connection, call, wanted.agent)
        shown = await viewer(connection, call)
        store = StateStore(connection, call.namespace.id)
        ids = await MemoryReader(connection, call.namespace.id, shown).list_living()
        states = await store.load(ids)
        weighed = _ordered(call, states.memories, (agent_id, states.deviations), wanted.order)
        part = _after(weighed, page)
        memories = {
            memory.id: memory
            for memory in await MemoryReader(connection, call.namespace.id, shown).some(
                [memory_id for _, memory_id in part]
            )
        }
        counters = await store.counts([memory_id for _, memory_id in part])
    rows = [
        WeightRow(
            memory_id=memory_id,
            situation=memories[memory_id].situation,
            lesson=memories[memory_id].lesson,
            category=memories[memory_id].category,
            effective_weight=weight,
            served=counters[memory_id].served,
            credited=counters[memory_id].credited,
            touched_at=states.memories[memory_id].touched,
            kind=memories[memory_id].kind,
        )
        for weight, memory_id in part
    ]
    return listed(rows, page, len(weighed), lambda row: (row.effective_weight, str(row.memory_id)))


def present(call: Call) -> datetime:
    """Now; in a replay namespace, the newest fact that was applied."""
    if call.namespace.clock is Clock.WALL:
        return call.now
    return call.namespace.newest_known_at or call.namespace.created_at


def _ordered(
    call: Call,
    memories: Mapping[UUID, State],
    deviant: tuple[UUID | None, Mapping[tuple[UUID, UUID], State]],
    order: str,
) -> list[tuple[float, UUID]]:
    policy, now = policy_named(call.namespace.policy), present(call)
    agent_id, deviations = deviant

    def weight(memory_id: UUID) -> float:
        known = None if agent_id is None else deviations.get((memory_id, agent_id))
        aged = None if known is None else policy.age_deviation(known, now)
        return policy.effective_weight(policy.age_memory(memories[memory_id], now), aged)

    sign = -1 if order == "strongest" else 1
    return sorted(
        ((weight(memory_id), memory_id) for memory_id in memories),
        key=lambda pair: (sign * pair[0], pair[1]),
    )


def _after(weighed: Sequence[tuple[float, UUID]], page: Page) -> Sequence[tuple[float, UUID]]:
    """One row more than the page, from behind the cursor."""
    start = 0
    if page.after is not None:
        last = UUID(str(page.after[1]))
        start = next((i + 1 for i, (_, id_) in enumerate(weighed) if id_ == last), len(weighed))
    return weighed[start : start + page.limit + 1]


async def _agent_id(connection: Connection, call: Call, agent: str | None) -> UUID | None:
    if agent is None:
        return None
    return (await ActorStore(connection, call.namespace.id).get_agent(agent)).id


def _named(policy: Policy, which: int, state: State) -> dict[str, float]:
    return dict(zip(NAMES[policy.name][which], state.values, strict=True))
