"""Predictions and settlements."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.forecasts import service as predicting
from memory.forecasts import settlements as events
from memory.forecasts.entities import (
    Predicted,
    PredictionDraft,
    Settled,
    Settlement,
    SettlementDraft,
)
from memory.kernel.errors import MemoryFault
from memory.kernel.paging import Listed
from server.answers import Batch, BatchDep, PagesDep, answered, only, rejoined
from server.dependencies import EngineDep, Predicts, Reads, Settles, SharedDep
from server.errors import status_of
from server.metrics import Meters
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.forecasts import (
    ForecastBatch,
    Prediction,
    PredictionHistory,
    PredictionItem,
    PredictionQuery,
    PredictionsTaken,
    SettlementBatch,
    SettlementItem,
    SettlementQuery,
    SettlementsTaken,
    status_of_prediction,
    status_of_settlement,
)

predictions_router = router_at(f"{INSIDE}/predictions", "predictions")


@predictions_router.post(
    "", status_code=201, response_model=Prediction, responses={200: {"model": Prediction}}
)
async def predict(
    engine: EngineDep, call: Predicts, shared: SharedDep, body: PredictionDraft
) -> Response:
    """Forecast a window of an event; 200 where it was revised or is unchanged."""
    predicted = only(await predicting.predict(engine, call, [body]))
    _count(shared.meters, predicted)
    return answered(Prediction.of(predicted.prediction), status_of_prediction(predicted))


@predictions_router.post("/batch", status_code=207, response_model=PredictionsTaken)
async def predict_all(
    engine: EngineDep, call: Predicts, shared: SharedDep, batch: BatchDep, body: ForecastBatch
) -> Response:
    """Forecast many windows; each item has its own status."""
    drafts: list[PredictionDraft | MemoryFault] = [*body.items]
    good = [draft for draft in drafts if isinstance(draft, PredictionDraft)]
    results = rejoined(drafts, await predicting.predict(engine, call, good) if good else [])
    for result in results:
        if isinstance(result, Predicted):
            _count(shared.meters, result)
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(PredictionsTaken(items=items), (item.status for item in items))


def _item(batch: Batch, index: int, result: Predicted | MemoryFault) -> PredictionItem:
    if isinstance(result, MemoryFault):
        return PredictionItem(index=index, status=status_of(result), problem=batch.problem(result))
    shape = Prediction.of(result.prediction)
    return PredictionItem(index=index, status=status_of_prediction(result), prediction=shape)


def _count(meters: Meters, predicted: Predicted) -> None:
    if predicted.changed:
        meters.predictions.labels("made" if predicted.created else "revised").inc()
    for status in predicted.outcomes:
        meters.outcomes.labels(status).inc()


@predictions_router.get("", response_model=Listing[Prediction])
async def list_predictions(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[PredictionQuery, Query()]
) -> Response:
    """Predictions; `state=pending` gives those whose windows wait for a settlement."""
    wanted, page = query.to_filter(), pages.page(query)
    listed = await predicting.list_predictions(engine, call, wanted, page)
    shapes = [Prediction.of(prediction) for prediction in listed.items]
    return pages.page_of(Prediction, Listed(shapes, listed.total, listed.next))


@predictions_router.get("/{prediction_id}", response_model=PredictionHistory)
async def get_prediction(engine: EngineDep, call: Reads, prediction_id: UUID) -> Response:
    """A prediction with all its revisions."""
    found = await predicting.get_prediction(engine, call, prediction_id)
    return answered(PredictionHistory.of(found))


settlements_router = router_at(f"{INSIDE}/settlements", "settlements")


@settlements_router.post(
    "", status_code=201, response_model=Settlement, responses={200: {"model": Settlement}}
)
async def settle(
    engine: EngineDep, call: Settles, shared: SharedDep, body: SettlementDraft
) -> Response:
    """Settle an event, or some windows of it; 200 where an equal settlement exists."""
    settled = only(await events.settle(engine, call, [body]))
    _settlements_count(shared.meters, settled)
    return answered(settled.settlement, status_of_settlement(settled))


@settlements_router.post("/batch", status_code=207, response_model=SettlementsTaken)
async def settle_all(
    engine: EngineDep, call: Settles, shared: SharedDep, batch: BatchDep, body: SettlementBatch
) -> Response:
    """Settle many events; each item has its own status."""
    drafts: list[SettlementDraft | MemoryFault] = [*body.items]
    good = [draft for draft in drafts if isinstance(draft, SettlementDraft)]
    results = rejoined(drafts, await events.settle(engine, call, good) if good else [])
    for result in results:
        if isinstance(result, Settled):
            _settlements_count(shared.meters, result)
    items = [_settlements_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(SettlementsTaken(items=items), (item.status for item in items))


def _settlements_item(batch: Batch, index: int, result: Settled | MemoryFault) -> SettlementItem:
    if isinstance(result, MemoryFault):
        return SettlementItem(index=index, status=status_of(result), problem=batch.problem(result))
    status = status_of_settlement(result)
    return SettlementItem(index=index, status=status, settlement=result.settlement)


def _settlements_count(meters: Meters, settled: Settled) -> None:
    if settled.created:
        kind = "first" if settled.settlement.corrects is None else "correction"
        meters.settlements.labels(kind).inc()
    for status in settled.outcomes:
        meters.outcomes.labels(status).inc()
    for warning in settled.settlement.warnings:
        meters.warnings.labels(warning.code).inc()


@settlements_router.get("", response_model=Listing[Settlement])
async def list_settlements(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[SettlementQuery, Query()]
) -> Response:
    """Settlements, also those that were corrected."""
    listed = await events.list_settlements(engine, call, query.event_name(), pages.page(query))
    return pages.page_of(Settlement, listed)


@settlements_router.get("/{settlement_id}", response_model=Settlement)
async def get_settlement(engine: EngineDep, call: Reads, settlement_id: UUID) -> Response:
    """A settlement with its scores."""
    return answered(await events.get_settlement(engine, call, settlement_id))
