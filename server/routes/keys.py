"""Keys: make, list, revoke."""

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.tenancy import service as access
from memory.tenancy.entities import Key, KeyCreated, KeyDraft
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manager, Now
from server.routing import router_at
from server.schemas.base import Listing, ListQuery

router = router_at("/v1/keys", "keys")


@router.post("", status_code=201, response_model=KeyCreated)
async def create_key(engine: EngineDep, key: Manager, now: Now, body: KeyDraft) -> Response:
    """Make a key; its token is shown this once."""
    made, token = await access.create_key(engine, key, body, now)
    return answered(KeyCreated(**asdict(made), token=str(token)), 201)


@router.get("", response_model=Listing[Key])
async def list_keys(
    engine: EngineDep, key: Manager, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The keys that the caller manages, without their tokens."""
    return pages.page_of(Key, await access.list_keys(engine, key, pages.page(query)))


@router.delete("/{key_id}", status_code=204)
async def revoke_key(engine: EngineDep, key: Manager, now: Now, key_id: UUID) -> Response:
    """End a key; what it wrote stays."""
    await access.revoke_key(engine, key, key_id, now)
    return Response(status_code=204)
