"""Tasks: what agents attempt."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.tasks import service as actors
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads, Retrieves
from server.routing import INSIDE, router_at
from server.schemas.actors import TaskOut, TaskPost, TaskQuery
from server.schemas.base import Listing

router = router_at(f"{INSIDE}/tasks", "tasks")


@router.post("", status_code=201, response_model=TaskOut, responses={200: {"model": TaskOut}})
async def add_task(engine: EngineDep, call: Retrieves, body: TaskPost) -> Response:
    """Store a task; 200 where the same key and text were there already."""
    task, created = await actors.add_task(engine, call, body.to_draft(), body.known_at)
    return answered(TaskOut.of(task), 201 if created else 200)


@router.get("", response_model=Listing[TaskOut])
async def list_tasks(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[TaskQuery, Query()]
) -> Response:
    """Tasks, all or the one with a caller's key."""
    listed = await actors.list_tasks(engine, call, query.caller_key(), pages.page(query))
    return pages.answered(listed, TaskOut.of)


@router.get("/{task_id}", response_model=TaskOut)
async def get_task(engine: EngineDep, call: Reads, task_id: UUID) -> Response:
    """A task by its id."""
    return answered(TaskOut.of(await actors.get_task(engine, call, task_id)))
