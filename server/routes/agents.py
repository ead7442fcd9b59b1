"""Agents: the callers that attempt tasks."""

from typing import Annotated

from fastapi import Query, Response

from memory.tasks import service as actors
from server.answers import PagesDep, answered
from server.dependencies import AgentName, EngineDep, Manages, Reads, Remembers, Version
from server.routing import INSIDE, router_at
from server.schemas.actors import AgentIn, AgentOut, AgentPatch
from server.schemas.base import Listing, ListQuery

router = router_at(f"{INSIDE}/agents", "agents")


@router.post("", status_code=201, response_model=AgentOut)
async def add_agent(engine: EngineDep, call: Remembers, body: AgentIn) -> Response:
    """Describe an agent before its first use; otherwise it is made by name."""
    made = await actors.add_agent(engine, call, body.to_draft())
    return answered(AgentOut.of(made), 201, version=made.version)


@router.get("", response_model=Listing[AgentOut])
async def list_agents(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The agents of the namespace."""
    return pages.answered(await actors.list_agents(engine, call, pages.page(query)), AgentOut.of)


@router.get("/{name}", response_model=AgentOut)
async def get_agent(engine: EngineDep, call: Reads, name: AgentName) -> Response:
    """An agent by name."""
    agent = await actors.get_agent(engine, call, name)
    return answered(AgentOut.of(agent), version=agent.version)


@router.patch("/{name}", response_model=AgentOut)
async def change_agent(
    engine: EngineDep, call: Manages, name: AgentName, version: Version, body: AgentPatch
) -> Response:
    """Change what is known of an agent."""
    agent = await actors.change_agent(engine, call, name, body.to_change(), version)
    return answered(AgentOut.of(agent), version=agent.version)
