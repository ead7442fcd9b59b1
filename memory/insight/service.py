"""What was learned is read: states → aged to now → weights, effects and rankers, by name."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.belief.belief import SCALE
from memory.belief.effect import effect_of
from memory.belief.entities import WeightEvent
from memory.belief.fold import Cell, Learned
from memory.belief.guard import feedback_dates, losses_of
from memory.belief.policy import policy_named
from memory.belief.rankers import RANKERS
from memory.belief.states import State
from memory.belief.store.states import StateStore
from memory.belief.strength import feedback_dates as strength_dates
from memory.belief.strength import initial_strength
from memory.insight.entities import (
    Effect,
    RankerRecord,
    Weight,
    WeightOrder,
    WeightRow,
)
from memory.insight.influence_entities import PartyInfluence
from memory.insight.store.episodes import EpisodeStore
from memory.insight.store.events import WeightEventStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.memories.browse_entities import AgentRecord, Episode
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.retrieval.ranking import CellStrength, ranker_shares, strength_in
from memory.tasks.entities import Agent
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Clock, Key
from memory.tenancy.store.keys import KeyStore

STATE_NAMES: Mapping[str, Sequence[str]] = {
    "belief": ("mean", "variance"),
    "paper": ("weight",),
    "paper-strict": ("weight",),
    "steps": ("weight",),
    "delta": ("mean",),
}
"""What the numbers of a memory's state are called in each policy; a deviation's are the same."""


async def get_weight(engine: Engine, call: Call, memory_id: UUID, agent: str | None) -> Weight:
    """A memory's weight now, for one agent or for none in particular."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await require_memory(connection, call, memory_id)
        agent_id = await _agent_id(connection, call, agent)
        store = StateStore(connection, call.namespace.id)
        states = await store.load([memory_id])
        counters = (await store.counts([memory_id]))[memory_id]
        parties = await KeyStore(connection).some({party for _, party in states.influences})
    policy = policy_named(call.namespace.policy)
    memory, deviation = _aged_states(call, states, memory_id, agent_id)
    return Weight(
        memory_id=memory_id,
        agent=agent,
        effective_weight=policy.effective_weight(memory, deviation),
        ranking_weight=policy.ranking_weight(memory, deviation),
        state=_named(policy.name, memory),
        deviation=None if deviation is None else _named(policy.name, deviation),
        served=counters.served,
        credited=counters.credited,
        helpful=counters.helpful,
        harmful=counters.harmful,
        touched_at=memory.touched,
        influences=_influences(call, states, parties),
    )


def _influences(
    call: Call, states: Learned, parties: Mapping[UUID, Key]
) -> tuple[PartyInfluence, ...]:
    """Those of one memory, aged to the time of reading, in weight."""
    policy, now = policy_named(call.namespace.policy), present(call)
    found: list[PartyInfluence] = []
    for (_, party), state in states.influences.items():
        effect, counted = (value / SCALE for value in policy.age_influence(state, now).values)
        agents = parties[party].agents
        found.append(PartyInfluence(party, agents, effect, counted, effect - counted))
    return tuple(sorted(found, key=lambda one: (-abs(one.effect), one.party)))


async def list_weight_events(
    engine: Engine, call: Call, memory_id: UUID, page: Page
) -> Listed[WeightEvent]:
    """Every change of the memory's belief, of agents' deviations from it and of parties' influences
    on it, oldest first.
    """
    async with engine.database.transaction(call.namespace.id) as connection:
        await require_memory(connection, call, memory_id)
        store = WeightEventStore(connection, call.namespace.id)
        found, total = await store.of_memory(memory_id, page)
    return listed(found, page, total, lambda event: (event.bank_version, event.position))


async def list_weights(
    engine: Engine, call: Call, wanted: WeightOrder, page: Page
) -> Listed[WeightRow]:
    """Living memories by effective weight; each is on exactly one page while nothing moves."""
    async with engine.database.transaction(call.namespace.id) as connection:
        agent_id = await _agent_id(connection, call, wanted.agent)
        seen_by = await viewer(connection, call)
        store = StateStore(connection, call.namespace.id)
        reader = MemoryReader(connection, call.namespace.id, seen_by)
        states = await store.load(await reader.list_living())
        weights = _effective_weights(call, states, agent_id)
        sign = -1 if wanted.order == "strongest" else 1
        ordered = sorted(weights, key=lambda memory_id: (sign * weights[memory_id], memory_id))
        part = _after(ordered, page)
        memories = {memory.id: memory for memory in await reader.some(part)}
        counters = await store.counts(part)
    rows = [
        WeightRow(
            memory_id=memory_id,
            situation=memories[memory_id].situation,
            lesson=memories[memory_id].lesson,
            category=memories[memory_id].category,
            effective_weight=weights[memory_id],
            served=counters[memory_id].served,
            credited=counters[memory_id].credited,
            touched_at=states.memories[memory_id].touched,
            kind=memories[memory_id].kind,
        )
        for memory_id in part
    ]
    return listed(rows, page, len(weights), lambda row: (row.effective_weight, str(row.memory_id)))


