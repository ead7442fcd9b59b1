"""Alive, ready, measured."""

from collections.abc import Collection, Mapping

from fastapi import APIRouter, Depends, Request, Response

from memory.kernel.errors import MemoryFault
from memory.kernel.postgres.compatibility import Check
from memory.tenancy.entities import Act
from server.answers import answered
from server.callers import is_near
from server.dependencies import SharedDep, key_of
from server.metrics import CONTENT_TYPE
from server.middleware import LOOPBACK
from server.schemas.health import Live, Ready
from server.shared import shared_of
from server.worker_pages import page_of_all

router = APIRouter(tags=["health"])
OF_ALL = frozenset({"server_cost"})
LIVE = answered(Live()).body


@router.get("/health/live", response_model=Live)
async def live() -> Response:
    """The process runs. Asks nothing of the database or the model."""
    return Response(LIVE, media_type="application/json")


@router.get("/health/ready", response_model=Ready, responses={503: {"model": Ready}})
async def ready(request: Request, shared: SharedDep) -> Response:
    """Whether requests would be served, as of the last second, and what is missing.

    What exactly was found is told on loopback, and to a key that may inspect; what all namespaces
    have cost to an operator's alone.
    """
    checks = shared.readiness.checks()
    state = Ready.of(checks | _without_details(checks, await _withheld(request, checks)))
    return answered(state, status=200 if state.status == "ready" else 503)


async def _withheld(request: Request, checks: Mapping[str, Check]) -> Collection[str]:
    """The checks of which the caller is told no more than whether they are met."""
    if is_near(request.scope):
        return ()
    if "authorization" not in request.headers:
        return checks.keys()
    try:
        key = await key_of(request)
    except MemoryFault:
        return checks.keys()
    if not key.may(Act.INSPECT):
        return checks.keys()
    return () if key.may(Act.OPERATE) else OF_ALL & checks.keys()


def _without_details(checks: Mapping[str, Check], names: Collection[str]) -> dict[str, Check]:
    return {
        name: Check(ok=checks[name].ok, detail="met" if checks[name].ok else "not met")
        for name in names
    }


async def scraper(request: Request) -> None:
    """Numbers need a key as soon as the server listens, or a proxy speaks, beyond this machine."""
    if shared_of(request).settings.host not in LOOPBACK or not is_near(request.scope):
        await key_of(request)


@router.get("/metrics", dependencies=[Depends(scraper)], response_class=Response)
async def metrics(shared: SharedDep) -> Response:
    """Counts and durations for Prometheus: with several workers, of all of them."""
    text = shared.meters.text()
    if shared.placement is not None:
        text = await page_of_all(shared.placement, text)
    return Response(text, media_type=CONTENT_TYPE)
