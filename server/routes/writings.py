"""Writings: what a language model was asked and what it said, and the tokens it has left."""

from typing import Annotated

from fastapi import Query, Response

from memory.llm import client as flow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Inspects
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.writings import TokenBudgetOut, WritingOut, WritingQuery

router = router_at(f"{INSIDE}/writings", "writings")


@router.get("", response_model=Listing[WritingOut])
async def list_writings(
    engine: EngineDep, call: Inspects, pages: PagesDep, query: Annotated[WritingQuery, Query()]
) -> Response:
    """Every try of the language model, with its prompt and answer, without secrets."""
    found = await flow.list_writings(engine, call, query.to_filter(), pages.page(query))
    return pages.answered(found, WritingOut.of)


@router.get("/budget", response_model=TokenBudgetOut)
async def get_writing_budget(engine: EngineDep, call: Inspects) -> Response:
    """The tokens that today has left."""
    return answered(TokenBudgetOut.of(await flow.budget_of(engine, call), engine.writer))
