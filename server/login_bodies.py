"""The body of a login is here before its request gets a place.

Nobody knows yet who sends it, and the rest may never come: whoever held a place meanwhile would
keep out all other strangers, the operator among them.
"""

import asyncio
from asyncio import Timeout
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.callers import address_of
from server.dashboard.guarding import LOGIN, LOGIN_BYTES
from server.errors import TooSlow, fault_response
from server.middleware import request_id_of
from server.shared import Shared

# Bodies of one address that are waited for at once. One more ends the wait for the oldest, so that
# half-sent ones never keep out a login that comes whole.
WAITED_FOR = 8


class LoginBodies:
    """Reads what a login brings, within its time, and hands it on whole."""

    def __init__(self, app: ASGIApp, shared: Shared) -> None:
        self._app = app
        self._shared = shared
        self._seconds = shared.settings.body_timeout.total_seconds()
        self._waits: dict[str, deque[Timeout]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _brings_login(scope):
            await self._app(scope, receive, send)
            return
        address = address_of(scope, self._shared.settings.proxies)
        wait = asyncio.timeout(self._seconds)
        try:
            async with wait:
                with self._waiting(address, wait):
                    body = await _read(receive)
        except TimeoutError:
            fault = TooSlow(
                f"the body was not here within {self._seconds:g} seconds, or gave way to newer ones"
                f" of this address, of which {WAITED_FOR} are waited for",
                field="body",
                limit=self._seconds,
            )
            self._shared.meters.faults.labels(fault.kind).inc()
            await fault_response(fault, request_id_of(scope))(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replayed(body, receive), send)

    @contextmanager
    def _waiting(self, address: str, wait: Timeout) -> Generator[None]:
        """Among the waits of the address; the oldest ends where there are too many."""
        waits = self._waits.setdefault(address, deque())
        waits.append(wait)
        if len(waits) > WAITED_FOR:
            waits.popleft().reschedule(asyncio.get_running_loop().time())
        try:
            yield
        finally:
            if wait in waits:
                waits.remove(wait)
            if not waits and self._waits.get(address) is waits:
                del self._waits[address]


def _brings_login(scope: Scope) -> bool:
    """Whether a login declares a body small enough to be one; all others are refused unread."""
    if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != LOGIN:
        return False
    declared = Headers(scope=scope).get("content-length", "0")
    plain = declared.isascii() and declared.isdigit() and len(declared) <= len(str(LOGIN_BYTES))
    return plain and 0 < int(declared) <= LOGIN_BYTES


async def _read(receive: Receive) -> bytes | None:
    """The body, and a little more than a login has at most; None where the caller has left."""
    body, more = b"", True
    while more and len(body) <= LOGIN_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What arrived, once; after it whatever comes."""
    is_handed_on = False

    async def replay() -> Message:
        nonlocal is_handed_on
        if is_handed_on:
            return await receive()
        is_handed_on = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
