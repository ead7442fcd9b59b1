"""Alive, ready, measured."""

from datetime import datetime

from fastapi import APIRouter, Depends, Request, Response

from memory.jobs.service import readiness
from memory.kernel.errors import Unavailable
from memory.kernel.postgres.compatibility import Check
from server.answers import answered
from server.dependencies import Now, SharedDep, key_of
from server.metrics import CONTENT_TYPE
from server.middleware import LOOPBACK
from server.schemas.health import Live, Ready
from server.shared import Shared, shared_of

router = APIRouter(tags=["health"])
LIVE = answered(Live()).body


@router.get("/health/live", response_model=Live)
async def live() -> Response:
    """The process runs. Asks nothing of the database or the model."""
    return Response(LIVE, media_type="application/json")


@router.get("/health/ready", response_model=Ready, responses={503: {"model": Ready}})
async def ready(shared: SharedDep, now: Now) -> Response:
    """Whether requests would be served, and what is missing."""
    state = Ready.of(await _checks(shared, now))
    return answered(state, status=200 if state.status == "ready" else 503)


async def _checks(shared: Shared, now: datetime) -> dict[str, Check]:
    try:
        return dict(await readiness(shared.opened(), now))
    except Unavailable as fault:
        return {"engine": Check(ok=False, detail=fault.detail)}


async def scraper(request: Request) -> None:
    """Numbers need a key as soon as the server listens beyond this machine."""
    if shared_of(request).settings.host not in LOOPBACK:
        await key_of(request)


@router.get("/metrics", dependencies=[Depends(scraper)], response_class=Response)
async def metrics(shared: SharedDep) -> Response:
    """Counts and durations for Prometheus."""
    return Response(shared.meters.text(), media_type=CONTENT_TYPE)
