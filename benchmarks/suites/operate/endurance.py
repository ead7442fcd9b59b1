"""Load for an hour: whether the server's memory grows.

What is bounded fills up first and does not count: vectors of texts that were asked for (21,000
texts, 64 MiB), and what is learned of each memory and agent. So `warm_minutes` of the same load
come before the hour; every minute is kept, those too.
"""

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
from benchmarks.suites.operate.bank import SLUG, Operated
from benchmarks.texts import tasks

GROWTH = "growth of memory in the second half, %"
CALLERS = 4
LOOK_SECONDS = 5.0
ENOUGH_MINUTES = 60
MINUTES, CALLS = "minutes of load", "calls of the load"
FIRST, SECOND = "memory, first half", "memory, second half"
REPORTED = 0.5


def run(operated: Operated) -> None:
    """Ask and report for so many minutes, and look at the memory all the while."""
    bench, over = operated.bench, threading.Event()
    minutes, warm = bench.settings["minutes"], bench.settings["warm_minutes"]
    if bench.server.pid is None:
        bench.say("the memory of a server that was not started here is not seen")
        return
    bench.say(f"{warm} and then {minutes} minutes of load by {CALLERS} callers")
    answered = [0] * CALLERS
    callers = [
        threading.Thread(target=_play, args=(bench, number, over, answered))
        for number in range(CALLERS)
    ]
    for one in callers:
        one.start()
    server, sizes = psutil.Process(bench.server.pid), list[float]()
    begun = time.monotonic()
    for minute in range(warm + minutes):
        looked: list[int] = []
        while time.monotonic() - begun < 60 * (minute + 1):
            time.sleep(LOOK_SECONDS)
            looked.append(_size(server))
        sizes.append(fmean(looked))
        bench.number(f"memory, minute {minute + 1}", sizes[-1], "bytes")
    over.set()
    for one in callers:
        one.join()
    counted = sizes[warm:]
    half = len(counted) // 2
    first, second = fmean(counted[: half or 1]), fmean(counted[half:])
    bench.number("memory, first minute of all", sizes[0], "bytes")
    bench.number("memory, last minute", sizes[-1], "bytes")
    bench.number(MINUTES, minutes, "min")
    bench.number(CALLS, sum(answered), "calls")
    bench.number(FIRST, first, "bytes")
    bench.number(SECOND, second, "bytes")
    bench.number(GROWTH, 100 * (second / first - 1), "%")


def targets(found: Mapping[str, float]) -> list[Target]:
    """Measured over an hour or more; a shorter look says what it saw, and decides nothing."""
    minutes = found.get(MINUTES, 0.0)
    if minutes < ENOUGH_MINUTES:
        seen = f"; {found[GROWTH]:.2f} % in {minutes:.0f} minutes" if GROWTH in found else ""
        return [not_run(GROWTH, 1.0, f"needs --set minutes={ENOUGH_MINUTES}{seen}")]
    parts = {name: found[name] for name in (MINUTES, CALLS, FIRST, SECOND) if name in found}
    return [at_most(GROWTH, 1.0, found.get(GROWTH), parts)]


def _size(server: psutil.Process) -> int:
    """Of the server's processes; those of the database share most of theirs."""
    family = [server, *server.children(recursive=True)]
    return sum(one.memory_info().rss for one in family if one.name() != "postgres")


def _play(bench: Bench, number: int, over: threading.Event, answered: list[int]) -> None:
    """One caller: a call, a pause, the next; half of what is served is reported on."""
    questions = tasks(10**9, 50 + number)
    pause = bench.settings["pause_ms"] / 1000
    chance = Random(number)  # noqa: S311 - a mix of calls, no secret
    with closing(Line(bench.server)) as line:
        for text in questions:
            if over.wait(pause):
                return
            body = {"agent": f"agent-{number}", "task": {"text": text}}
            hit = line.fire(Shot("POST", f"/v1/namespaces/{SLUG}/retrievals", body))
            answered[number] += hit.timing.ok
            if hit.timing.ok and chance.random() < REPORTED:
                place = f"/v1/namespaces/{SLUG}/retrievals/{hit.answer['retrieval_id']}/outcome"
                hit = line.fire(Shot("POST", place, {"reward": round(chance.random(), 2)}))
                answered[number] += hit.timing.ok
