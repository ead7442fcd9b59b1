"""Forecast for Prophet Arena: `python -m clients.prophet serve | evaluate | poll`."""

import importlib
import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import cast

import uvicorn
from memlift_client import MemLiftError

from clients.prophet.arguments import Asked, Evaluating, Polling, Serving, parse
from clients.prophet.making import (
    BadAgent,
    NoMemory,
    a_ledger,
    an_agent,
    check_memory,
    some_resolutions,
)
from clients.prophet.poller import poll
from clients.prophet.resolutions import BadRecords
from clients.prophet.service import application

INTERRUPTED = 130


def main(words: Sequence[str]) -> int:
    asked = parse(words)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    try:
        return _done(asked)
    except (BadAgent, BadRecords, MemLiftError, NoMemory, OSError) as fault:
        print(f"prophet: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _done(asked: Asked) -> int:
    match asked:
        case Serving():
            agent = an_agent(asked.forecasting)
            check_memory(asked.forecasting.where)
            app = application(agent)
            uvicorn.run(app, host=asked.host, port=asked.port, log_level="warning")
            return 0
        case Evaluating():
            evaluation = importlib.import_module("clients.prophet.evaluation")
            evaluate = cast("Callable[..., int]", evaluation.evaluate)
            agent = an_agent(asked.forecasting)
            check_memory(asked.forecasting.where)
            return evaluate(asked.dataset, agent, replay=asked.replay, out=asked.out, say=_say)
        case Polling():
            return _polled(asked)


def _polled(asked: Polling) -> int:
    """Rounds until interrupted, or one; then the exit status is 1 where an event failed."""
    ledger, resolutions = a_ledger(asked), some_resolutions(asked)
    check_memory(asked.where)
    while True:
        try:
            done = poll(ledger, resolutions)
        except MemLiftError as fault:
            if asked.every is None:
                raise
            print(f"prophet: this round failed: {fault}", file=sys.stderr)
        else:
            _say(done.told())
            if asked.every is None:
                return 1 if done.failed else 0
        time.sleep(asked.every)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
