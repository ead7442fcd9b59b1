"""How a route reads its request: bodies strictly, POSTs once only."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json

from server.dependencies import key_of
from server.errors import MalformedBody
from server.idempotency import HEADER, once

INSIDE = "/v1/namespaces/{namespace}"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose JSON is JSON: no NaN, no lone surrogates, bounded depth and digits."""

    async def json(self) -> object:
        if not hasattr(self.state, "json"):
            self.state.json = parsed(await self.body())
        return self.state.json


def parsed(body: bytes) -> object:
    """The value of a body. Raises MalformedBody.

    What only the looser parser takes (NaN, lone surrogates) goes on to the shape, which refuses it
    and names the field.
    """
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as fault:
        reason = str(fault)
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise MalformedBody(f"the body is not JSON: {reason}", field="body") from fault


class Route(APIRoute):
    """A route of ours."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            await _read(strict)
            if strict.method == "POST" and HEADER in strict.headers:
                return await once(strict, inner)
            return await inner(strict)

        return handler


async def _read(request: StrictRequest) -> None:
    """Reads before the framework does: it would turn our faults into a bare 400. Who has no key
    hears of that first.
    """
    if not await request.body():
        return
    try:
        await request.json()
    except MalformedBody:
        await key_of(request)
        raise


def router_at(path: str, tag: str) -> APIRouter:
    """A router for the routes of one noun. The whole path stands here, for it is the label of the
    metrics.
    """
    return APIRouter(prefix=path, tags=[tag], route_class=Route)
