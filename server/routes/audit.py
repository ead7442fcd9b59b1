"""Audit: who did what that cannot be undone."""

from typing import Annotated

from fastapi import Query, Response

from memory.tenancy.entities import AuditEntry
from memory.tenancy.service import audit_trail
from server.answers import PagesDep
from server.dependencies import EngineDep, Manages
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery

router = router_at(f"{INSIDE}/audit", "namespaces")


@router.get("", response_model=Listing[AuditEntry])
async def list_audit(
    engine: EngineDep, call: Manages, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The audit of the namespace."""
    return pages.page_of(AuditEntry, await audit_trail(engine, call, pages.page(query)))
