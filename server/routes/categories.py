"""Categories: kinds of tasks, on two levels."""

from typing import Annotated

from fastapi import Query, Response

from memory.tasks import service as tasks
from memory.tasks.entities import Category, CategoryName
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads, Remembers
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery

router = router_at(f"{INSIDE}/categories", "categories")


@router.post("", status_code=201, response_model=Category)
async def add_category(engine: EngineDep, call: Remembers, body: CategoryName) -> Response:
    """Make a category; in an open namespace its first use would do so too."""
    return answered(await tasks.add_category(engine, call, body), 201)


@router.get("", response_model=Listing[Category])
async def list_categories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The categories of the namespace."""
    return pages.page_of(Category, await tasks.list_categories(engine, call, pages.page(query)))
