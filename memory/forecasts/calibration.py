"""Forecasts are held against what came true."""

from memory.forecasts.calibration_entities import ForecastCalibration
from memory.forecasts.store.calibration import CalibrationStore
from memory.kernel.engine import Engine
from memory.tenancy.entities import Call


async def get_calibration(engine: Engine, call: Call, agent: str | None) -> ForecastCalibration:
    """Of one agent, or of all agents of the namespace."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = CalibrationStore(connection, call.namespace.id)
        return ForecastCalibration(tuple(await store.bins(agent)), tuple(await store.scores(agent)))
