"""Receipts: what was served, and by which numbers."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.retrieval import receipts as flow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.receipts import ReceiptOut, ReceiptQuery

router = router_at(f"{INSIDE}/retrievals", "retrievals")


@router.get("", response_model=Listing[ReceiptOut])
async def list_retrievals(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ReceiptQuery, Query()]
) -> Response:
    """Receipts; `state=pending` are those an outcome is still awaited for."""
    listed = await flow.list_receipts(engine, call, query.to_filter(), pages.page(query))
    return pages.answered(listed, ReceiptOut.of)


@router.get("/{retrieval_id}", response_model=ReceiptOut)
async def get_retrieval(engine: EngineDep, call: Reads, retrieval_id: UUID) -> Response:
    """The receipt of a retrieval."""
    return answered(ReceiptOut.of(await flow.get_receipt(engine, call, retrieval_id)))


@router.get("/{retrieval_id}/explain", response_model=ReceiptOut)
async def explain_retrieval(engine: EngineDep, call: Reads, retrieval_id: UUID) -> Response:
    """The receipt, with a sentence for each memory on why it stands where it does."""
    return answered(ReceiptOut.explained(await flow.explain(engine, call, retrieval_id)))
