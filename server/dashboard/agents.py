"""Agents: what each did, how it fares without and with memory, and which keys speak for it."""

from fastapi import Response

from memory.insight.agent_entities import AgentProfile
from memory.insight.agents import get_agent_profile, list_agent_profiles, list_keys_of_agent
from memory.tenancy.entities import Act
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.overview import reach_of
from server.dashboard.viewer import Reads, page

router = guarded_at("/dashboard/ns/{namespace}/agents")


@router.get("")
async def show_agents(viewer: Reads) -> Response:
    """Every agent of the namespace in a line, by name."""
    listed = await list_agent_profiles(viewer.engine, viewer.call, page_of(viewer))
    return page(viewer, "agents.html", table=shown(viewer, listed))


@router.get("/{name:path}")
async def show_agent(viewer: Reads, name: str) -> Response:
    """One agent, category by category."""
    profile = await get_agent_profile(viewer.engine, viewer.call, name)
    keys = ()
    if viewer.may(Act.MANAGE):
        keys = await list_keys_of_agent(viewer.engine, viewer.call, profile.agent.name)
    reach = reach_of(profile.effects)
    return page(viewer, "agent.html", one=profile, cells=cells_of(profile), reach=reach, keys=keys)


def cells_of(profile: AgentProfile) -> list[str]:
    """The categories in which anything is known of an agent, by name."""
    return sorted(
        {one.category for one in profile.competences} | {one.category for one in profile.effects}
    )
