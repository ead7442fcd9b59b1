"""The taxonomy: kinds of task as versioned data."""

from fastapi import Response

from memory.constraints import taxonomy
from memory.constraints.taxonomy_entities import TaxonomyVersion
from server.answers import all_of, answered
from server.dependencies import EngineDep, Manages, Reads, SeenVersion
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.taxonomy import TaxonomyPut

router = router_at(f"{INSIDE}/taxonomy", "categories")


@router.put("", response_model=TaxonomyVersion)
async def bring_taxonomy(
    engine: EngineDep, call: Manages, seen: SeenVersion, body: TaxonomyPut
) -> Response:
    """Bring the next version; the same again makes none. `If-Match` is heeded where given."""
    made = await taxonomy.replace_taxonomy(engine, call, body.to_draft(), seen)
    return answered(made, version=made.version)


@router.get("", response_model=TaxonomyVersion)
async def get_taxonomy(engine: EngineDep, call: Reads) -> Response:
    """The version in force."""
    known = await taxonomy.get_taxonomy(engine, call)
    return answered(known, version=known.version)


@router.get("/versions", response_model=Listing[TaxonomyVersion])
async def list_taxonomies(engine: EngineDep, call: Reads) -> Response:
    """All versions that were brought, oldest first."""
    return all_of(TaxonomyVersion, await taxonomy.list_taxonomies(engine, call))
