"""Requests to whichever process serves: one connection a process and caller, and no retries."""

import http.client
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from benchmarks.soak.cluster import Cluster, Process
from benchmarks.soak.tally import LOST, Tally

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
class _Line:
    connection: http.client.HTTPConnection
    used: float


@dataclass(slots=True)
class Wire:
    """One caller's connections."""

    cluster: Cluster
    tally: Tally
    chance: random.Random
    _lines: dict[str, _Line] = field(default_factory=dict[str, _Line])

    def ask(
        self, key: str, method: str, path: str, body: object = None, version: int | None = None
    ) -> Answer:
        """One request. A body of bytes goes as it is; `version` makes an edit."""
        process = self.cluster.any(self.chance)
        content = _content(body)
        headers = {"Authorization": f"Bearer {key}"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        line = self._line(process)
        try:
            line.request(method, path, content, headers)
            with line.getresponse() as response:
                return Answer(response.status, _read(response.read()))
        except (OSError, http.client.HTTPException) as fault:
            self._drop(process)
            if not process.killed:
                self.tally.violate(f"a living process broke the connection: {fault!r}")
            time.sleep(PAUSE)
            return Answer(LOST, {})

    def close(self) -> None:
        for line in self._lines.values():
            line.connection.close()

    def _line(self, process: Process) -> http.client.HTTPConnection:
        now = time.monotonic()
        line = self._lines.get(process.url)
        if line is not None and now - line.used > IDLE_SECONDS:
            line.connection.close()
        if line is None:
            place = urlsplit(process.url)
            host = cast("str", place.hostname)
            made = http.client.HTTPConnection(host, place.port, timeout=TIMEOUT)
            line = self._lines[process.url] = _Line(made, now)
        line.used = now
        return line.connection

    def _drop(self, process: Process) -> None:
        line = self._lines.pop(process.url, None)
        if line is not None:
            line.connection.close()


def _content(body: object) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return json.dumps(body).encode()


def _read(content: bytes) -> object:
    try:
        return json.loads(content or b"{}")
    except ValueError:
        return {}
