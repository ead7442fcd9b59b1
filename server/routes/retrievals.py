"""Retrievals: ask for a guideline before acting."""

from fastapi import Response

from memory.kernel.errors import MemoryFault
from memory.retrieval.entities import Advice, RetrievalRequest
from memory.retrieval.service import retrieve
from server.answers import BatchDep, answered, only, rejoined
from server.dependencies import EngineDep, Retrieves, SharedDep
from server.errors import status_of
from server.metrics import Meters
from server.routing import INSIDE, router_at
from server.schemas.retrievals import (
    Retrieval,
    RetrievalBatch,
    RetrievalItem,
    RetrievalsOut,
)

router = router_at(f"{INSIDE}/retrievals", "retrievals")


@router.post("", status_code=201, response_model=Retrieval, responses={200: {"model": Retrieval}})
async def create_retrieval(
    engine: EngineDep, call: Retrieves, shared: SharedDep, body: RetrievalRequest
) -> Response:
    """Compile a guideline for the task the agent is about to attempt. A preview answers 200 and
    stores nothing.
    """
    advice = only(await retrieve(engine, call, [body]))
    _count(shared.meters, advice)
    return answered(Retrieval.of(advice), _status(advice))


@router.post("/batch", status_code=207, response_model=RetrievalsOut)
async def create_retrievals(
    engine: EngineDep, call: Retrieves, shared: SharedDep, batch: BatchDep, body: RetrievalBatch
) -> Response:
    """Compile many guidelines; each item has its own status."""
    requests = body.requests()
    good = [one for one in requests if isinstance(one, RetrievalRequest)]
    results = rejoined(requests, await retrieve(engine, call, good) if good else [])
    items: list[RetrievalItem] = []
    for index, result in enumerate(results):
        if isinstance(result, MemoryFault):
            problem = batch.problem(result)
            items.append(RetrievalItem(index=index, status=status_of(result), problem=problem))
        else:
            _count(shared.meters, result)
            retrieval = Retrieval.of(result)
            items.append(RetrievalItem(index=index, status=_status(result), retrieval=retrieval))
    return batch.answered(RetrievalsOut(items=items), (item.status for item in items))


def _status(advice: Advice) -> int:
    return 200 if advice.receipt.is_preview else 201


def _count(meters: Meters, advice: Advice) -> None:
    if not advice.receipt.is_preview:
        meters.retrievals.labels(advice.receipt.arm).inc()
