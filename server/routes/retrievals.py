"""Retrievals: ask for a guideline before acting."""

from fastapi import Response

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.retrieval.entities import Ask, Served
from memory.retrieval.receipts import explain
from memory.retrieval.service import retrieve
from memory.tenancy.entities import Call
from server.answers import BatchDep, answered, made, only, rejoined
from server.dependencies import EngineDep, Retrieves, SharedDep
from server.errors import status_of
from server.metrics import Meters
from server.routing import INSIDE, router_at
from server.schemas.retrievals import (
    PREVIEW,
    Retrieval,
    RetrievalBatch,
    RetrievalIn,
    RetrievalItem,
    RetrievalsOut,
)

router = router_at(f"{INSIDE}/retrievals", "retrievals")


@router.post("", status_code=201, response_model=Retrieval, responses={200: {"model": Retrieval}})
async def create_retrieval(
    engine: EngineDep, call: Retrieves, shared: SharedDep, body: RetrievalIn
) -> Response:
    """Compile a guideline for the task the agent is about to attempt. A preview answers 200 and
    stores nothing.
    """
    served = only(await retrieve(engine, call, [body.to_ask()]))
    _count(shared.meters, served)
    return answered(await _shape(engine, call, served, body), _status(served))


@router.post("/batch", status_code=207, response_model=RetrievalsOut)
async def create_retrievals(
    engine: EngineDep, call: Retrieves, shared: SharedDep, batch: BatchDep, body: RetrievalBatch
) -> Response:
    """Compile many guidelines; each item has its own status."""
    asks = made(item.to_ask for item in body.items)
    good = [ask for ask in asks if isinstance(ask, Ask)]
    results = rejoined(asks, await retrieve(engine, call, good) if good else [])
    items: list[RetrievalItem] = []
    for index, (result, asked) in enumerate(zip(results, body.items, strict=True)):
        if isinstance(result, MemoryFault):
            problem = batch.problem(result)
            items.append(RetrievalItem(index=index, status=status_of(result), problem=problem))
        else:
            _count(shared.meters, result)
            shape = await _shape(engine, call, result, asked)
            items.append(RetrievalItem(index=index, status=_status(result), retrieval=shape))
    return batch.answered(RetrievalsOut(items=items), (item.status for item in items))


async def _shape(engine: Engine, call: Call, served: Served, asked: RetrievalIn) -> Retrieval:
    """With the sentences where they are asked for; a preview has no receipt to explain."""
    if not asked.explain or served.receipt.purpose == PREVIEW:
        return Retrieval.of(served)
    explanation = await explain(engine, call, served.receipt.id)
    return Retrieval.of(served, explanation.sentences)


def _status(served: Served) -> int:
    return 200 if served.receipt.purpose == PREVIEW else 201


def _count(meters: Meters, served: Served) -> None:
    if served.receipt.purpose != PREVIEW:
        meters.retrievals.labels(served.receipt.arm).inc()
