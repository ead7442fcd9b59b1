"""Another embedding model beside the one in use: how fast, and what callers notice of it."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from benchmarks.bench import Bench, Timing
from benchmarks.load import Line, Shot
from benchmarks.metrics import Target, at_most, percentile
from benchmarks.texts import tasks

ROOT = Path(__file__).parents[3]
RATE = "texts embedded again, a second"
QUIET, BESIDE = "p95 of a retrieval before re-embedding", "p95 of a retrieval beside re-embedding"
QUIET_CALLS = 200
PAUSE = 0.02
DTYPE = "bfloat16"
"""The same model with other numbers: another model to everybody, and there is nothing to fetch."""


def run(bench: Bench, home: Path, slug: str) -> None:
    """Embed a namespace again, without switching, while somebody asks in it."""
    rate = bench.settings["reembed_rate"]
    if not rate:
        return
    bench.say(f"re-embedding at {rate} texts a second at most")
    questions = tasks(10**9, bench.settings["seed"] + 11)
    over = threading.Event()
    asked: list[Timing] = []
    with closing(Line(bench.server)) as line:
        quiet = [_ask(line, slug, questions) for _ in range(QUIET_CALLS)]
        asking = threading.Thread(target=_ask_until, args=(line, slug, questions, over, asked))
        begun = time.monotonic()
        words = ["--model", "all-MiniLM-L6-v2", "--dtype", DTYPE, "--namespace", slug]
        words += ["--no-switch", "--rate", str(rate), "--data", str(home)]
        asking.start()
        try:
            done = subprocess.run(  # noqa: S603 - a command of ours
                [sys.executable, "-m", "server.cli", "re-embed", *words],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            over.set()
            asking.join()
    took = time.monotonic() - begun
    bench.timed("retrieve, before re-embedding", 1, quiet)
    bench.timed("retrieve, beside re-embedding", 1, asked)
    if done.returncode:
        bench.say(f"re-embedding failed: {done.stderr.strip().splitlines()[-1]}")
        return
    bench.number("re-embedding, start and model included", took, "s")
    bench.number(RATE, bench.settings["memories"] * 2 / took, "texts a second")
    bench.number(QUIET, percentile([one.ms for one in quiet], 0.95), "ms")
    bench.number(BESIDE, percentile([one.ms for one in asked], 0.95), "ms")


def targets(found: Mapping[str, float]) -> list[Target]:
    """Callers notice little of it."""
    quiet, beside = found.get(QUIET), found.get(BESIDE)
    share = None if quiet is None or beside is None else beside / quiet
    parts = {name: found[name] for name in (QUIET, BESIDE, RATE) if name in found}
    return [at_most("p95 while another model embeds, times quiet", 1.5, share, parts)]


def _ask(line: Line, slug: str, questions: Iterator[str]) -> Timing:
    body = {"agent": "agent-1", "task": {"text": next(questions)}}
    return line.fire(Shot("POST", f"/v1/namespaces/{slug}/retrievals", body)).timing


def _ask_until(
    line: Line, slug: str, questions: Iterator[str], over: threading.Event, asked: list[Timing]
) -> None:
    while not over.wait(PAUSE):
        asked.append(_ask(line, slug, questions))
