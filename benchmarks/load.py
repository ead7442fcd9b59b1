"""A closed loop of callers over HTTP: each sends its next request when its last is answered.

Plain http.client in threads, a connection each: what it costs by itself is measured with
`/health/live`, which does no work.
"""

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, cast
from urllib.parse import urlsplit

from benchmarks.bench import Served, Timing

TIMEOUT = 600.0
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


def _one_caller(server: Served, shots: Sequence[Shot]) -> list[Hit]:
    place = urlsplit(server.url)
    line = http.client.HTTPConnection(cast("str", place.hostname), place.port, timeout=TIMEOUT)
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    try:
        return [_one_shot(line, headers, shot) for shot in shots]
    finally:
        line.close()


def _one_shot(line: http.client.HTTPConnection, headers: dict[str, str], shot: Shot) -> Hit:
    body = None if shot.body is None else json.dumps(shot.body).encode()
    began = time.perf_counter()
    try:
        line.request(shot.method, shot.path, body, {**headers, **shot.headers})
        response = line.getresponse()
        status, content = response.status, response.read()
    except (OSError, http.client.HTTPException):
        line.close()
        status, content = 0, b"{}"
    ms = (time.perf_counter() - began) * 1000
    return Hit(Timing(began, ms, 0 < status < FIRST_PROBLEM), status, _read(content))


def _read(content: bytes) -> object:
    try:
        return json.loads(content or b"{}")
    except ValueError:
        return {}
