"""Predictions: what agents said would happen, and whether it came true as often as they said."""

from uuid import UUID

from fastapi import Response

from memory.forecasts.calibration import get_calibration
from memory.forecasts.entities import PredictionFilter, PredictionState
from memory.forecasts.service import get_prediction, list_predictions
from server.dashboard.calibration_plot import points_of
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import Reads, page

router = guarded_at("/dashboard/ns/{namespace}/predictions")
STATES = [state.value for state in PredictionState]


@router.get("")
async def show_predictions(viewer: Reads) -> Response:
    """How well agents forecast, and the predictions, newest first."""
    asked = viewer.request.query_params
    wanted = PredictionFilter(
        state=asked.get("state") or None,
        agent=asked.get("agent") or None,
        event=asked.get("event") or None,
        newest_first=True,
    )
    listed = await list_predictions(viewer.engine, viewer.call, wanted, page_of(viewer))
    calibration = await get_calibration(viewer.engine, viewer.call, wanted.agent)
    return page(
        viewer,
        "predictions.html",
        table=shown(viewer, listed),
        wanted=wanted,
        states=STATES,
        calibration=calibration,
        points=points_of(calibration.bins),
    )


@router.get("/{prediction_id}")
async def show_prediction(viewer: Reads, prediction_id: UUID) -> Response:
    """One prediction with its revisions and its score."""
    found = await get_prediction(viewer.engine, viewer.call, prediction_id)
    return page(viewer, "prediction.html", one=found)
