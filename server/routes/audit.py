"""Audit: who did what that cannot be undone."""

from typing import Annotated

from fastapi import Query, Response

from memory.tenancy.service import audit_trail
from server.answers import PagesDep
from server.dependencies import EngineDep, Manages
from server.routing import INSIDE, router_at
from server.schemas.access import AuditOut
from server.schemas.base import Listing, ListQuery

router = router_at(f"{INSIDE}/audit", "namespaces")


@router.get("", response_model=Listing[AuditOut])
async def list_audit(
    engine: EngineDep, call: Manages, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The audit of the namespace."""
    return pages.answered(await audit_trail(engine, call, pages.page(query)), AuditOut.of)
