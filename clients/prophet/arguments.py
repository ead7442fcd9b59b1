"""What the command line can say."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

AGENT = "prophet"
SERVER = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Where:
    """The memory server, the key to it, and the namespace."""

    url: str
    key: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Forecasting:
    """Which forecaster, and how it may go about it. `api_base` and `api_key` are the model's.

    own_information: memory is followed only as far as it proves to add to what the agent knows.
    """

    where: Where
    name: str
    forecaster: str
    hide_price: bool
    own_information: bool
    memory_seconds: float
    forecast_seconds: float
    api_base: str | None
    api_key: str | None


@dataclass(frozen=True, slots=True)
class Serving:
    """Where the service listens."""

    forecasting: Forecasting
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Evaluating:
    """Which local dataset is forecast and scored; `replay` at the times that it states. `out`: the
    folder of its forecasts and its report.
    """

    forecasting: Forecasting
    dataset: Path
    replay: bool
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class Polling:
    """Whom to ask, how often (None: once), and as whom to remember."""

    where: Where
    name: str
    remember_key: str | None
    records: Path | None
    arena_url: str | None
    every: float | None
    replay: bool


Asked = Serving | Evaluating | Polling


def parse(words: Sequence[str]) -> Asked:
    given = _parser().parse_args(words)
    where = Where(given.url, given.key, given.namespace)
    if given.command == "poll":
        return Polling(
            where=where,
            name=given.name,
            remember_key=given.remember_key,
            records=given.records,
            arena_url=given.arena_url,
            every=given.every,
            replay=given.replay,
        )
    forecasting = Forecasting(
        where=where,
        name=given.name,
        forecaster=given.agent,
        hide_price=given.hide_price,
        own_information=_brings_its_own(given),
        memory_seconds=given.memory_seconds,
        forecast_seconds=given.forecast_seconds,
        api_base=given.api_base,
        api_key=given.api_key,
    )
    if given.command == "evaluate":
        return Evaluating(forecasting, given.dataset, given.replay, given.out)
    return Serving(forecasting, given.host, given.port)


def _brings_its_own(given: argparse.Namespace) -> bool:
    """As said; else where it sees prices: datasets of the SDK show them, the older contract does
    not.
    """
    if given.own_information is None:
        return given.command == "evaluate" and not given.hide_price
    return given.own_information


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m clients.prophet",
        description="Forecast for Prophet Arena with a memory that learns from what resolves.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    serve = _common(commands.add_parser("serve", help="answer POST /predict"))
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8078)
    _forecasting(serve)
    evaluate = _common(commands.add_parser("evaluate", help="forecast and score a local dataset"))
    evaluate.add_argument("--dataset", type=Path, required=True, help="an events.jsonl")
    evaluate.add_argument(
        "--out", type=Path, help="a folder for forecasts and report; given again, it goes on there"
    )
    _forecasting(evaluate)
    _replay(evaluate)
    _polling(_common(commands.add_parser("poll", help="settle what the arena has resolved")))
    return parser


def _common(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    key = os.environ.get("MEMLIFT_KEY")
    url = os.environ.get("MEMLIFT_URL", SERVER)
    command.add_argument("--url", default=url, help=f"the memory server, or MEMLIFT_URL ({SERVER})")
    command.add_argument("--key", default=key, required=key is None, help="or MEMLIFT_KEY")
    command.add_argument("--namespace", default="default")
    command.add_argument("--name", default=AGENT, help="the agent's name in memory")
    return command


def _forecasting(command: argparse.ArgumentParser) -> None:
    command.add_argument("--agent", default="analog", help="analog, litellm:MODEL or http:URL")
    command.add_argument("--hide-price", action="store_true", help="show no crowd probabilities")
    command.add_argument(
        "--own-information",
        action=argparse.BooleanOptionalAction,
        help="the agent sees a price or has a source of its own",
    )
    command.add_argument("--memory-seconds", type=float, default=5.0, help="for one call")
    command.add_argument("--forecast-seconds", type=float, default=8.0, help="for one answer")
    command.add_argument("--api-base", help="where the model is served, if not at its provider")
    command.add_argument("--api-key", default=os.environ.get("PROPHET_API_KEY"), help="for it")


def _polling(command: argparse.ArgumentParser) -> None:
    command.add_argument("--remember-key", help="a key that may remember, if --key may not")
    command.add_argument("--records", type=Path, help="resolved records instead of the arena")
    command.add_argument("--arena-url", help="the arena's API, if not the public one")
    command.add_argument("--every", type=float, help="seconds between rounds; without, one round")
    _replay(command)


def _replay(command: argparse.ArgumentParser) -> None:
    command.add_argument("--replay", action="store_true", help="the namespace has a replay clock")
