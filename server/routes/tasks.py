"""Tasks: what agents attempt."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.tasks import service as tasks
from memory.tasks.entities import Task, TaskEntry
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads, Retrieves
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.tasks import TaskQuery

router = router_at(f"{INSIDE}/tasks", "tasks")


@router.post("", status_code=201, response_model=Task, responses={200: {"model": Task}})
async def add_task(engine: EngineDep, call: Retrieves, body: TaskEntry) -> Response:
    """Store a task; 200 where the same key and text were there already."""
    task, created = await tasks.add_task(engine, call, body, body.known_at)
    return answered(task, 201 if created else 200)


@router.get("", response_model=Listing[Task])
async def list_tasks(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[TaskQuery, Query()]
) -> Response:
    """Tasks, all or the one with a caller's key."""
    listed = await tasks.list_tasks(engine, call, query.caller_key(), pages.page(query))
    return pages.page_of(Task, listed)


@router.get("/{task_id}", response_model=Task)
async def get_task(engine: EngineDep, call: Reads, task_id: UUID) -> Response:
    """A task by its id."""
    return answered(await tasks.get_task(engine, call, task_id))
