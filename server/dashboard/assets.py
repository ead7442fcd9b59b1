"""Styles and scripts, as they are asked for."""

from fastapi import Response

from memory.kernel.errors import NotFound
from server.dashboard.files import ASSETS
from server.dashboard.guarding import guarded_at

KEPT = "public, max-age=31536000, immutable"

router = guarded_at("/dashboard/static")


@router.get("/{name:path}")
async def get_asset(name: str) -> Response:
    """A style or a script."""
    asset = ASSETS.get(name)
    if asset is None:
        raise NotFound("there is no such file")
    return Response(asset.body, media_type=asset.media_type, headers={"Cache-Control": KEPT})
