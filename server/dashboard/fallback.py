"""The way in, and paths that lead nowhere."""

from fastapi import Response

from memory.kernel.errors import NotFound
from server.dashboard.guarding import guarded_at
from server.dashboard.rendering import sent_on
from server.dashboard.viewer import ViewerDep

router = guarded_at("/dashboard")


@router.get("")
@router.get("/")
async def enter(viewer: ViewerDep) -> Response:
    """To the overview of a namespace: the default one, where there is one."""
    slugs = [space.slug for space in viewer.spaces]
    if not slugs:
        return sent_on("/dashboard/namespaces")
    slug = "default" if "default" in slugs else slugs[0]
    return sent_on(f"/dashboard/ns/{slug}/")


@router.api_route("/{rest:path}", methods=["GET", "POST"])
async def nowhere(viewer: ViewerDep, rest: str) -> Response:  # noqa: ARG001 - it is nowhere for anyone
    raise NotFound("there is no such page")
