"""Agents, categories and tasks are named."""

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.tasks.entities import (
    GENERAL_NAME,
    OWN_NAMES,
    Agent,
    AgentChange,
    AgentDraft,
    Category,
    CategoryIds,
    CategoryName,
    Task,
    TaskDraft,
)
from memory.tasks.store.actors import ActorStore
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.namespace_settings import Taxonomy
from memory.tenancy.store.calls import CallStore

GENERAL = CategoryName(GENERAL_NAME)
"""Where a task goes that names no category and is like none."""


async def add_agent(engine: Engine, call: Call, draft: AgentDraft) -> Agent:
    """Raises Conflict where an agent of that name exists."""
    call.key.require(Act.REMEMBER)
    call.key.require_agent(draft.name)
    _require_other(draft.name)
    async with engine.database.effect(call.namespace.id) as connection:
        return await ActorStore(connection, call.namespace.id).add_agent(
            draft, call.key.id, call.now
        )


async def get_agent(engine: Engine, call: Call, name: str) -> Agent:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ActorStore(connection, call.namespace.id).get_agent(name)


async def list_agents(engine: Engine, call: Call, page: Page) -> Listed[Agent]:
    """By name."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ActorStore(connection, call.namespace.id).list_agents(page)


async def change_agent(
    engine: Engine, call: Call, name: str, change: AgentChange, version: int
) -> Agent:
    """Describe the agent anew, over the version its editor saw."""
    call.key.require(Act.MANAGE)
    values = {field: value for field, value in asdict(change).items() if value is not None}
    async with engine.database.transaction(call.namespace.id) as connection:
        changed = await ActorStore(connection, call.namespace.id).change_agent(
            name, values, version
        )
        event = AuditEvent("agent.change", str(changed.id), {"fields": sorted(values)})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return changed


async def add_category(engine: Engine, call: Call, name: CategoryName) -> Category:
    """The category, made unless it is there; in a closed taxonomy only managers make them."""
    call.key.require(Act.REMEMBER)
    if call.namespace.settings.categories is Taxonomy.CLOSED:
        call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        store = ActorStore(connection, call.namespace.id)
        ids = await store.ensure_category(name, call.key.id, call.now)
        return await store.get_category(ids.deepest)


async def list_categories(engine: Engine, call: Call, page: Page) -> Listed[Category]:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ActorStore(connection, call.namespace.id).list_categories(page)


async def add_task(
    engine: Engine, call: Call, draft: TaskDraft, known_at: datetime | None
) -> tuple[Task, bool]:
    """The task, and whether it is new; the same key is the same task."""
    call.key.require(Act.RETRIEVE)
    known = call.namespace.known_at(known_at, call.now)
    async with engine.database.effect(call.namespace.id) as connection:
        return await NameResolver(connection, call).ensure_task(draft, known)


async def get_task(engine: Engine, call: Call, task_id: UUID) -> Task:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await TaskStore(connection, call.namespace.id).get(task_id)


async def some_tasks(engine: Engine, call: Call, task_ids: Collection[UUID]) -> dict[UUID, Task]:
    """These tasks by id, as far as there are any."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await TaskStore(connection, call.namespace.id).some(sorted(task_ids), [])
    return {task.id: task for task in found}


async def list_tasks(engine: Engine, call: Call, key: str | None, page: Page) -> Listed[Task]:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await TaskStore(connection, call.namespace.id).browse(key, page)


class NameResolver:
    """Agents, categories and tasks by name, made where they are missing; inside one transaction,
    and each agent and category looked up once.
    """

    def __init__(self, connection: Connection, call: Call) -> None:
        self._call = call
        self._actors = ActorStore(connection, call.namespace.id)
        self._tasks = TaskStore(connection, call.namespace.id)
        self._agents: dict[str, Agent] = {}
        self._categories: dict[CategoryName, CategoryIds] = {}

    async def ensure_agent(self, name: str) -> Agent:
        """The agent of that name, made at first use."""
        _require_other(name)
        if name not in self._agents:
            found = await self._actors.ensure_agent(name, self._call.key.id, self._call.now)
            self._agents[name] = found
        return self._agents[name]

    async def ensure_category(self, name: CategoryName) -> CategoryIds:
        """Ids of both levels; a closed taxonomy refuses what it does not know."""
        if name not in self._categories:
            closed = self._call.namespace.settings.categories is Taxonomy.CLOSED
            if closed and name != GENERAL:
                await self._actors.require_category(name)
            made = await self._actors.ensure_category(name, self._call.key.id, self._call.now)
            self._categories[name] = made
        return self._categories[name]

    async def ensure_task(self, draft: TaskDraft, known_at: datetime) -> tuple[Task, bool]:
        """The task, and whether it is new."""
        name = draft.category_name or GENERAL
        written = Provenance(self._call.key.id, known_at, self._call.now)
        ids = await self.ensure_category(name)
        return await self._tasks.ensure(draft.in_category(name), ids, written)


def _require_other(name: str) -> None:
    """What the server writes itself is under its own name, which no caller may take."""
    if name in OWN_NAMES:
        raise Rejected(f"{name} is the server's own name", field="agent")
