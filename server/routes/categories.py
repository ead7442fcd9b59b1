"""Categories: kinds of tasks, on two levels."""

from typing import Annotated

from fastapi import Query, Response

from memory.tasks import service as actors
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads, Remembers
from server.routing import INSIDE, router_at
from server.schemas.actors import CategoryIn, CategoryOut
from server.schemas.base import Listing, ListQuery

router = router_at(f"{INSIDE}/categories", "categories")


@router.post("", status_code=201, response_model=CategoryOut)
async def add_category(engine: EngineDep, call: Remembers, body: CategoryIn) -> Response:
    """Make a category; in an open namespace its first use would do so too."""
    made = await actors.add_category(engine, call, body.to_name())
    return answered(CategoryOut.of(made), 201)


@router.get("", response_model=Listing[CategoryOut])
async def list_categories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The categories of the namespace."""
    listed = await actors.list_categories(engine, call, pages.page(query))
    return pages.answered(listed, CategoryOut.of)
