"""Receipts: what was served, and by which numbers."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.receipts.entities import Receipt
from memory.retrieval import service as retrieval
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.receipts import ReceiptQuery

router = router_at(f"{INSIDE}/retrievals", "retrievals")


@router.get("", response_model=Listing[Receipt])
async def list_retrievals(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ReceiptQuery, Query()]
) -> Response:
    """Receipts; `state=pending` are those an outcome is still awaited for."""
    listed = await retrieval.list_receipts(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Receipt, listed)


@router.get("/{retrieval_id}", response_model=Receipt)
async def get_retrieval(engine: EngineDep, call: Reads, retrieval_id: UUID) -> Response:
    """The receipt of a retrieval."""
    return answered(await retrieval.get_receipt(engine, call, retrieval_id))


@router.get("/{retrieval_id}/explain", response_model=Receipt)
async def explain_retrieval(engine: EngineDep, call: Reads, retrieval_id: UUID) -> Response:
    """The receipt, with a sentence for each memory on why it stands where it does."""
    return answered(await retrieval.explain(engine, call, retrieval_id))
