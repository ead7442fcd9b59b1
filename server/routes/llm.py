"""What a language model was asked and what it answered."""

from typing import Annotated

from fastapi import Query, Response

from memory.llm import client as llm
from memory.llm.budget import budget_of
from memory.llm.entities import LlmCall, TokenBudget
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Inspects
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.llm import LlmCallQuery

llm_calls_router = router_at(f"{INSIDE}/llm-calls", "llm-calls")


@llm_calls_router.get("", response_model=Listing[LlmCall])
async def list_llm_calls(
    engine: EngineDep, call: Inspects, pages: PagesDep, query: Annotated[LlmCallQuery, Query()]
) -> Response:
    """Every attempt of the language model, with its prompt and answer, without secrets."""
    found = await llm.list_llm_calls(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(LlmCall, found)


@llm_calls_router.get("/budget", response_model=TokenBudget)
async def get_llm_budget(engine: EngineDep, call: Inspects) -> Response:
    """The tokens that today has left."""
    return answered(await budget_of(engine, call))
