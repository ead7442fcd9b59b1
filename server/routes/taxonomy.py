"""The taxonomy: kinds of task as versioned data."""

from fastapi import Response

from memory.constraints import taxonomy as flow
from server.answers import answered, whole
from server.dependencies import EngineDep, Manages, Reads, SeenVersion
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.taxonomy import TaxonomyIn, TaxonomyOut

router = router_at(f"{INSIDE}/taxonomy", "categories")


@router.put("", response_model=TaxonomyOut)
async def bring_taxonomy(
    engine: EngineDep, call: Manages, seen: SeenVersion, body: TaxonomyIn
) -> Response:
    """Bring the next version; the same again makes none. `If-Match` is heeded where given."""
    brought = await flow.bring(engine, call, body.to_draft(), seen)
    return answered(TaxonomyOut.of(brought), version=brought.version)


@router.get("", response_model=TaxonomyOut)
async def get_taxonomy(engine: EngineDep, call: Reads) -> Response:
    """The version in force."""
    found = await flow.current(engine, call)
    return answered(TaxonomyOut.of(found), version=found.version)


@router.get("/versions", response_model=Listing[TaxonomyOut])
async def list_taxonomies(engine: EngineDep, call: Reads) -> Response:
    """All versions that were brought, oldest first."""
    return whole([TaxonomyOut.of(one) for one in await flow.versions(engine, call)])
