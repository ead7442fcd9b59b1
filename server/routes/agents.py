"""Agents: the callers that attempt tasks."""

from typing import Annotated

from fastapi import Query, Response

from memory.tasks import service as tasks
from memory.tasks.entities import Agent, AgentChange, AgentDraft
from server.answers import PagesDep, answered
from server.dependencies import AgentName, EngineDep, Manages, Reads, Remembers, Version
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery

router = router_at(f"{INSIDE}/agents", "agents")


@router.post("", status_code=201, response_model=Agent)
async def add_agent(engine: EngineDep, call: Remembers, body: AgentDraft) -> Response:
    """Describe an agent before its first use; otherwise it is made by name."""
    made = await tasks.add_agent(engine, call, body)
    return answered(made, 201, version=made.version)


@router.get("", response_model=Listing[Agent])
async def list_agents(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The agents of the namespace."""
    return pages.page_of(Agent, await tasks.list_agents(engine, call, pages.page(query)))


@router.get("/{name}", response_model=Agent)
async def get_agent(engine: EngineDep, call: Reads, name: AgentName) -> Response:
    """An agent by name."""
    agent = await tasks.get_agent(engine, call, name)
    return answered(agent, version=agent.version)


@router.patch("/{name}", response_model=Agent)
async def change_agent(
    engine: EngineDep, call: Manages, name: AgentName, version: Version, body: AgentChange
) -> Response:
    """Change what is known of an agent."""
    agent = await tasks.change_agent(engine, call, name, body, version)
    return answered(agent, version=agent.version)
