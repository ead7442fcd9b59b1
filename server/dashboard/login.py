"""Login with a key, and logout."""

from collections.abc import Awaitable
from datetime import datetime
from time import monotonic

from fastapi import Request, Response

from memory.kernel.errors import MemoryFault, Overloaded, Unauthenticated
from memory.tenancy.entities import Key
from memory.tenancy.service import close_session, open_linked_session, open_session
from server.authentication import COOKIE
from server.callers import LINK, address_of, is_near
from server.dashboard.forms import Form
from server.dashboard.guarding import LOGIN, guarded_at
from server.dashboard.rendering import rendered, sent_on
from server.dashboard.viewer import FormDep
from server.dependencies import Now
from server.errors import fault_headers, status_of
from server.middleware import is_loopback
from server.shared import Shared, shared_of

HOME = "/dashboard/"
WHY = {
    "session_over": "The session is over. Log in again.",
    "unauthenticated": "The key of the session has expired or was revoked.",
}

router = guarded_at("/dashboard")


@router.get("/login")
async def show_login(request: Request) -> Response:
    """The way in."""
    why = WHY.get(request.query_params.get("why", ""))
    target, link = request.query_params.get("next", HOME), request.query_params.get("link", "")
    return _form(request, own_path(target), why=why, link=link)


@router.post("/login")
async def log_in(request: Request, form: FormDep, now: Now) -> Response:
    """A session for a key; the key itself is not kept."""
    shared, target = shared_of(request), own_path(form.get("next") or HOME)
    try:
        session_id = await _open_session(request, form, now)
    except MemoryFault as fault:
        shared.meters.faults.labels(fault.kind).inc()
        return _form(request, target, fault=fault, status=status_of(fault))
    answer = sent_on(target)
    answer.set_cookie(
        COOKIE,
        session_id,
        path="/dashboard",
        httponly=True,
        samesite="strict",
        secure=not is_plain_loopback(request),
    )
    return answer


async def _open_session(request: Request, form: Form, now: datetime) -> str:
    """The id of a new session, by a link that logs in or by a key. Only failed attempts count, by
    where they come from: they name no key that is known. However many there were, what is good is
    let in.
    """
    shared, link = shared_of(request), form.given("link")
    given = link or form.given("key") or _local(request, shared)
    secret = given if link is None else LINK + given

    def look() -> Awaitable[tuple[str, Key]]:
        opens = open_session if link is None else open_linked_session
        return opens(shared.opened(), given, now)

    address, now_ = address_of(request.scope, shared.settings.proxies), monotonic()
    try:
        shared.logins.take(address, now_)
        session_id, key = await shared.callers.look_up(secret, address, look)
        shared.logins.give_back(address)
    except Overloaded as full:
        session_id, key = await shared.callers.look_up_login(secret, address, look, full)
    shared.limits.take(key.id, monotonic())
    return session_id


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """Ends the session here and in the browser."""
    await close_session(shared_of(request).opened(), request.cookies.get(COOKIE, ""))
    answer = sent_on(LOGIN)
    answer.delete_cookie(COOKIE, path="/dashboard")
    return answer


def own_path(target: str) -> str:
    """A page of ours to go to, whatever a link says."""
    plain = target.isascii() and target.isprintable() and "\\" not in target
    inside = target.startswith(HOME) and not target.startswith(LOGIN)
    return target if plain and inside else HOME


def is_plain_loopback(request: Request) -> bool:
    """A browser keeps a Secure cookie that came over plain HTTP on no machine but its own."""
    return request.url.scheme == "http" and is_loopback(f"//{request.headers.get('host', '')}")


def _form(
    request: Request,
    target: str,
    why: str | None = None,
    link: str = "",
    fault: MemoryFault | None = None,
    status: int = 200,
) -> Response:
    forwarded = request.headers.get("x-forwarded-proto") == "https"
    plain = request.url.scheme == "http" and not forwarded and not is_plain_loopback(request)
    answer = rendered(
        request,
        "login.html",
        status,
        target=target,
        why=why,
        link=link,
        fault=fault,
        plain=plain,
        local=_is_local(request, shared_of(request)),
    )
    if fault is not None:
        answer.headers.update(fault_headers(fault))
    return answer


def _is_local(request: Request, shared: Shared) -> bool:
    return shared.local_token is not None and is_near(request.scope)


def _local(request: Request, shared: Shared) -> str:
    """Where keys are not asked for, a person at this machine is the operator."""
    if shared.local_token is None or not _is_local(request, shared):
        raise Unauthenticated("enter a key")
    return shared.local_token
