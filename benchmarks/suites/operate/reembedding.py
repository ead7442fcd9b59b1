"""Another embedding model beside the one in use: how fast, and what callers notice of it."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing

from benchmarks.bench import Timing
from benchmarks.load import Line, Shot
from benchmarks.metrics import Target, at_most, percentile
from benchmarks.suites.operate.bank import SLUG, Operated
from benchmarks.texts import tasks

RATE = "texts embedded again, a second"
QUIET, BESIDE = "p95 of a retrieval before re-embedding", "p95 of a retrieval beside re-embedding"
TOOK = "re-embedding, start and model included"
REFUSED = "retrievals refused beside re-embedding"
WARM, QUIET_CALLS = 20, 200
PAUSE = 0.02
DTYPE = "bfloat16"
"""The same model with other numbers: another model to everybody, and there is nothing to fetch."""


def run(operated: Operated) -> None:
    """Embed a namespace again, without switching, while somebody asks in it."""
    bench, over = operated.bench, threading.Event()
    rate = bench.settings["reembed_rate"]
    bench.say(f"re-embedding at {rate} texts a second at most")
    questions = tasks(10**9, bench.settings["seed"] + 11)
    asked: list[Timing] = []
    with closing(Line(bench.server)) as line:
        for _ in range(WARM):
            _ask(line, questions)
        quiet = [_ask(line, questions) for _ in range(QUIET_CALLS)]
        asking = threading.Thread(target=_ask_until, args=(line, questions, over, asked))
        words = ["--model", "all-MiniLM-L6-v2", "--dtype", DTYPE, "--namespace", SLUG]
        words += ["--no-switch", "--rate", str(rate)]
        begun = time.monotonic()
        asking.start()
        try:
            operated.command(TOOK, "re-embed", *words)
        finally:
            over.set()
            asking.join()
    took = time.monotonic() - begun
    bench.timed("retrieve, before re-embedding", 1, quiet)
    bench.timed("retrieve, beside re-embedding", 1, asked)
    bench.number(RATE, bench.settings["memories"] * 2 / took, "texts a second")
    bench.number(QUIET, percentile([one.ms for one in quiet], 0.95), "ms")
    bench.number(BESIDE, percentile([one.ms for one in asked], 0.95), "ms")
    bench.number(REFUSED, sum(not one.ok for one in (*quiet, *asked)), "calls")


def targets(found: Mapping[str, float]) -> list[Target]:
    """Callers notice little of it."""
    quiet, beside = found.get(QUIET), found.get(BESIDE)
    share = None if quiet is None or beside is None else beside / quiet
    parts = {name: found[name] for name in (QUIET, BESIDE, RATE, TOOK) if name in found}
    return [
        at_most("p95 while another model embeds, times quiet", 1.5, share, parts),
        at_most(REFUSED, 0.0, found.get(REFUSED), {}),
    ]


def _ask(line: Line, questions: Iterator[str]) -> Timing:
    body = {"agent": "agent-1", "task": {"text": next(questions)}}
    return line.fire(Shot("POST", f"/v1/namespaces/{SLUG}/retrievals", body)).timing


def _ask_until(
    line: Line, questions: Iterator[str], over: threading.Event, asked: list[Timing]
) -> None:
    while not over.wait(PAUSE):
        asked.append(_ask(line, questions))
