"""Around every page: headers, foreign origins, forms of other sites, and faults as pages."""

import hmac
import logging
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from memory.kernel.errors import Forbidden, MemoryFault, Rejected, Unauthenticated
from memory.tenancy.entities import Key
from memory.tenancy.service import enter_session
from memory.tenancy.session_entities import form_token
from server.authentication import COOKIE, now_of
from server.callers import SESSION, address_of
from server.dashboard.forms import Form, read_form
from server.dashboard.rendering import problem_page
from server.errors import fault_headers, problem_of, problem_of_bug, problem_of_shape
from server.middleware import is_readable, request_id_of, too_large
from server.schemas.problems import Problem
from server.shared import shared_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
FIELD = "csrf"
HEADER = "X-CSRF-Token"
LOGIN = "/dashboard/login"
LOGIN_BYTES = 16 * 1024
SAME = frozenset({"same-origin", "none"})

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
logger = logging.getLogger("memlift.dashboard")


class PageRoute(APIRoute):
    """A route for people: what goes wrong is a page, and no other site can use it."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            answer = await _answered(request, inner)
            for name, value in HEADERS.items():
                answer.headers[name] = value
            answer.headers.setdefault("Cache-Control", "no-store")
            return answer

        return handler


async def _answered(request: Request, inner: Handler) -> Response:
    try:
        if request.method == "POST":
            await _require_own(request)
        return await inner(request)
    except Unauthenticated as fault:
        return _to_login(request, fault)
    except MemoryFault as fault:
        problem = problem_of(fault, request_id_of(request.scope))
        return _told(request, problem, fault_headers(fault))
    except RequestValidationError as fault:
        return _told(request, problem_of_shape(fault, request_id_of(request.scope)))
    except Exception:
        request_id = request_id_of(request.scope)
        logger.exception("page of request %s failed", request_id)
        return _told(request, problem_of_bug(request_id))


def _told(request: Request, problem: Problem, headers: dict[str, str] | None = None) -> Response:
    shared_of(request).meters.faults.labels(problem.code).inc()
    answer = problem_page(request, problem)
    answer.headers.update(headers or {})
    return answer


async def _require_own(request: Request) -> None:
    """A POST comes from a page of ours. Raises Forbidden for any other.

    Whoever has no session is sent away before the form is read.
    """
    require_same_origin(request)
    if request.url.path == LOGIN:
        require_small(request)
        await form_of(request)
        return
    session_id = session_of(request)
    await key_of_session(request)
    form = await form_of(request)
    given = request.headers.get(HEADER) or form.get(FIELD)
    if not hmac.compare_digest(given.encode(), form_token(session_id).encode()):
        raise Forbidden("the form is not of this session; open the page again", code="foreign_form")


def require_same_origin(request: Request) -> None:
    """Raises Forbidden for a request that a page of another site sent."""
    origin = request.headers.get("origin")
    if origin is not None:
        # Without the scheme: a proxy that ends TLS speaks plain HTTP to us.
        host = request.headers.get("host", "").lower()
        foreign = not is_readable(origin) or urlsplit(origin).netloc.lower() != host
    else:
        foreign = request.headers.get("sec-fetch-site", "none") not in SAME
    if foreign:
        raise Forbidden("the request comes from a page of another site", code="foreign_origin")


def require_small(request: Request) -> None:
    """Raises TooLarge for a login that says it is larger than one, Rejected where it does not say:
    nobody knows yet who sends it.
    """
    declared = request.headers.get("content-length")
    if declared is None:
        raise Rejected("send Content-Length", field="Content-Length")
    if int(declared) > LOGIN_BYTES:
        raise too_large(LOGIN_BYTES)


def session_of(request: Request) -> str:
    """The session that a browser shows. Raises Unauthenticated where it shows none."""
    session_id = request.cookies.get(COOKIE)
    if session_id is None:
        raise Unauthenticated("log in first")
    return session_id


async def key_of_session(request: Request) -> Key:
    """The key of the session, looked up once. Raises Unauthenticated where the session is over."""
    if not hasattr(request.state, "session_key"):
        shared, session_id = shared_of(request), session_of(request)
        key = await shared.callers.look_up(
            SESSION + session_id,
            address_of(request.scope, shared.settings.proxies),
            lambda: enter_session(shared.opened(), session_id, now_of(request.scope)),
        )
        shared.limits.take(key.id, monotonic())
        request.state.session_key = key
    return request.state.session_key


async def form_of(request: Request) -> Form:
    """The form that a request brings, read once."""
    if not hasattr(request.state, "form"):
        request.state.form = read_form(await request.body())
    return request.state.form


def _to_login(request: Request, fault: Unauthenticated) -> Response:
    """To the login, and back here afterwards; a part of a page cannot be replaced by it."""
    path = request.url.path if request.method == "GET" else "/dashboard/"
    query = f"?{request.url.query}" if request.method == "GET" and request.url.query else ""
    known = "" if request.cookies.get(COOKIE) is None else f"&why={fault.kind}"
    target = f"{LOGIN}?next={quote(path + query, safe='')}{known}"
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": target})
    if "text/event-stream" in request.headers.get("accept", ""):
        # The page of the login is no stream of events: a browser would call it a fault.
        return Response(status_code=401)
    return RedirectResponse(target, status_code=303)


def guarded_at(path: str) -> APIRouter:
    """A router for pages; the published contract does not list them."""
    return APIRouter(prefix=path, route_class=PageRoute, include_in_schema=False)
