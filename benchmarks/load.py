"""A closed loop of callers over HTTP: each sends its next request when its last is answered.

Plain http.client in threads, a connection each: what it costs by itself is measured with
`/health/live`, which does no work.
"""

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, cast
from urllib.parse import urlsplit

from benchmarks.bench import Served, Timing

TIMEOUT = 600.0
# A server hangs up on a caller that has been silent for longer (five seconds): that comes first.
IDLE = 2.0
FIRST_PROBLEM = 300


@dataclass(frozen=True, slots=True)
class Shot:
    """One request: body None for a GET; `headers` beside those of every call."""

    method: str
    path: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Hit:
    """What came of a shot."""

    timing: Timing
    status: int
    answer: Any


def fire(server: Served, shots: Sequence[Shot], concurrency: int) -> list[Hit]:
    """All shots by `concurrency` callers, in the order of the shots. A shot whose connection fails
    has status 0.
    """
    shares = [shots[n::concurrency] for n in range(concurrency)]
    with ThreadPoolExecutor(concurrency) as callers:
        by_caller = list(callers.map(partial(_one_caller, server), shares))
    longest = max((len(hits) for hits in by_caller), default=0)
    turns = ([hits[n] for hits in by_caller if n < len(hits)] for n in range(longest))
    return list(chain.from_iterable(turns))


def timings(hits: Sequence[Hit]) -> list[Timing]:
    return [hit.timing for hit in hits]


class Line:
    """A caller's connection, kept from one shot to the next."""

    def __init__(self, server: Served) -> None:
        place = urlsplit(server.url)
        host = cast("str", place.hostname)
        self._line = http.client.HTTPConnection(host, place.port, timeout=TIMEOUT)
        self._headers = {
            "Authorization": f"Bearer {server.key}",
            "Content-Type": "application/json",
        }
        self._last = 0.0

    def fire(self, shot: Shot) -> Hit:
        body = None if shot.body is None else json.dumps(shot.body).encode()
        if time.perf_counter() - self._last > IDLE:
            self._line.close()
        began = time.perf_counter()
        try:
            self._line.request(shot.method, shot.path, body, {**self._headers, **shot.headers})
            response = self._line.getresponse()
            status, content = response.status, response.read()
        except (OSError, http.client.HTTPException):
            self._line.close()
            status, content = 0, b"{}"
        self._last = time.perf_counter()
        ms = (self._last - began) * 1000
        return Hit(Timing(began, ms, 0 < status < FIRST_PROBLEM), status, _read(content))

    def close(self) -> None:
        self._line.close()


def fire_in_turn(servers: Sequence[Served], rounds: Sequence[Sequence[Shot]]) -> list[list[Hit]]:
    """The hits by server: of each round the n-th shot goes to the n-th server, and another server
    begins each time, so that what slows the machine meanwhile slows all of them.
    """
    lines = [Line(server) for server in servers]
    hits: list[list[Hit]] = [[] for _ in servers]
    try:
        for number, shots in enumerate(rounds):
            for step in range(len(servers)):
                place = (number + step) % len(servers)
                hits[place].append(lines[place].fire(shots[place]))
    finally:
        for line in lines:
            line.close()
    return hits


def _one_caller(server: Served, shots: Sequence[Shot]) -> list[Hit]:
    with closing(Line(server)) as line:
        return [line.fire(shot) for shot in shots]


def _read(content: bytes) -> object:
    try:
        return json.loads(content or b"{}")
    except ValueError:
        return {}
