"""What a route may ask for: the engine, who calls, where, and with what permission.

All of it is asynchronous, though nothing waits: what is not would be sent to another thread.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Header, Path, Request, Security
from fastapi.security import HTTPBearer

from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound, Rejected
from memory.kernel.text import NAME, cleaned
from memory.tenancy.entities import Act, Call, Key
from memory.tenancy.identity import Proof
from server import authentication
from server.errors import PreconditionRequired
from server.shared import Shared, shared_of
from server.tracing import trace_named

BEARER = HTTPBearer(
    auto_error=False, scheme_name="key", description="a key as made by POST /v1/keys"
)
MAX_VERSION_DIGITS = 18


async def engine_of(request: Request) -> Engine:
    return shared_of(request).opened()


async def shared_by(request: Request) -> Shared:
    return shared_of(request)


async def now_of(request: Request) -> datetime:
    """The moment of a request."""
    return authentication.now_of(request.scope)


async def key_of(request: Request) -> Key:
    """The key of a request, looked up once. Raises Unauthenticated, or Overloaded for too many."""
    return await authentication.identify(request.scope, shared_of(request))


async def call_of(request: Request) -> Call:
    """Who calls inside the namespace of the path. A namespace the key does not reach is not
    there.
    """
    if not hasattr(request.state, "call"):
        key = await key_of(request)
        namespace = authentication.namespace_of(request.scope)
        if namespace is None:
            asked = str(request.path_params.get("namespace", ""))[:NAME]
            raise NotFound(
                f"no such namespace: {asked}", code="namespace_not_found", field="namespace"
            )
        request.state.call = Call(key, namespace, await now_of(request))
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


async def expected_version(
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


async def seen_version(
    if_match: Annotated[str | None, Header(description='the ETag last seen, such as "3"')] = None,
) -> int | None:
    """The version an edit is meant for, where its author says so."""
    return None if if_match is None else await expected_version(if_match)


async def agent_of(name: Annotated[str, Path(description="the agent's name")]) -> str:
    """The agent a path names, cleaned as the stored name was."""
    return cleaned(name, "name", NAME)


async def trace_of(request: Request) -> str | None:
    """The trace of a request: that of its span, else the one that its header names."""
    tracing = shared_of(request).tracing
    own = None if tracing is None else tracing.trace_id()
    return own or trace_named(request.headers)


@dataclass(frozen=True, slots=True)
class ProvingCall:
    """A call, and what it has still to prove of who calls."""

    call: Call
    proof: Proof | None


async def proving(
    request: Request, call: Annotated[Call, Depends(inside(Act.RETRIEVE))]
) -> ProvingCall:
    """A call that may retrieve."""
    seconds = getattr(request.state, authentication.ENTERED)
    shared_of(request).meters.observe_stage("enter", seconds)
    return ProvingCall(call, authentication.proof_of(request.scope))


EngineDep = Annotated[Engine, Depends(engine_of)]
Now = Annotated[datetime, Depends(now_of)]
SharedDep = Annotated[Shared, Depends(shared_by)]
TraceDep = Annotated[str | None, Depends(trace_of)]
Version = Annotated[int, Depends(expected_version)]
SeenVersion = Annotated[int | None, Depends(seen_version)]
AgentName = Annotated[str, Depends(agent_of)]

Reads = Annotated[Call, Depends(inside(Act.READ))]
Remembers = Annotated[Call, Depends(inside(Act.REMEMBER))]
Retrieves = Annotated[Call, Depends(inside(Act.RETRIEVE))]
AsksForGuidelines = Annotated[ProvingCall, Depends(proving)]
Reports = Annotated[Call, Depends(inside(Act.REPORT))]
Predicts = Annotated[Call, Depends(inside(Act.PREDICT))]
Settles = Annotated[Call, Depends(inside(Act.SETTLE))]
Inspects = Annotated[Call, Depends(inside(Act.INSPECT))]
Manages = Annotated[Call, Depends(inside(Act.MANAGE))]
Operates = Annotated[Call, Depends(inside(Act.OPERATE))]
Reader = Annotated[Key, Depends(holding(Act.READ))]
Manager = Annotated[Key, Depends(holding(Act.MANAGE))]
Operator = Annotated[Key, Depends(holding(Act.OPERATE))]
