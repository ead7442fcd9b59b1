"""Settlements: say what an event came to, and every prediction of it is scored."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.forecasts import settlements as events
from memory.forecasts.entities import Settled, Settlement, SettlementDraft
from memory.kernel.errors import MemoryFault
from server.answers import Batch, BatchDep, PagesDep, answered, only, rejoined
from server.dependencies import EngineDep, Reads, Settles, SharedDep
from server.errors import status_of
from server.metrics import Meters
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.settlements import (
    SettlementBatch,
    SettlementItem,
    SettlementQuery,
    SettlementsTaken,
    status_of_settlement,
)

router = router_at(f"{INSIDE}/settlements", "settlements")


@router.post("", status_code=201, response_model=Settlement, responses={200: {"model": Settlement}})
async def settle(
    engine: EngineDep, call: Settles, shared: SharedDep, body: SettlementDraft
) -> Response:
    """Settle an event, or some windows of it; 200 where the same was said before."""
    settled = only(await events.settle(engine, call, [body]))
    _count(shared.meters, settled)
    return answered(settled.settlement, status_of_settlement(settled))


@router.post("/batch", status_code=207, response_model=SettlementsTaken)
async def settle_all(
    engine: EngineDep, call: Settles, shared: SharedDep, batch: BatchDep, body: SettlementBatch
) -> Response:
    """Settle many events; each item has its own status."""
    drafts: list[SettlementDraft | MemoryFault] = [*body.items]
    good = [draft for draft in drafts if isinstance(draft, SettlementDraft)]
    results = rejoined(drafts, await events.settle(engine, call, good) if good else [])
    for result in results:
        if isinstance(result, Settled):
            _count(shared.meters, result)
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(SettlementsTaken(items=items), (item.status for item in items))


def _item(batch: Batch, index: int, result: Settled | MemoryFault) -> SettlementItem:
    if isinstance(result, MemoryFault):
        return SettlementItem(index=index, status=status_of(result), problem=batch.problem(result))
    status = status_of_settlement(result)
    return SettlementItem(index=index, status=status, settlement=result.settlement)


def _count(meters: Meters, settled: Settled) -> None:
    if settled.created:
        kind = "first" if settled.settlement.corrects is None else "correction"
        meters.settlements.labels(kind).inc()
    for status in settled.outcomes:
        meters.outcomes.labels(status).inc()


@router.get("", response_model=Listing[Settlement])
async def list_settlements(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[SettlementQuery, Query()]
) -> Response:
    """Settlements, also those that were corrected."""
    listed = await events.list_settlements(engine, call, query.event_name(), pages.page(query))
    return pages.page_of(Settlement, listed)


@router.get("/{settlement_id}", response_model=Settlement)
async def get_settlement(engine: EngineDep, call: Reads, settlement_id: UUID) -> Response:
    """A settlement with its scores."""
    return answered(await events.get_settlement(engine, call, settlement_id))
