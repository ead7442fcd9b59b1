"""Retrievals: ask for a guideline before acting; receipts, read and explained."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.kernel.errors import MemoryFault
from memory.receipts.entities import Receipt
from memory.retrieval import service as retrieval
from memory.retrieval.entities import Advice, RetrievalRequest
from memory.retrieval.service import retrieve
from server.answers import BatchDep, PagesDep, answered, only, rejoined
from server.dependencies import AsksForGuidelines, EngineDep, Reads, SharedDep, TraceDep
from server.errors import status_of
from server.metrics import Meters
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.retrieval import (
    ReceiptQuery,
    Retrieval,
    RetrievalBatch,
    RetrievalItem,
    RetrievalsOut,
)
from server.tracing import note_search

retrievals_router = router_at(f"{INSIDE}/retrievals", "retrievals")


@retrievals_router.post(
    "", status_code=201, response_model=Retrieval, responses={200: {"model": Retrieval}}
)
async def create_retrieval(
    engine: EngineDep,
    asked: AsksForGuidelines,
    shared: SharedDep,
    trace: TraceDep,
    body: RetrievalRequest,
) -> Response:
    """Compile a guideline for the task the agent is about to attempt. A preview answers 200 and
    stores nothing.
    """
    advice = only(await retrieve(engine, asked.call, [body.within_trace(trace)], asked.proof))
    _count(shared.meters, advice)
    note_search(shared.tracing, [body], [advice])
    return answered(Retrieval.of(advice), _status(advice))


@retrievals_router.post("/batch", status_code=207, response_model=RetrievalsOut)
async def create_retrievals(
    engine: EngineDep,
    asked: AsksForGuidelines,
    shared: SharedDep,
    batch: BatchDep,
    trace: TraceDep,
    body: RetrievalBatch,
) -> Response:
    """Compile many guidelines; each item has its own status."""
    requests = body.requests()
    good = [one.within_trace(trace) for one in requests if isinstance(one, RetrievalRequest)]
    answers = await retrieve(engine, asked.call, good, asked.proof) if good else []
    results = rejoined(requests, answers)
    items: list[RetrievalItem] = []
    for index, result in enumerate(results):
        if isinstance(result, MemoryFault):
            problem = batch.problem(result)
            items.append(RetrievalItem(index=index, status=status_of(result), problem=problem))
        else:
            _count(shared.meters, result)
            retrieval = Retrieval.of(result)
            items.append(RetrievalItem(index=index, status=_status(result), retrieval=retrieval))
    note_search(shared.tracing, good, [one for one in results if isinstance(one, Advice)])
    return batch.answered(RetrievalsOut(items=items), (item.status for item in items))


def _status(advice: Advice) -> int:
    return 200 if advice.receipt.is_preview else 201


def _count(meters: Meters, advice: Advice) -> None:
    if not advice.receipt.is_preview:
        meters.retrievals.labels(advice.receipt.arm).inc()


receipts_router = router_at(f"{INSIDE}/retrievals", "retrievals")


@receipts_router.get("", response_model=Listing[Receipt])
async def list_retrievals(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ReceiptQuery, Query()]
) -> Response:
    """Receipts; `state=pending` are those an outcome is still awaited for."""
    listed = await retrieval.list_receipts(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Receipt, listed)


@receipts_router.get("/{retrieval_id}", response_model=Receipt)
async def get_retrieval(engine: EngineDep, call: Reads, retrieval_id: UUID) -> Response:
    """The receipt of a retrieval."""
    return answered(await retrieval.get_receipt(engine, call, retrieval_id))


@receipts_router.get("/{retrieval_id}/explain", response_model=Receipt)
async def explain_retrieval(engine: EngineDep, call: Reads, retrieval_id: UUID) -> Response:
    """The receipt, with a sentence for each memory on why it stands where it does."""
    return answered(await retrieval.explain(engine, call, retrieval_id))
