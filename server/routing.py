"""How a route reads its request: bodies strictly, POSTs once only."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_plus, unquote_to_bytes

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.routing import Match

from memory.kernel.errors import Rejected
from memory.kernel.text import NAME
from server.authentication import answer_proven, in_turn
from server.dependencies import key_of
from server.errors import MalformedBody
from server.idempotency import HEADER, once
from server.shared import shared_of
from server.tracing import OPERATIONS, attributes_of

# Bytes that are parsed between two other requests; more would let them wait.
PARSED_HERE = 64 * 1024
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# Characters of a path that a refusal repeats.
PATH_SHOWN = 200
INSIDE = "/v1/namespaces/{namespace}"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose JSON is JSON: no NaN, no lone surrogates, no name twice, bounded depth and
    digits.
    """

    async def json(self) -> object:
        if not hasattr(self.state, "json"):
            body = await self.body()
            small = len(body) <= PARSED_HERE
            self.state.json = parsed(body) if small else await asyncio.to_thread(parsed, body)
        return self.state.json


def parsed(body: bytes) -> object:
    """The value of a body. Raises MalformedBody, or Rejected for an object with a name twice.

    What only the looser parser takes (NaN, lone surrogates) goes on to the shape, which refuses it
    and names the field.
    """
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as fault:
        reason = str(fault)
    else:
        # Numbers are left as they are: it is the names that matter here.
        json.loads(body, object_pairs_hook=_with_each_name_once, parse_int=str, parse_float=str)
        return value
    try:
        return json.loads(body, object_pairs_hook=_with_each_name_once)
    except (ValueError, RecursionError) as fault:
        raise MalformedBody(f"the body is not JSON: {reason}", field="body") from fault


def refused_by_router(request: Request, fault: HTTPException) -> HTTPException:
    """The router's refusal of a path, or of a method, with the words that it leaves out."""
    path = request.url.path[:PATH_SHOWN]
    if fault.status_code == HTTPStatus.NOT_FOUND:
        return HTTPException(HTTPStatus.NOT_FOUND, f"there is no {path} here", fault.headers)
    if fault.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return fault
    # A path may have a route for each method, of which the router names one.
    named = ", ".join(one for one in METHODS if _takes(request, one))
    why = f"{path} does not take {request.method}, but {named}"
    return HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, why, {"Allow": named})


def _takes(request: Request, method: str) -> bool:
    asked = {**request.scope, "method": method}
    return any(route.matches(asked)[0] is Match.FULL for route in request.app.routes)


def _with_each_name_once(pairs: Sequence[Any]) -> dict[str, object]:
    """Of two values of one name a parser takes the first or the last, and a reader sees either."""
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise Rejected(f"{twice[:NAME]} stands twice", code="duplicate_key", field=twice[:NAME])
    return members


class Route(APIRoute):
    """A route of ours."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            await strict.body()
            shared = shared_of(strict)
            async with in_turn(strict.scope, shared):
                return await answer_proven(strict.scope, shared, partial(_answer, strict, inner))

        operation = OPERATIONS.get(self.name)
        return handler if operation is None else _traced(handler, operation)


async def _answer(request: StrictRequest, inner: Handler) -> Response:
    await _read(request)
    if request.method == "POST" and HEADER in request.headers:
        return await once(request, inner)
    return await inner(request)


def _traced(handler: Handler, operation: str) -> Handler:
    """With a span around it, where spans are sent."""

    async def traced(request: Request) -> Response:
        tracing = shared_of(request).tracing
        if tracing is None:
            return await handler(request)
        with tracing.operation(operation, request.headers, attributes_of(request.path_params)):
            return await handler(request)

    return traced


async def _read(request: StrictRequest) -> None:
    """Reads before the framework does: it would turn our faults into a bare 400. Who has no key
    hears of that first.
    """
    body = await request.body()
    try:
        require_plain(request)
        if body:
            await request.json()
    except Rejected:
        await key_of(request)
        raise


def require_plain(request: Request) -> None:
    """A path and a query are what they look like. Raises Rejected naming the part that is not
    UTF-8 or has a NUL: what was made of it would name something else.
    """
    for name, value in request.path_params.items():
        _require_text(str(value).encode("utf-8", "surrogatepass"), name)
    for pair in request.scope["query_string"].split(b"&"):
        name, _, value = pair.partition(b"=")
        _require_text(unquote_to_bytes(value), unquote_plus(name.decode("latin-1"))[:NAME])


def _require_text(value: bytes, name: str) -> None:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise Rejected(f"{name} must be UTF-8", field=name, limit="UTF-8") from None
    if "\x00" in text:
        raise Rejected(f"{name} has a NUL character", field=name, limit="no NUL")


def router_at(path: str, tag: str) -> APIRouter:
    """A router for the routes of one noun. The whole path stands here, for it is the label of the
    metrics.
    """
    return APIRouter(prefix=path, tags=[tag], route_class=Route)
