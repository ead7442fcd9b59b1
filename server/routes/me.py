"""Who one is."""

from fastapi import Response

from server.answers import answered
from server.dependencies import Reader
from server.routing import router_at
from server.schemas.access import Me

router = router_at("/v1/me", "keys")


@router.get("", response_model=Me)
async def me(key: Reader) -> Response:
    """The key of this request, and what it reaches."""
    return answered(Me.of(key))
