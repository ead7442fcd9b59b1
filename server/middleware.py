"""Around every request: its id, its duration, the size of its head, its body's size, type and
time, and whence it came.

Plain ASGI: no task, no queue and no copy of a body is added to the path of a request.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from time import perf_counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.kernel.errors import Forbidden, MemoryFault, Rejected, TooLarge
from memory.kernel.ids import new_id
from server.errors import (
    HeadTooLarge,
    TooSlow,
    UnsupportedMedia,
    fault_response,
    problem_of_bug,
    problem_response,
)
from server.metrics import UNMATCHED, Meters

REQUEST_ID = "X-Request-Id"
PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ABORTED = "aborted"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
PROTOBUF = "application/x-protobuf"
DASHBOARD = "/dashboard"
LOGS = "/v1/logs"
HEAD_BYTES = 16 * 1024
"""The request line and all headers together."""

logger = logging.getLogger("memlift.http")


def request_id_of(scope: Scope) -> str | None:
    state: Mapping[str, object] = scope.get("state", {})
    found = state.get("request_id")
    return found if isinstance(found, str) else None


def accepted_id(given: str | None) -> str:
    """The caller's request id where it is short and plain, else a new one: it goes into logs."""
    if given and PLAIN_ID.fullmatch(given):
        return given
    return str(new_id())


def route_of(scope: Scope) -> str:
    """The path template, so that the label has as many values as there are routes."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else UNMATCHED


class _Answer:
    """Watches an answer go out and puts the request id on it."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)[REQUEST_ID] = self._request_id
        await self._send(message)


class Accounts:
    """Gives each request an id, counts it, and turns what nobody foresaw into a 500."""

    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = accepted_id(Headers(scope=scope).get(REQUEST_ID))
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(send, request_id)
        started = perf_counter()
        try:
            await self._app(scope, receive, answer.send)
        except ClientDisconnect:
            logger.info("request %s: the caller left before its body had come", request_id)
        except Exception:
            # An answer that has begun cannot be replaced; the server closes the connection.
            if answer.status is not None:
                raise
            logger.exception("request %s failed", request_id)
            self._meters.faults.labels("internal").inc()
            await problem_response(problem_of_bug(request_id))(scope, receive, answer.send)
        finally:
            status = ABORTED if answer.status is None else str(answer.status)
            elapsed = perf_counter() - started
            self._meters.observe(route_of(scope), scope["method"], status, elapsed)


class Heads:
    """Refuses what is wrong with a request before its body: a large head, a Host that is none."""

    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (fault := _head_refusal(scope)) is None:
            await self._app(scope, receive, send)
            return
        self._meters.faults.labels(fault.kind).inc()
        await fault_response(fault, request_id_of(scope))(scope, receive, send)


def _head_refusal(scope: Scope) -> MemoryFault | None:
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    # A colon, a space and the end of the line.
    size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if size > HEAD_BYTES:
        return HeadTooLarge(
            f"request line and headers have {size} bytes; the limit is {HEAD_BYTES}",
            field="headers",
            limit=HEAD_BYTES,
        )
    host = Headers(scope=scope).get("host", "")
    if not is_readable(f"//{host}"):
        return Rejected("Host is not the name of a host", field="Host")
    return None


class Bodies:
    """Refuses bodies that are too large, by what they declare and by what arrives, too slow, or not
    JSON.
    """

    def __init__(self, app: ASGIApp, limit: int, seconds: float) -> None:
        self._app = app
        self._limit = limit
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        fault = self._refusal(Headers(scope=scope), scope["path"])
        if fault is None:
            await self._app(scope, self._counted(receive), send)
        else:
            await fault_response(fault, request_id_of(scope))(scope, receive, send)

    def _refusal(self, headers: Headers, path: str) -> MemoryFault | None:
        declared = headers.get("content-length", "0")
        if not (declared.isascii() and declared.isdigit()):
            return Rejected("Content-Length is not a number", field="Content-Length")
        if len(declared) > len(str(self._limit)) or int(declared) > self._limit:
            return too_large(self._limit)
        has_body = declared.strip("0") or "transfer-encoding" in headers
        wanted = _media_of(path)
        if has_body and not any(is_of_type(headers.get("content-type", ""), one) for one in wanted):
            return UnsupportedMedia(f"send {' or '.join(wanted)}", field="Content-Type")
        return None

    def _counted(self, receive: Receive) -> Receive:
        arrived, complete, deadline = 0, False, asyncio.get_running_loop().time() + self._seconds

        async def counted() -> Message:
            nonlocal arrived, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as fault:
                raise TooSlow(
                    f"the body was not here within {self._seconds:g} seconds",
                    field="body",
                    limit=self._seconds,
                ) from fault
            if message["type"] == "http.request":
                arrived += len(message.get("body", b""))
                complete = not message.get("more_body", False)
                if arrived > self._limit:
                    raise too_large(self._limit)
            return message

        return counted


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes", field="body", limit=limit)


def is_page(path: str) -> bool:
    """Whether a path is the dashboard's: people come there, with forms instead of JSON."""
    return path == DASHBOARD or path.startswith(f"{DASHBOARD}/")


def media_type(headers: Headers) -> str:
    """The declared type of a body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _media_of(path: str) -> tuple[str, ...]:
    if is_page(path):
        return (FORM,)
    return (PROTOBUF, JSON) if path == LOGS else (JSON,)


def is_of_type(content_type: str, wanted: str) -> bool:
    """With no charset but UTF-8, the only one that JSON has."""
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charsets = [
        part.split("=", 1)[1].strip('"') for part in parameters if part.startswith("charset=")
    ]
    return kind == wanted and all(charset == "utf-8" for charset in charsets)


class Loopback:
    """Serves pages and programs of this machine only: a foreign Host or Origin is a website that
    reaches for a server without keys through a visitor's browser.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or (fault := self._refusal(Headers(scope=scope))) is None:
            await self._app(scope, receive, send)
        else:
            await fault_response(fault, request_id_of(scope))(scope, receive, send)

    def _refusal(self, headers: Headers) -> MemoryFault | None:
        if not is_loopback(f"//{headers.get('host', '')}"):
            return Forbidden("this server answers loopback only", code="foreign_host", field="Host")
        origin = headers.get("origin")
        if origin is not None and not is_loopback(origin):
            return Forbidden(
                "this server answers loopback only", code="foreign_origin", field="Origin"
            )
        return None


def is_loopback(url: str) -> bool:
    return is_readable(url) and urlsplit(url).hostname in LOOPBACK


def is_readable(url: str) -> bool:
    """Whether a URL from a header can be taken apart: `http://[::1` cannot."""
    try:
        return urlsplit(url).port != -1
    except ValueError:
        return False
