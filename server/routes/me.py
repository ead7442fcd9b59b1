"""Who one is."""

from fastapi import Response

from memory.kernel.paging import Page
from memory.tenancy.service import list_namespaces
from server.answers import answered
from server.dependencies import EngineDep, Reader
from server.routing import router_at
from server.schemas.access import Me

router = router_at("/v1/me", "keys")


@router.get("", response_model=Me)
async def me(engine: EngineDep, key: Reader) -> Response:
    """The key of this request, and what it reaches."""
    if key.namespace_id is None:
        return answered(Me.of(key, None))
    reached = await list_namespaces(engine, key, Page(limit=1))
    return answered(Me.of(key, next((space.slug for space in reached.items), None)))
