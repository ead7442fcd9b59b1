"""One namespace is busy: what another one, and whoever asks whether the server is ready, notice."""

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import count, islice

from benchmarks.bench import Bench, Timing
from benchmarks.load import Hit, Line, Shot, timings
from benchmarks.metrics import Target, at_most, percentile
from benchmarks.suites.operate.bank import ROOT, Operated
from benchmarks.texts import experiences, tasks

CALM, BUSY = "calm", "busy"
QUIET = "quiet"
CROWDS = {"writers": "200 writers on one memory", "loaders": "eight batches of 256"}
MEMORIES = 1_000
READY_EVERY = 0.05
FLOOR_MS = 100.0


def run(operated: Operated) -> None:
    """Ask in one namespace while nobody else does, and beside each crowd of another one."""
    bench = operated.bench
    seconds = bench.settings["crowd_seconds"]
    questions = tasks(10**9, bench.settings["seed"] + 7)
    with closing(Line(bench.server)) as line:
        for slug in (CALM, BUSY):
            _fill(line, slug, bench.settings["seed"])
        for text in islice(questions, 20):
            line.fire(_ask(text))
    bench.say("one namespace asks, nobody else does")
    _measure(bench, QUIET, seconds, questions)
    for crowd, words in CROWDS.items():
        bench.say(f"one namespace asks beside {words} of another")
        with _crowd(bench, crowd, seconds):
            _measure(bench, crowd, seconds, questions)


def targets(found: Mapping[str, float]) -> list[Target]:
    """The p95 of the calm namespace beside each crowd, and of readiness."""
    return [target for crowd in CROWDS for target in _of_crowd(crowd, found)]


def _of_crowd(crowd: str, found: Mapping[str, float]) -> list[Target]:
    quiet, beside = found.get(_p95(QUIET)), found.get(_p95(crowd))
    allowed = None if quiet is None else max(2 * quiet, FLOOR_MS)
    words = CROWDS[crowd]
    share = None if beside is None or allowed is None else beside / allowed
    parts = {name: found[name] for name in (_p95(QUIET), _p95(crowd)) if name in found}
    ready = {name: found[name] for name in (_longest(crowd),) if name in found}
    return [
        at_most(f"p95 beside {words}, of max(2 x quiet, 100 ms)", 1.0, share, parts),
        at_most(f"retrievals refused beside {words}", 0.0, found.get(_refused(crowd)), {}),
        at_most(f"p95 of readiness beside {words}, ms", FLOOR_MS, found.get(_ready(crowd)), ready),
    ]


def _p95(crowd: str) -> str:
    return f"p95 of a retrieval, {crowd}"


def _ready(crowd: str) -> str:
    return f"p95 of readiness, {crowd}"


def _refused(crowd: str) -> str:
    return f"retrievals that were refused, {crowd}"


def _longest(crowd: str) -> str:
    return f"longest of readiness, {crowd}"


def _fill(line: Line, slug: str, seed: int) -> None:
    body = {"slug": slug, "settings": {"control_rate": 0}}
    line.fire(Shot("POST", "/v1/namespaces", body))
    rows = experiences(MEMORIES, seed)
    while batch := list(islice(rows, 256)):
        line.fire(Shot("POST", f"/v1/namespaces/{slug}/experiences/batch", {"items": batch}))


def _ask(text: str) -> Shot:
    body = {"agent": "agent-1", "task": {"text": text}}
    return Shot("POST", f"/v1/namespaces/{CALM}/retrievals", body)


def _measure(bench: Bench, crowd: str, seconds: int, questions: Iterator[str]) -> None:
    over = threading.Event()
    ready: list[Timing] = []
    polling = threading.Thread(target=_poll, args=(bench, over, ready))
    polling.start()
    hits: list[Hit] = []
    until = time.monotonic() + seconds
    with closing(Line(bench.server)) as line:
        for text in questions:
            hits.append(line.fire(_ask(text)))
            if time.monotonic() > until:
                break
    over.set()
    polling.join()
    asked = timings(hits)
    statuses = Counter(hit.status for hit in hits)
    bench.say(f"answers by status: {dict(statuses)}")
    bench.timed(f"retrieve, {crowd}", 1, asked)
    bench.timed(f"ready, {crowd}", 1, ready)
    times = [one.ms for one in ready]
    # A call that was refused took its caller's time, too.
    bench.number(_p95(crowd), percentile([one.ms for one in asked], 0.95), "ms")
    bench.number(_refused(crowd), sum(not one.ok for one in asked), "calls")
    bench.number(_ready(crowd), percentile(times, 0.95), "ms")
    bench.number(_longest(crowd), max(times), "ms")


def _poll(bench: Bench, over: threading.Event, found: list[Timing]) -> None:
    with closing(Line(bench.server)) as line:
        for _ in count():
            found.append(line.fire(Shot("GET", "/health/ready")).timing)
            if over.wait(READY_EVERY):
                return


@contextmanager
def _crowd(bench: Bench, kind: str, seconds: int) -> Generator[None]:
    """A crowd for somewhat longer than the block takes."""
    command = [sys.executable, "-m", "benchmarks.suites.operate.crowd", kind, bench.server.url]
    crowd = subprocess.Popen(  # noqa: S603 - our own command line, no shell
        [*command, BUSY, str(seconds + 2)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert crowd.stdin is not None
    assert crowd.stdout is not None
    crowd.stdin.write(bench.server.key + "\n")
    crowd.stdin.flush()
    crowd.stdout.readline()
    time.sleep(1.0)
    try:
        yield
        said = crowd.communicate(timeout=120)[0].split()
    finally:
        crowd.kill()
    bench.number(f"calls of the crowd, {kind}", int(said[0]), "calls")
    bench.number(f"calls of the crowd that went well, {kind}", int(said[1]), "calls")
