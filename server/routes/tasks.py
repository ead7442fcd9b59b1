"""Agents, categories and tasks: who acts, on what."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import renaming
from memory.constraints.renaming import CategoryRename
from memory.outcomes import measures
from memory.tasks import service as tasks
from memory.tasks.entities import (
    Agent,
    AgentChange,
    AgentDraft,
    Category,
    CategoryName,
    Measure,
    Task,
    TaskEntry,
)
from server.answers import PagesDep, answered
from server.dependencies import AgentName, EngineDep, Manages, Reads, Remembers, Retrieves, Version
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.tasks import TaskQuery

agents_router = router_at(f"{INSIDE}/agents", "agents")


@agents_router.post("", status_code=201, response_model=Agent)
async def add_agent(engine: EngineDep, call: Remembers, body: AgentDraft) -> Response:
    """Describe an agent before its first use; otherwise it is made by name."""
    made = await tasks.add_agent(engine, call, body)
    return answered(made, 201, version=made.version)


@agents_router.get("", response_model=Listing[Agent])
async def list_agents(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The agents of the namespace."""
    return pages.page_of(Agent, await tasks.list_agents(engine, call, pages.page(query)))


@agents_router.get("/{name}", response_model=Agent)
async def get_agent(engine: EngineDep, call: Reads, name: AgentName) -> Response:
    """An agent by name."""
    agent = await tasks.get_agent(engine, call, name)
    return answered(agent, version=agent.version)


@agents_router.patch("/{name}", response_model=Agent)
async def change_agent(
    engine: EngineDep, call: Manages, name: AgentName, version: Version, body: AgentChange
) -> Response:
    """Change what is known of an agent."""
    agent = await tasks.change_agent(engine, call, name, body, version)
    return answered(agent, version=agent.version)


categories_router = router_at(f"{INSIDE}/categories", "categories")


@categories_router.post("", status_code=201, response_model=Category)
async def add_category(engine: EngineDep, call: Remembers, body: CategoryName) -> Response:
    """Make a category; in an open namespace its first use would do so too."""
    return answered(await tasks.add_category(engine, call, body), 201)


@categories_router.get("", response_model=Listing[Category])
async def list_categories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The categories of the namespace."""
    return pages.page_of(Category, await tasks.list_categories(engine, call, pages.page(query)))


@categories_router.put("/{category_id}/measure", response_model=Category)
async def set_measure(
    engine: EngineDep, call: Manages, category_id: UUID, body: Measure
) -> Response:
    """Fix what later outcomes of a category are measured by; an empty body leaves it to them."""
    return answered(await measures.set_measure(engine, call, category_id, body))


@categories_router.put("/{category_id}/name", response_model=Category)
async def rename_category(
    engine: EngineDep, call: Manages, category_id: UUID, body: CategoryRename
) -> Response:
    """Give a category another name; what was learned in it stays, and the taxonomy follows."""
    return answered(await renaming.rename_category(engine, call, category_id, body))


tasks_router = router_at(f"{INSIDE}/tasks", "tasks")


@tasks_router.post("", status_code=201, response_model=Task, responses={200: {"model": Task}})
async def add_task(engine: EngineDep, call: Retrieves, body: TaskEntry) -> Response:
    """Store a task; 200 where the same key and text were there already."""
    task, created = await tasks.add_task(engine, call, body, body.known_at)
    return answered(task, 201 if created else 200)


@tasks_router.get("", response_model=Listing[Task])
async def list_tasks(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[TaskQuery, Query()]
) -> Response:
    """Tasks, all or the one with a caller's key."""
    listed = await tasks.list_tasks(engine, call, query.caller_key(), pages.page(query))
    return pages.page_of(Task, listed)


@tasks_router.get("/{task_id}", response_model=Task)
async def get_task(engine: EngineDep, call: Reads, task_id: UUID) -> Response:
    """A task by its id."""
    return answered(await tasks.get_task(engine, call, task_id))
