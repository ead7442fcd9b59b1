"""Who acts in a namespace: what each agent did, how it fares, and what memory does for it."""

from collections.abc import Sequence

from memory.constraints.competence import load_competences
from memory.constraints.trajectory_entities import Competence
from memory.insight.agent_entities import AgentProfile
from memory.insight.service import list_effects
from memory.insight.store.agents import AgentStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page
from memory.memories.service import viewer
from memory.tasks.entities import Agent
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Key
from memory.tenancy.store.keys import KeyStore


async def list_agent_profiles(engine: Engine, call: Call, page: Page) -> Listed[AgentProfile]:
    """Agents by name, each with its numbers."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await ActorStore(connection, call.namespace.id).list_agents(page)
    return Listed(await _describe(engine, call, found.items), found.total, found.next)


async def get_agent_profile(engine: Engine, call: Call, name: str) -> AgentProfile:
    """One agent by name. Raises NotFound for a name that nobody goes by."""
    async with engine.database.transaction(call.namespace.id) as connection:
        agent = await ActorStore(connection, call.namespace.id).get_agent(name)
    [profile] = await _describe(engine, call, [agent])
    return profile


async def list_keys_of_agent(engine: Engine, call: Call, name: str) -> list[Key]:
    """The keys that are bound to an agent, ended ones among them, the oldest first."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        return await KeyStore(connection).bound_to(call.namespace.id, name)


async def _describe(
    engine: Engine, call: Call, agents: Sequence[Agent]
) -> tuple[AgentProfile, ...]:
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        activities = await AgentStore(connection, call.namespace.id).activities(
            [agent.id for agent in agents], seen_by.owners
        )
        competences = await load_competences(connection, call.namespace)
    effects = await list_effects(engine, call, None, None)
    return tuple(
        AgentProfile(
            agent,
            activities[agent.id],
            _of(agent, competences),
            tuple(one for one in effects if one.agent == agent.name),
        )
        for agent in agents
    )


def _of(agent: Agent, competences: Sequence[Competence]) -> tuple[Competence, ...]:
    return tuple(one for one in competences if one.agent == agent.name)
