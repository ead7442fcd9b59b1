"""Predictions: say what will happen before it does."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.forecasts import service as predicting
from memory.forecasts.entities import Predicted, PredictionDraft
from memory.kernel.errors import MemoryFault
from server.answers import Batch, BatchDep, PagesDep, answered, only, rejoined
from server.dependencies import EngineDep, Predicts, Reads, SharedDep
from server.errors import status_of
from server.metrics import Meters
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.predictions import (
    ForecastBatch,
    Prediction,
    PredictionHistory,
    PredictionItem,
    PredictionQuery,
    PredictionsTaken,
    status_of_prediction,
)

router = router_at(f"{INSIDE}/predictions", "predictions")


@router.post("", status_code=201, response_model=Prediction, responses={200: {"model": Prediction}})
async def predict(
    engine: EngineDep, call: Predicts, shared: SharedDep, body: PredictionDraft
) -> Response:
    """Forecast a window of an event; 200 where the agent's prediction was revised, or said so
    already.
    """
    predicted = only(await predicting.predict(engine, call, [body]))
    _count(shared.meters, predicted)
    return answered(Prediction.of(predicted.prediction), status_of_prediction(predicted))


@router.post("/batch", status_code=207, response_model=PredictionsTaken)
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


@router.get("", response_model=Listing[Prediction])
async def list_predictions(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[PredictionQuery, Query()]
) -> Response:
    """Predictions; `state=pending` gives those whose windows wait for a settlement."""
    wanted, page = query.to_filter(), pages.page(query)
    listed = await predicting.list_predictions(engine, call, wanted, page)
    return pages.answered(listed, Prediction.of)


@router.get("/{prediction_id}", response_model=PredictionHistory)
async def get_prediction(engine: EngineDep, call: Reads, prediction_id: UUID) -> Response:
    """A prediction with all its revisions."""
    found = await predicting.get_prediction(engine, call, prediction_id)
    return answered(PredictionHistory.of(found))
