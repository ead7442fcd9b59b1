"""Requests and answers as values: what is sent and what comes back, without sending anything."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Generic, TypeVar, cast
from urllib.parse import quote
from uuid import UUID

from memlift_client._faults import (
    ConfigurationError,
    KeyRefused,
    MemLiftProblem,
    Problem,
    UnexpectedAnswer,
)

Result = TypeVar("Result")
Other = TypeVar("Other")
Parameter = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `content` is None where there is no body; `key` is the idempotency key."""

    method: str
    path: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    content: bytes | None = None
    version: int | None = None
    key: str | None = None

    def headers(self) -> dict[str, str]:
        """The headers this request needs beside those of the connection."""
        headers: dict[str, str] = {}
        if self.content is not None:
            headers["content-type"] = "application/json"
        if self.version is not None:
            headers["if-match"] = f'"{self.version}"'
        if self.key is not None:
            headers["idempotency-key"] = self.key
        return headers


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer. `retry_after` in seconds, None where the server named none."""

    status: int
    content: bytes
    retry_after: float | None = None
    request_id: str | None = None

    def body(self) -> Mapping[str, object]:
        """The JSON object of the body. Raises UnexpectedAnswer for anything else."""
        try:
            document: object = json.loads(self.content)
        except ValueError as fault:
            raise UnexpectedAnswer(f"status {self.status} with a body that is no JSON") from fault
        if not isinstance(document, dict):
            raise UnexpectedAnswer(f"status {self.status} with a body that is no JSON object")
        return cast("Mapping[str, object]", document)

    def problem(self) -> Problem:
        """The problem document, or one made up for an answer that carries none."""
        try:
            document = self.body()
        except UnexpectedAnswer:
            document = {"detail": self.content[:200].decode(errors="replace")}
        return Problem.read({"request_id": self.request_id, **document}, self.status)


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """What to ask and how to read the answer.

    `scoped` calls live inside a namespace: the client puts its prefix before the path. `accepted`
    statuses are answers rather than problems.
    """

    request: Request
    read: Callable[[Reply], Result]
    scoped: bool = True
    accepted: frozenset[int] = frozenset()

    def within(self, namespace: str, key: str | None) -> "Call[Result]":
        """The same call with its full path, and with `key` where it posts."""
        prefix = f"/v1/namespaces/{namespace}" if self.scoped else ""
        own = key if self.request.method == "POST" else None
        path = prefix + self.request.path
        return replace(self, request=replace(self.request, path=path, key=own), scoped=False)

    def after(self, cursor: str) -> "Call[Result]":
        """The same list, from `cursor` on."""
        parameters = {**self.request.parameters, "cursor": cursor}
        return replace(self, request=replace(self.request, parameters=parameters))

    def result(self, reply: Reply) -> Result:
        """The typed result. Raises MemLiftProblem where the server refused, KeyRefused where it
        refused the key.
        """
        if reply.status == UNAUTHORIZED:
            raise KeyRefused(reply.problem())
        if reply.status >= FIRST_PROBLEM and reply.status not in self.accepted:
            raise MemLiftProblem(reply.problem())
        return self.read(reply)


FIRST_PROBLEM = 300
UNAUTHORIZED = 401
NO_STATUS: frozenset[int] = frozenset()


def call(  # noqa: PLR0913 - all that an operation may need, by name
    method: str,
    path: str,
    reader: Callable[[Reply], Result],
    *,
    query: Mapping[str, object] | None = None,
    body: Mapping[str, object] | None = None,
    version: int | None = None,
    scoped: bool = True,
    accepted: frozenset[int] = NO_STATUS,
) -> Call[Result]:
    """The call of an operation; parts of query and body that are None are left out."""
    content = None if body is None else encoded(body)
    request = Request(method, path, parameters(query or {}), content, version)
    return Call(request, reader, scoped, accepted)


def part(value: str) -> str:
    """A value as one part of a path: it may hold any sign, a path may not. Raises TypeError for
    what is no text, such as the whole answer in place of its id.
    """
    if isinstance(value, UUID):
        value = str(value)
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller checks types
        kind = type(value).__name__
        raise TypeError(
            f"expected an id, such as the `receipt` of what was retrieved, not a {kind}"
        )
    return quote(value, safe="")


def encoded(fields: Mapping[str, object]) -> bytes:
    """A JSON body; times in RFC 3339. A field that is None was not given and is left out; further
    in, None is what the caller wrote, and is sent as null. Raises ConfigurationError for a number
    that JSON cannot say.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(_plain(given), allow_nan=False, separators=(",", ":")).encode()


def finite(number: float, name: str = "reward") -> float:
    """The number. Raises ConfigurationError where it is none, or without end."""
    if math.isfinite(number):
        return number
    kind = "a number from 0 to 1" if name.endswith("reward") else "a finite number"
    raise ConfigurationError(f"{name} must be {kind}, not {number}")


def parameters(filters: Mapping[str, object]) -> dict[str, Parameter]:
    """Query parameters; parts that are None left out, objects as JSON."""
    return {name: _parameter(value) for name, value in filters.items() if value is not None}


def _parameter(value: object) -> Parameter:
    match value:
        case str() | int() | float():
            return value
        case datetime():
            return _moment(value)
        case _:
            return encoded(cast("Mapping[str, object]", value)).decode()


def _plain(value: object, name: str = "") -> object:
    match value:
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {n: _plain(part, _within(name, n)) for n, part in items}
        case str():
            return value
        case Sequence():
            parts = cast("Sequence[object]", value)
            return [_plain(part, _within(name, n)) for n, part in enumerate(parts)]
        case float():
            return finite(value, name)
        case date():
            return _moment(value) if isinstance(value, datetime) else value.isoformat()
        case _:
            return value


def _within(name: str, part: object) -> str:
    return f"{name}.{part}" if name else str(part)


def _moment(value: datetime) -> str:
    """A time without zone could be any of 38 moments, so it is refused before it is sent."""
    if value.tzinfo is None:
        raise ValueError("a time needs a zone: datetime(..., tzinfo=UTC)")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
