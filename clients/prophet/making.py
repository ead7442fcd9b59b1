"""From the command line to the parts: which forecaster, which memory, whose resolutions."""

import importlib
from collections.abc import Callable
from typing import cast

from memlift_client import AgentFields, MemLift, MemLiftError, RetryPolicy

from clients.prophet.agent import MemoryAgent
from clients.prophet.analog import AnalogForecaster
from clients.prophet.arguments import Forecasting, Polling, Where
from clients.prophet.deadline import TooSlow, within
from clients.prophet.endpoint import EndpointForecaster
from clients.prophet.forecaster import Forecaster
from clients.prophet.language_model import ModelForecaster, ModelSettings
from clients.prophet.poller import Ledger
from clients.prophet.recall import Recall
from clients.prophet.resolutions import LocalResolutions, Resolutions

MODEL = "litellm:"
ADDRESSES = ("http://", "https://")
# A memory server that is being started beside the agent may take its time.
FIRST_ANSWER_SECONDS = 15.0


class BadAgent(Exception):
    """No forecaster goes by this name."""


class NoMemory(Exception):
    """The memory server is not there, or does not let this key into this namespace."""


def an_agent(asked: Forecasting) -> MemoryAgent:
    """One attempt a call, within the time given: a forecast does not wait for retries."""
    retry_policy = RetryPolicy(timeout=asked.memory_seconds, attempts=1)
    about = AgentFields(own_information=asked.own_information)
    if asked.forecaster.startswith(MODEL):
        about["model"] = asked.forecaster.removeprefix(MODEL)
    memory = client(asked.where, asked.where.key, retry_policy)
    recall = Recall(memory, asked.name, about, asked.memory_seconds)
    return MemoryAgent(a_forecaster(asked), recall, asked.hide_price)


def a_forecaster(asked: Forecasting) -> Forecaster:
    """Raises BadAgent."""
    kind, _, rest = asked.forecaster.partition(":")
    if asked.forecaster == "analog":
        return AnalogForecaster()
    if kind == "litellm" and rest:
        return _model(asked, rest)
    if kind in ("http", "https") and rest:
        url = asked.forecaster if asked.forecaster.startswith(ADDRESSES) else rest
        return EndpointForecaster(url, asked.forecast_seconds)
    raise BadAgent(f"--agent is analog, litellm:MODEL or http:URL, not {asked.forecaster}")


def _model(asked: Forecasting, model: str) -> Forecaster:
    settings = ModelSettings(model, asked.api_base, asked.api_key, asked.forecast_seconds)
    try:
        return ModelForecaster(settings)
    except ModuleNotFoundError as fault:
        raise BadAgent(f"{fault.name} is not installed: the extra `llm` brings it") from fault


def a_ledger(asked: Polling) -> Ledger:
    return Ledger(
        settling=client(asked.where, asked.where.key),
        remembering=client(asked.where, asked.remember_key or asked.where.key),
        agent=asked.name,
        replay=asked.replay,
    )


def some_resolutions(asked: Polling) -> Resolutions:
    """The records named, else the arena: its SDK is imported only then."""
    if asked.records is not None:
        return LocalResolutions.read(asked.records)
    try:
        api = importlib.import_module("clients.prophet.arena_api")
    except ModuleNotFoundError as fault:
        raise BadAgent(f"{fault.name} is not installed: pip install prophet-arena") from fault
    return cast("Callable[[str | None], Resolutions]", api.opened)(asked.arena_url)


def check_memory(where: Where) -> None:
    """Ask the memory server for the namespace, once, before anything is forecast.

    Raises NoMemory. What fails later costs the memory of one event; what fails here would cost
    that of all, and nobody would notice.
    """
    memory = client(where, where.key)
    try:
        within(FIRST_ANSWER_SECONDS, memory.get_namespace)
    except (TooSlow, MemLiftError) as fault:
        raise NoMemory(
            f"cannot use namespace {where.namespace} of the memory server at {where.url}: {fault}. "
            "Start the server (make serve), or correct --url, --key and --namespace."
        ) from fault


def client(where: Where, key: str, retry_policy: RetryPolicy | None = None) -> MemLift:
    return MemLift(where.url, key, where.namespace, retry_policy=retry_policy)
