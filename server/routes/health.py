"""Alive, ready, measured."""

from collections.abc import Mapping

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
LIVE = answered(Live()).body


@router.get("/health/live", response_model=Live)
async def live() -> Response:
    """The process runs. Asks nothing of the database or the model."""
    return Response(LIVE, media_type="application/json")


@router.get("/health/ready", response_model=Ready, responses={503: {"model": Ready}})
async def ready(request: Request, shared: SharedDep) -> Response:
    """Whether requests would be served, as of the last second, and what is missing.

    What exactly was found is told on loopback, and to a key that may inspect.
    """
    checks = shared.readiness.checks()
    state = Ready.of(checks) if await _may_know(request) else Ready.of(_without_details(checks))
    return answered(state, status=200 if state.status == "ready" else 503)


async def _may_know(request: Request) -> bool:
    if is_near(request.scope):
        return True
    if "authorization" not in request.headers:
        return False
    try:
        return (await key_of(request)).may(Act.INSPECT)
    except MemoryFault:
        return False


def _without_details(checks: Mapping[str, Check]) -> dict[str, Check]:
    return {
        name: Check(ok=check.ok, detail="met" if check.ok else "not met")
        for name, check in checks.items()
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
