"""Calls of a forecast stream: predict, settle, and what still waits to be settled."""

from collections.abc import Sequence
from typing import Unpack

from memlift_client import _fields_forecasts as f
from memlift_client import _results_bank as bank
from memlift_client import _results_forecasts as forecasts
from memlift_client._building import batch, get, listed, one, page, posted
from memlift_client._wire import Call


def predict(**fields: Unpack[f.PredictionFields]) -> Call[forecasts.Prediction]:
    """Forecast a window, or revise the forecast; the last before it closes or is settled counts."""
    return posted("/predictions", fields, one(forecasts.Prediction))


def predict_all(
    items: Sequence[f.PredictionFields],
) -> Call[tuple[bank.BatchItem[forecasts.Prediction], ...]]:
    """Up to 256 predictions at once; each is taken or refused by itself."""
    return posted("/predictions/batch", {"items": items}, batch(forecasts.Prediction, "prediction"))


def get_prediction(prediction_id: str) -> Call[forecasts.Prediction]:
    """A prediction with all its revisions."""
    return get(f"/predictions/{prediction_id}", one(forecasts.Prediction))


def list_predictions(
    **filters: Unpack[f.PredictionFilterFields],
) -> Call[bank.Page[forecasts.Prediction]]:
    """Predictions; state="pending" gives those that wait for a settlement."""
    return listed("/predictions", filters, page(forecasts.Prediction))


def settle(**fields: Unpack[f.SettlementFields]) -> Call[forecasts.Settlement]:
    """Say what an event came to: every prediction of its windows is scored."""
    return posted("/settlements", fields, one(forecasts.Settlement))


def settle_all(
    items: Sequence[f.SettlementFields],
) -> Call[tuple[bank.BatchItem[forecasts.Settlement], ...]]:
    """Up to 256 settlements at once; each is taken or refused by itself."""
    return posted("/settlements/batch", {"items": items}, batch(forecasts.Settlement, "settlement"))


def get_settlement(settlement_id: str) -> Call[forecasts.Settlement]:
    return get(f"/settlements/{settlement_id}", one(forecasts.Settlement))


def list_settlements(
    **filters: Unpack[f.SettlementFilterFields],
) -> Call[bank.Page[forecasts.Settlement]]:
    """Settlements, all or those of an event, also those that were corrected."""
    return listed("/settlements", filters, page(forecasts.Settlement))
