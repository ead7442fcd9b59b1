"""Requests of one key to a cluster, each to the next process than the one before."""

import http.client
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

TIMEOUT = 120.0
IDLE_SECONDS = 2.0
"""A connection that idled longer may have been closed by the server, which is its right."""
FIRST_PROBLEM = 300
BUDGET = 100
"""Requests that an adversary may send."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. Status 0: the connection broke."""

    status: int
    body: Any
    text: str
    cookie: str | None = None

    @property
    def good(self) -> bool:
        return 0 < self.status < FIRST_PROBLEM


@dataclass(slots=True)
class _Line:
    connection: http.client.HTTPConnection
    used: float


@dataclass(slots=True)
class Caller:
    """A key and its connections."""

    token: str
    urls: Sequence[str]
    cookie: str | None = None
    _turn: int = 0
    _lines: dict[str, _Line] = field(default_factory=dict[str, _Line])

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """One request; a dictionary goes as JSON, bytes as a form."""
        url = self.urls[self._turn % len(self.urls)]
        self._turn += 1
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        content = _content(body, headers)
        line = self._line(url)
        try:
            line.request(method, path, content, headers)
            with line.getresponse() as response:
                text = response.read().decode("utf-8", "replace")
                cookie = response.getheader("Set-Cookie")
                return Answer(response.status, _read(text), text, cookie)
        except (OSError, http.client.HTTPException):
            self._lines.pop(url).connection.close()
            return Answer(0, {}, "")

    def demand(self, method: str, path: str, body: object = None) -> Any:
        """The body of an answer that has to be good: what the suite itself needs."""
        answer = self.ask(method, path, body)
        if not answer.good:
            raise SystemExit(f"{method} {path}: {answer.status} {answer.text[:500]}")
        return answer.body

    def close(self) -> None:
        for line in self._lines.values():
            line.connection.close()
        self._lines.clear()

    def _line(self, url: str) -> http.client.HTTPConnection:
        now = time.monotonic()
        line = self._lines.get(url)
        if line is not None and now - line.used > IDLE_SECONDS:
            line.connection.close()
        if line is None:
            place = urlsplit(url)
            host = cast("str", place.hostname)
            line = _Line(http.client.HTTPConnection(host, place.port, timeout=TIMEOUT), now)
            self._lines[url] = line
        line.used = now
        return line.connection


class BudgetSpent(Exception):
    """The adversary has sent all the requests that it may."""


@dataclass(slots=True)
class Budget:
    """Counts an adversary's requests, whichever of its keys sends them, an item of a batch as one;
    `between` runs after each quarter of them, while honest agents work.
    """

    between: Callable[[], None]
    size: int = BUDGET
    quarters: int = 4
    spent: int = 0
    refused: int = 0

    def ask(
        self, caller: Caller, method: str, path: str, body: object = None, *, cost: int = 1
    ) -> Answer:
        """Raises BudgetSpent where it would cost more than is left."""
        if self.spent + cost > self.size:
            raise BudgetSpent
        answer = caller.ask(method, path, body)
        due = self._due()
        self.spent += cost
        self.refused += not answer.good
        for _ in range(due, self._due()):
            self.between()
        return answer

    def finish(self) -> None:
        """Honest agents work on though the adversary has nothing more to send."""
        for _ in range(self._due(), self.quarters):
            self.between()

    def _due(self) -> int:
        """How many quarters are spent."""
        return self.spent * self.quarters // self.size


def _content(body: object, headers: dict[str, str]) -> bytes | None:
    if body is None:
        return None
    if isinstance(body, bytes):
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return body
    headers["Content-Type"] = "application/json"
    return json.dumps(body).encode()


def _read(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}
