"""Requests to whichever process serves: one connection a process and caller, and no retries."""

import http.client
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from benchmarks.soak.cluster import Cluster, Process
from benchmarks.soak.tally import LOST, PASSING, Tally

TIMEOUT = 600.0
IDLE_SECONDS = 2.0
"""A connection that idled longer may have been closed by the server, which is its right."""
PAUSE = 0.1
FIRST_PROBLEM = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body; status 0 where the connection broke, and nothing is known."""

    status: int
    body: Any

    @property
    def good(self) -> bool:
        return LOST < self.status < FIRST_PROBLEM


@dataclass(slots=True)
class Wire:
    """One caller's connections."""

    cluster: Cluster
    tally: Tally
    chance: random.Random
    _lines: dict[str, http.client.HTTPConnection] = field(
        default_factory=dict[str, http.client.HTTPConnection]
    )
    _used: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.cluster.callers.append(self._lines)

    def ask(
        self,
        key: str,
        method: str,
        path: str,
        body: object = None,
        version: int | None = None,
        once: str | None = None,
    ) -> Answer:
        """One request. A body of bytes goes as it is; `version` makes an edit; what is sent again
        under the same `once` has its effect once.
        """
        began = time.monotonic()
        process = self.cluster.any(self.chance)
        content = _content(body)
        headers = {"Authorization": f"Bearer {key}"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        if once is not None:
            headers["Idempotency-Key"] = once
        line = self._line(process)
        try:
            line.request(method, path, content, headers)
            with line.getresponse() as response:
                answer = Answer(response.status, _read(response.read()))
        except (OSError, http.client.HTTPException) as fault:
            self._drop(process)
            # A connection that was cut while nobody used it fails at its next use.
            if not process.killed and self.cluster.cut_at < began - IDLE_SECONDS:
                self.tally.violate(f"a living process broke the connection: {fault!r}")
            time.sleep(PAUSE)
            return Answer(LOST, {})
        if answer.status in PASSING:
            time.sleep(PAUSE)
        return answer

    def close(self) -> None:
        for line in self._lines.values():
            line.close()

    def _line(self, process: Process) -> http.client.HTTPConnection:
        now = time.monotonic()
        line = self._lines.get(process.url)
        if line is not None and now - self._used[process.url] > IDLE_SECONDS:
            line.close()
        if line is None:
            place = urlsplit(process.url)
            host = cast("str", place.hostname)
            line = http.client.HTTPConnection(host, place.port, timeout=TIMEOUT)
            self._lines[process.url] = line
        self._used[process.url] = now
        return line

    def _drop(self, process: Process) -> None:
        line = self._lines.pop(process.url, None)
        if line is not None:
            line.close()


def _content(body: object) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return json.dumps(body).encode()


def _read(content: bytes) -> object:
    try:
        return json.loads(content or b"{}")
    except ValueError:
        return {}