async def list_episodes(engine: Engine, call: Call, memory_id: UUID, page: Page) -> Listed[Episode]:
    """The receipts in which it was served, the newest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await require_memory(connection, call, memory_id)
        found, total = await EpisodeStore(connection, call.namespace.id).of_memory(memory_id, page)
    return listed(found, page, total, lambda episode: (str(episode.retrieval_id),))


async def list_agent_records(engine: Engine, call: Call, memory_id: UUID) -> list[AgentRecord]:
    """A memory's results for each agent in each category, and each agent's deviation, aged to
    now.
    """
    async with engine.database.transaction(call.namespace.id) as connection:
        await require_memory(connection, call, memory_id)
        results = await EpisodeStore(connection, call.namespace.id).by_cell(memory_id)
        states = await StateStore(connection, call.namespace.id).load([memory_id])
    policy = policy_named(call.namespace.policy)
    records: list[AgentRecord] = []
    for result in results:
        memory, deviation = _aged_states(call, states, memory_id, result.agent_id)
        records.append(
            AgentRecord(
                agent=result.agent,
                category=result.category,
                served=result.served,
                n=result.n,
                reward=result.reward,
                n_pairs=result.n_pairs,
                reward_without=result.reward_without,
                deviation=None if deviation is None else deviation.values[0],
                effective_weight=policy.effective_weight(memory, deviation),
            )
        )
    return records


async def list_effects(
    engine: Engine, call: Call, agent: str | None, category: str | None
) -> list[Effect]:
    """What memory did per agent and category, and its strength there, by name."""
    async with engine.database.transaction(call.namespace.id) as connection:
        names = await load_names(connection, call)
        states = await StateStore(connection, call.namespace.id).load_cells()
    days = defaultdict[Cell, list[State]](list)
    for agent_id, category_id, date in sorted(states.effects):
        days[agent_id, category_id].append(states.effects[agent_id, category_id, date])
    effects = [
        _effect(call, names, states, cell, days[cell])
        for cell in {*days, *states.strengths}
        if agent in (None, names.agents[cell[0]].name)
        and category in (None, names.categories[cell[1]])
    ]
    return sorted(effects, key=lambda effect: (effect.agent, effect.category))


async def list_ranker_records(engine: Engine, call: Call) -> list[RankerRecord]:
    """The guard's record of the namespace and of each category that has one, by name."""
    async with engine.database.transaction(call.namespace.id) as connection:
        names = (await load_names(connection, call)).categories
        records = (await StateStore(connection, call.namespace.id).load_cells()).records
    signal = call.namespace.signal
    return [
        RankerRecord(
            category=None if key is None else names[key],
            feedback_dates=feedback_dates(records[key]),
            probabilities=dict(ranker_shares(records, key, present(call), signal=signal)),
            losses=losses_of(records[key], RANKERS),
        )
        for key in sorted(records, key=lambda key: "" if key is None else names[key])
    ]


def present(call: Call) -> datetime:
    """Now; in a replay namespace, the newest fact that was applied."""
    if call.namespace.clock is Clock.WALL:
        return call.now
    return call.namespace.newest_known_at or call.namespace.created_at


@dataclass(frozen=True, slots=True)
class ActorNames:
    """Agents by id, and names of categories by id."""

    agents: Mapping[UUID, Agent]
    categories: Mapping[UUID, str]


async def load_names(connection: Connection, call: Call) -> ActorNames:
    """Those of the namespace."""
    actors = ActorStore(connection, call.namespace.id)
    agents = {agent.id: agent for agent in await actors.every_agent()}
    return ActorNames(agents, await actors.names())


async def require_memory(connection: Connection, call: Call, memory_id: UUID) -> None:
    """Raises NotFound where the caller sees no such memory."""
    reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
    await reader.get(memory_id)


async def _agent_id(connection: Connection, call: Call, agent: str | None) -> UUID | None:
    if agent is None:
        return None
    return (await ActorStore(connection, call.namespace.id).get_agent(agent)).id


def _aged_states(
    call: Call, states: Learned, memory_id: UUID, agent_id: UUID | None
) -> tuple[State, State | None]:
    """The memory's state and, if the agent deviates, its deviation."""
    policy, now = policy_named(call.namespace.policy), present(call)
    known = None if agent_id is None else states.deviations.get((memory_id, agent_id))
    deviation = None if known is None else policy.age_deviation(known, now)
    return policy.age_memory(states.memories[memory_id], now), deviation


def _named(policy: str, state: State) -> dict[str, float]:
    return dict(zip(STATE_NAMES[policy], state.values, strict=True))


def _effective_weights(call: Call, states: Learned, agent_id: UUID | None) -> dict[UUID, float]:
    policy = policy_named(call.namespace.policy)
    return {
        memory_id: policy.effective_weight(*_aged_states(call, states, memory_id, agent_id))
        for memory_id in states.memories
    }


def _after(ordered: Sequence[UUID], page: Page) -> Sequence[UUID]:
    """One row more than the page, from behind the cursor."""
    start = 0
    if page.after is not None:
        last = UUID(str(page.after[1]))
        start = next((i + 1 for i, one in enumerate(ordered) if one == last), len(ordered))
    return ordered[start : start + page.limit + 1]


def _effect(
    call: Call, names: ActorNames, states: Learned, cell: Cell, days: Sequence[State]
) -> Effect:
    agent = names.agents[cell[0]]
    estimates = effect_of(days)
    known = states.strengths.get(cell) or initial_strength()
    followed = CellStrength()
    if policy_named(call.namespace.policy).guarded:
        followed = strength_in(states, cell, present(call), own=agent.own_information)
    return Effect(
        agent=agent.name,
        category=names.categories[cell[1]],
        n=sum(mean.n for mean in estimates.arms.values()),
        arms=dict(sorted(estimates.arms.items())),
        paired=estimates.paired,
        randomised=estimates.randomised,
        strength=followed.value,
        suspended=followed.suspended,
        feedback_dates=strength_dates(known),
    )
