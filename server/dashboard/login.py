"""Login with a key, and logout."""

from time import monotonic
from uuid import NAMESPACE_URL, UUID, uuid5

from fastapi import Request, Response

from memory.kernel.errors import MemoryFault, Unauthenticated
from memory.tenancy.service import close_session, open_session
from server.dashboard.guarding import COOKIE, LOGIN, guarded_at
from server.dashboard.rendering import rendered, sent_on
from server.dashboard.viewer import FormDep
from server.dependencies import Now
from server.errors import status_of
from server.middleware import LOOPBACK, is_loopback
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
    return _form(request, own_path(request.query_params.get("next", HOME)), why=why)


@router.post("/login")
async def log_in(request: Request, form: FormDep, now: Now) -> Response:
    """A session for a key; the key itself is not kept."""
    shared, target = shared_of(request), own_path(form.get("next") or HOME)
    try:
        # Guesses are counted by where they come from: they name no key that is known.
        shared.limits.take(_whence(request), monotonic())
        token = form.given("key") or _local(request, shared)
        session_id, key = await open_session(shared.opened(), token, now)
        shared.limits.take(key.id, monotonic())
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
    fault: MemoryFault | None = None,
    status: int = 200,
) -> Response:
    forwarded = request.headers.get("x-forwarded-proto") == "https"
    plain = request.url.scheme == "http" and not forwarded and not is_plain_loopback(request)
    return rendered(
        request,
        "login.html",
        status,
        target=target,
        why=why,
        fault=fault,
        plain=plain,
        local=_is_local(request, shared_of(request)),
    )


def _is_local(request: Request, shared: Shared) -> bool:
    near = request.client is not None and request.client.host in LOOPBACK
    return shared.local_token is not None and near


def _local(request: Request, shared: Shared) -> str:
    """Where keys are not asked for, a person at this machine is the operator."""
    if shared.local_token is None or not _is_local(request, shared):
        raise Unauthenticated("enter a key")
    return shared.local_token


def _whence(request: Request) -> UUID:
    host = "" if request.client is None else request.client.host
    return uuid5(NAMESPACE_URL, f"login:{host}")
