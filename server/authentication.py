"""The key first: who calls is known before a body is read, parsed or even waited for.

What stands under `/v1`, whatever the path, and `/mcp` need a key. A text that is no token costs no
connection; one that nobody has seen is looked up as far as its address may (`callers.py`).
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from time import monotonic, perf_counter
from typing import cast

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.kernel.engine import Engine
from memory.kernel.errors import (
    MemoryFault,
    NotFound,
    Overloaded,
    Rejected,
    Unauthenticated,
    Unavailable,
)
from memory.kernel.text import SLUG
from memory.kernel.turns import Turn, enter_turn
from memory.tenancy import identity as access
from memory.tenancy.entities import Call, Key, Namespace, Token
from memory.tenancy.identity import Identity, Proof
from memory.tenancy.service import open_namespace
from server.callers import SESSION, address_of, is_near
from server.errors import fault_response
from server.middleware import request_id_of
from server.shared import Shared

ENTERED = "entered_seconds"
PROOF, CALL = "proof", "call"
RETRIEVALS = ("/retrievals", "/retrievals/batch")
IDEMPOTENCY = "Idempotency-Key"
PLACE = "held_place"
HELD = "held_until_done"
COOKIE = "memlift_session"
API = "/v1/"
MCP = "/mcp"
NAMESPACE = "MemLift-Namespace"
"""Names the namespace for keys that reach several, where no path does."""
DEFAULT_NAMESPACE = "default"
NAMESPACES = "/v1/namespaces/"
# Answered from memory, at once and to everybody.
UNCOUNTED = frozenset({"/health/live", "/health/ready"})


class KeyFirst:
    """Gives each request a place, and those to the API a key, before they go on."""

    def __init__(self, app: ASGIApp, shared: Shared) -> None:
        self._app = app
        self._shared = shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNCOUNTED:
            await self._app(scope, receive, send)
            return
        with ExitStack() as held:
            fault = await self._admit(scope, held)
            if fault is None:
                await self._app(scope, receive, self._when_proven(scope, receive, send))
                return
        self._shared.meters.faults.labels(fault.kind).inc()
        await fault_response(fault, request_id_of(scope))(scope, receive, send)

    def _when_proven(self, scope: Scope, receive: Receive, send: Send) -> Send:
        """Where a call was taken up by what was known, nothing leaves before that was proven."""
        if proof_of(scope) is None:
            return send
        refused = False

        async def proven(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and not _is_proven(scope):
                try:
                    await identify_anew(scope, self._shared)
                except MemoryFault as fault:
                    refused = True
                    self._shared.meters.faults.labels(fault.kind).inc()
                    await fault_response(fault, request_id_of(scope))(scope, receive, send)
            if not refused:
                await send(message)

        return proven

    async def _admit(self, scope: Scope, held: ExitStack) -> MemoryFault | None:
        """A place, and a key where one is needed; or why not."""
        secret = _secret(scope, self._shared)
        known = secret is not None and self._shared.callers.knows(secret)
        try:
            in_service = held.enter_context(ExitStack())
            place = in_service.enter_context(self._shared.places.hold(known=known))
            state = _state(scope)
            state |= {HELD: held, PLACE: in_service}
            if _needs_key(scope["path"]):
                await identify(scope, self._shared)
                self._shared.places.recognise(place)
        except MemoryFault as fault:
            return fault
        return None


def held_until_done(scope: Scope) -> ExitStack:
    """What a request holds beside its place until it has ended, however it ends."""
    return cast("ExitStack", _state(scope)[HELD])


def release_place(scope: Scope) -> None:
    """The request goes on without its place: one that only waits keeps nobody out."""
    cast("ExitStack", _state(scope)[PLACE]).close()


async def identify(scope: Scope, shared: Shared) -> Key:
    """The key of a request, looked up once, with the namespace of its path; a retrieval is taken up
    by what is known of them, and proves it on its way (`answer_proven`).

    Raises Unauthenticated, or Overloaded for a key or an address that asks too often.
    """
    state = _state(scope)
    if "key" not in state:
        token, now, slug = bearer(scope, shared), now_of(scope), _slug(scope["path"])
        began = perf_counter()
        engine = shared.opened()
        known = None
        if slug is not None and _proves_itself(scope, engine):
            known = shared.callers.known.find(token, slug, now)
        if known is None:
            known = await _look_up(scope, shared, token, slug)
        else:
            state[PROOF] = Proof(known, now)
        try:
            shared.limits.take(known.key.id, monotonic())
        except Overloaded:
            # Not even that is said to a key that may be good no more.
            if state.pop(PROOF, None) is not None:
                await _look_up(scope, shared, token, slug)
            raise
        _enter(scope, known, began)
    return cast("Key", state["key"])


async def identify_anew(scope: Scope, shared: Shared) -> None:
    """As the key and the namespace stand now. Raises as `identify` does."""
    state, began = _state(scope), perf_counter()
    token = bearer(scope, shared)
    shared.callers.known.forget(cast("Proof", state.pop(PROOF)).identity)
    found = await _look_up(scope, shared, token, _slug(scope["path"]))
    state.pop(CALL, None)
    _enter(scope, found, began)


async def _look_up(scope: Scope, shared: Shared, token: str, slug: str | None) -> Identity:
    engine, now = shared.opened(), now_of(scope)
    Token.parse(token)
    found = await shared.callers.look_up(
        token,
        address_of(scope, shared.settings.proxies),
        lambda: access.identify(engine, token, slug, now),
    )
    shared.callers.known.keep(found)
    return found


def _enter(scope: Scope, found: Identity, began: float) -> None:
    namespace = found.namespace
    entered = {"key": found.key, "namespace": namespace, ENTERED: perf_counter() - began}
    _state(scope).update(entered)
    if namespace is not None:
        enter_turn(Turn(namespace.id))


def _proves_itself(scope: Scope, engine: Engine) -> bool:
    """Whether a request proves who calls before it does anything that others could notice: a
    retrieval that asks no language model, and whose answer is not recorded under a key of its own.
    """
    return (
        scope["method"] == "POST"
        and scope["path"].endswith(RETRIEVALS)
        and engine.llm is None
        and IDEMPOTENCY not in Headers(scope=scope)
    )


def proof_of(scope: Scope) -> Proof | None:
    """What a call was taken up by; None where its key was read for it."""
    return cast("Proof | None", _state(scope).get(PROOF))


def _is_proven(scope: Scope) -> bool:
    proof = proof_of(scope)
    return proof is None or proof.fresh is not None


async def answer_proven(
    scope: Scope, shared: Shared, answer: Callable[[], Awaitable[Response]]
) -> Response:
    """The answer, once who calls is proven; where that failed, or the answer (or its fault) came
    without it, once more by the key and namespace as they stand.
    """
    proof = proof_of(scope)
    if proof is None:
        return await answer()
    try:
        response = await answer()
    except (Overloaded, Unavailable):
        # Who is told to come back is told so at once, where the key is good.
        if proof.fresh is None:
            await identify_anew(scope, shared)
        raise
    except Exception:
        if proof.fresh is not None:
            raise
    else:
        if proof.fresh is not None:
            if proof.fresh is not proof.identity:
                shared.callers.known.keep(proof.fresh)
            return response
    await identify_anew(scope, shared)
    return await answer()


async def enter_namespace(scope: Scope, shared: Shared) -> Call:
    """Who calls, in the namespace of its key, or in the one that a header names. Raises as
    `identify` does, Rejected or NotFound for the namespace.
    """
    engine = shared.opened()
    key = await identify(scope, shared)
    slug = Headers(scope=scope).get(NAMESPACE) or key.namespace or DEFAULT_NAMESPACE
    if not SLUG.fullmatch(slug):
        raise Rejected(f"{NAMESPACE} must match {SLUG.pattern}", field=NAMESPACE)
    try:
        namespace = await open_namespace(engine, key, slug)
    except NotFound as fault:
        raise NotFound(
            f"no namespace {slug} for this key: name one in the header {NAMESPACE}",
            code="namespace_not_found",
            field=NAMESPACE,
        ) from fault
    enter_turn(Turn(namespace.id))
    _state(scope)["namespace"] = namespace
    return Call(key, namespace, now_of(scope))


@asynccontextmanager
async def in_turn(scope: Scope, shared: Shared) -> AsyncGenerator[None]:
    """The block when it is the turn of the request's namespace, where it has one; its body should
    have come by then. Raises as `Bulkheads.hold` does.
    """
    namespace = namespace_of(scope)
    if namespace is None:
        yield
        return
    async with shared.bulkheads.hold(namespace.id):
        yield


def namespace_of(scope: Scope) -> Namespace | None:
    """The namespace of an identified request; None where there is none that its key reaches."""
    return cast("Namespace | None", _state(scope).get("namespace"))


def now_of(scope: Scope) -> datetime:
    """The one place where the clock is asked; the same moment throughout a request."""
    return cast("datetime", _state(scope).setdefault("now", datetime.now(UTC)))


def bearer(scope: Scope, shared: Shared) -> str:
    """The token a request shows; without keys, a request from this machine is the operator's."""
    scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    if shared.local_token is not None and is_near(scope) and not scheme:
        return shared.local_token
    raise Unauthenticated("send Authorization: Bearer ml_…")


def _needs_key(path: str) -> bool:
    return path.startswith(API) or path == MCP


def _secret(scope: Scope, shared: Shared) -> str | None:
    """What a request shows: a key, or at the dashboard a session."""
    if _needs_key(scope["path"]):
        try:
            return bearer(scope, shared)
        except Unauthenticated:
            return None
    cookies: Mapping[str, str] = cookie_parser(Headers(scope=scope).get("cookie", ""))
    session_id = cookies.get(COOKIE)
    return None if session_id is None else SESSION + session_id


def _slug(path: str) -> str | None:
    """The namespace that a path names, where it could be one."""
    if not path.startswith(NAMESPACES):
        return None
    slug = path.removeprefix(NAMESPACES).partition("/")[0]
    return slug if SLUG.fullmatch(slug) else None


def _state(scope: Scope) -> dict[str, object]:
    return scope.setdefault("state", {})
