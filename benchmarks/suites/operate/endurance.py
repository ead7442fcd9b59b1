"""Load for an hour: whether the server's memory grows."""

import threading
import time
from collections.abc import Mapping
from contextlib import closing
from random import Random
from statistics import fmean

import psutil

from benchmarks.bench import Bench
from benchmarks.load import Line, Shot
from benchmarks.metrics import Target, at_most, not_run
from benchmarks.texts import tasks

GROWTH = "growth of memory in the second half, %"
CALLERS = 4
LOOK_SECONDS = 5.0
ENOUGH_MINUTES = 60
MINUTES = "minutes of load"
REPORTED = 0.5


def run(bench: Bench, slug: str) -> None:
    """Ask and report for so many minutes; not at all for 0."""
    minutes = bench.settings["minutes"]
    if not minutes or bench.server.pid is None:
        return
    bench.say(f"{minutes} minutes of load by {CALLERS} callers")
    over = threading.Event()
    callers = [
        threading.Thread(target=_play, args=(bench, slug, number, over))
        for number in range(CALLERS)
    ]
    for one in callers:
        one.start()
    server, sizes = psutil.Process(bench.server.pid), list[int]()
    until = time.monotonic() + minutes * 60
    while time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        sizes.append(_size(server))
    over.set()
    for one in callers:
        one.join()
    half = len(sizes) // 2
    first, second = fmean(sizes[:half]), fmean(sizes[half:])
    bench.number(MINUTES, minutes, "min")
    bench.number("memory, first half", first, "bytes")
    bench.number("memory, second half", second, "bytes")
    bench.number(GROWTH, 100 * (second / first - 1), "%")


def targets(found: Mapping[str, float]) -> list[Target]:
    """Measured over an hour or more; a shorter look says what it saw, and decides nothing."""
    minutes = found.get(MINUTES, 0.0)
    if minutes < ENOUGH_MINUTES:
        seen = f"; {found[GROWTH]:.2f} % in {minutes:.0f} minutes" if GROWTH in found else ""
        return [not_run(GROWTH, 1.0, f"needs --set minutes={ENOUGH_MINUTES}{seen}")]
    return [at_most(GROWTH, 1.0, found.get(GROWTH), {MINUTES: minutes})]


def _size(server: psutil.Process) -> int:
    """Of the server's processes; those of the database share most of theirs."""
    family = [server, *server.children(recursive=True)]
    return sum(one.memory_info().rss for one in family if one.name() != "postgres")


def _play(bench: Bench, slug: str, number: int, over: threading.Event) -> None:
    questions = tasks(10**9, 50 + number)
    chance = Random(number)  # noqa: S311 - a mix of calls, no secret
    with closing(Line(bench.server)) as line:
        for text in questions:
            if over.is_set():
                return
            body = {"agent": f"agent-{number}", "task": {"text": text}}
            hit = line.fire(Shot("POST", f"/v1/namespaces/{slug}/retrievals", body))
            if hit.timing.ok and chance.random() < REPORTED:
                place = f"/v1/namespaces/{slug}/retrievals/{hit.answer['retrieval_id']}/outcome"
                line.fire(Shot("POST", place, {"reward": round(chance.random(), 2)}))
