"""What is no message of the protocol is refused here, in the words of the HTTP contract.

The library would answer in the words of its validator, or say only that something is wrong.
"""

import json
from collections.abc import Mapping, Sequence
from typing import cast

import mcp_types as types
from pydantic import BaseModel, ValidationError
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive

from memory.kernel.errors import Rejected
from server.errors import encodable, limit_of
from server.routing import MalformedBody, parsed
from server.shape_words import words_of

PARAMETERS: Mapping[str, type[BaseModel]] = {
    "initialize": types.InitializeRequestParams,
    "tools/call": types.CallToolRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "prompts/get": types.GetPromptRequestParams,
}
"""What the methods that need parameters take."""


async def read_whole(receive: Receive) -> tuple[bytes, Receive]:
    """The body, and what gives it out again, followed by all that comes after it."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts), _first(message, receive)
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(parts)
    return body, _first({"type": "http.request", "body": body, "more_body": False}, receive)


def _first(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def require_message(body: bytes) -> None:
    """Raises Rejected naming the field that makes a body no message."""
    message = parsed(body)
    if not isinstance(message, dict):
        raise Rejected("must be one object: a request or a notification", field="body")
    known = cast("Mapping[str, object]", message)
    if "method" not in known and ("result" in known or "error" in known):
        return
    identity = known.get("id", "")
    if not isinstance(identity, (str, int)) or isinstance(identity, bool):
        raise Rejected("must be a text or a whole number", field="id")
    request = "id" in known or "method" not in known
    _require(types.JSONRPCRequest if request else types.JSONRPCNotification, known, "")
    if place := _unencodable(known, ""):
        raise Rejected("contains a lone surrogate, or a number that is not finite", field=place)
    method = str(known["method"])
    if method in PARAMETERS:
        _require(PARAMETERS[method], known.get("params") or {}, "params.")


def _require(shape: type[BaseModel], value: object, above: str) -> None:
    try:
        shape.model_validate(value)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_input=False)[0]
        field = encodable(above + ".".join(map(str, first["loc"])))
        raise Rejected(words_of(first, None), field=field, limit=limit_of(first)) from None


def _unencodable(value: object, place: str) -> str | None:
    """Where a text stands that no encoding carries, or a number that JSON does not have."""
    if isinstance(value, dict):
        inner = [(str(name), item) for name, item in cast("dict[object, object]", value).items()]
    elif isinstance(value, list):
        inner = [(str(n), item) for n, item in enumerate(cast("Sequence[object]", value))]
    else:
        return None if _is_encodable(value) else place
    found = (_unencodable(item, f"{place}.{name}" if place else name) for name, item in inner)
    return next((encodable(one) for one in found if one), None)


def _is_encodable(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


def error_response(fault: Rejected, body: bytes) -> Response:
    """The protocol's error of a refused message, under its id where it has one."""
    code = types.PARSE_ERROR if isinstance(fault, MalformedBody) else types.INVALID_REQUEST
    field = fault.field or "body"
    if field.startswith("params."):
        code = types.INVALID_PARAMS
    detail = fault.detail if fault.detail.startswith(field) else f"{field}: {fault.detail}"
    data = {"field": field} | ({} if fault.limit is None else {"limit": fault.limit})
    error = {"code": code, "message": encodable(detail), "data": data}
    return JSONResponse({"jsonrpc": "2.0", "id": id_of(body), "error": error}, status_code=400)


def id_of(body: bytes) -> str | int | None:
    """The id to answer a message under; None where it has none that can be."""
    found = members_of(body).get("id")
    if isinstance(found, str):
        return encodable(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def members_of(body: bytes) -> Mapping[str, object]:
    """What a body holds by name; nothing where it is no JSON object."""
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", message) if isinstance(message, dict) else {}
