"""What a route may ask for: the engine, who calls, where, and with what permission."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Annotated

from fastapi import Depends, Header, Path, Request, Security
from fastapi.security import HTTPBearer

from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound, Rejected, Unauthenticated
from memory.kernel.text import NAME, SLUG, cleaned
from memory.tenancy import service as access
from memory.tenancy.entities import Act, Call, Key
from server.errors import PreconditionRequired
from server.middleware import LOOPBACK
from server.shared import Shared, shared_of

BEARER = HTTPBearer(
    auto_error=False, scheme_name="key", description="a key as made by POST /v1/keys"
)
MAX_VERSION_DIGITS = 18


def engine_of(request: Request) -> Engine:
    return shared_of(request).opened()


def now_of(request: Request) -> datetime:
    """The one place where the clock is asked; the same moment throughout a request."""
    if not hasattr(request.state, "now"):
        request.state.now = datetime.now(UTC)
    return request.state.now


async def key_of(request: Request) -> Key:
    """The key of a request, checked once. Raises Unauthenticated, or Overloaded for too many."""
    if not hasattr(request.state, "key"):
        shared = shared_of(request)
        token = bearer(request, shared)
        key = await access.authenticate(shared.opened(), token, now_of(request))
        _admit(request, shared, key)
    return request.state.key


def _admit(request: Request, shared: Shared, key: Key) -> None:
    shared.limits.take(key.id, monotonic())
    request.state.key = key


def bearer(request: Request, shared: Shared) -> str:
    """The token a request shows; without keys, a request from this machine is the operator's."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    near = request.client is not None and request.client.host in LOOPBACK
    if shared.local_token is not None and near and not scheme:
        return shared.local_token
    raise Unauthenticated("send Authorization: Bearer ml_…")


async def call_of(request: Request) -> Call:
    """Who calls inside the namespace of the path. A namespace the key does not reach is not
    there.
    """
    if not hasattr(request.state, "call"):
        slug = request.path_params["namespace"]
        if not SLUG.fullmatch(slug):
            await key_of(request)
            raise NotFound("there is no such namespace")
        now, shared = now_of(request), shared_of(request)
        key, namespace = await access.enter(shared.opened(), bearer(request, shared), slug, now)
        _admit(request, shared, key)
        request.state.call = Call(key, namespace, now)
    return request.state.call


def inside(act: Act) -> Callable[..., Awaitable[Call]]:
    """Asks for a key that may `act` inside the namespace of the path."""

    async def call(
        request: Request,
        namespace: Annotated[str, Path(description="slug of the namespace")],  # noqa: ARG001 - shown in the contract
        _: Annotated[object, Security(BEARER)],
    ) -> Call:
        found = await call_of(request)
        found.key.require(act)
        return found

    return call


def holding(act: Act) -> Callable[..., Awaitable[Key]]:
    """Asks for a key that may `act`, outside any namespace."""

    async def key(request: Request, _: Annotated[object, Security(BEARER)]) -> Key:
        found = await key_of(request)
        found.require(act)
        return found

    return key


def expected_version(
    if_match: Annotated[str | None, Header(description='the ETag last seen, such as "3"')] = None,
) -> int:
    """The version an edit is meant for. Raises PreconditionRequired when it is not said."""
    if if_match is None:
        raise PreconditionRequired("send If-Match with the ETag you last saw", field="If-Match")
    digits = if_match.strip()[1:-1]
    if f'"{digits}"' != if_match.strip() or not (digits.isascii() and digits.isdigit()):
        raise Rejected('If-Match must be one ETag, such as "3"', field="If-Match")
    if len(digits) > MAX_VERSION_DIGITS:
        raise Rejected("If-Match names no version of ours", field="If-Match")
    return int(digits)


def seen_version(
    if_match: Annotated[str | None, Header(description='the ETag last seen, such as "3"')] = None,
) -> int | None:
    """The version an edit is meant for, where its author says so."""
    return None if if_match is None else expected_version(if_match)


def agent_of(name: Annotated[str, Path(description="the agent's name")]) -> str:
    """The agent a path names, cleaned as the stored name was."""
    return cleaned(name, "name", NAME)


EngineDep = Annotated[Engine, Depends(engine_of)]
Now = Annotated[datetime, Depends(now_of)]
SharedDep = Annotated[Shared, Depends(shared_of)]
Version = Annotated[int, Depends(expected_version)]
SeenVersion = Annotated[int | None, Depends(seen_version)]
AgentName = Annotated[str, Depends(agent_of)]

Reads = Annotated[Call, Depends(inside(Act.READ))]
Remembers = Annotated[Call, Depends(inside(Act.REMEMBER))]
Retrieves = Annotated[Call, Depends(inside(Act.RETRIEVE))]
Reports = Annotated[Call, Depends(inside(Act.REPORT))]
Predicts = Annotated[Call, Depends(inside(Act.PREDICT))]
Settles = Annotated[Call, Depends(inside(Act.SETTLE))]
Inspects = Annotated[Call, Depends(inside(Act.INSPECT))]
Manages = Annotated[Call, Depends(inside(Act.MANAGE))]
Operates = Annotated[Call, Depends(inside(Act.OPERATE))]
Reader = Annotated[Key, Depends(holding(Act.READ))]
Manager = Annotated[Key, Depends(holding(Act.MANAGE))]
Operator = Annotated[Key, Depends(holding(Act.OPERATE))]
