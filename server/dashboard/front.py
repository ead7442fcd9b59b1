"""`/`: people are led to the dashboard, programs are told where what is."""

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from server.answers import answered
from server.dashboard.guarding import guarded_at

router = guarded_at("")
PLACES = {
    "service": "memlift",
    "dashboard": "/dashboard/",
    "api": "/v1/",
    "contract": "/openapi.json",
    "ready": "/health/ready",
}
VARY = {"Vary": "Accept"}


@router.get("/")
async def front(request: Request) -> Response:
    """The way in, by what the caller can read."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/dashboard/", status_code=303, headers=VARY)
    answer = answered(PLACES)
    answer.headers.update(VARY)
    return answer
