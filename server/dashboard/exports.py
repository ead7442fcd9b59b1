"""Exports and imports: what left the namespace in a file or came from one, and how that is done."""

from fastapi import Response

from memory.curation.service import list_changes
from memory.kernel.paging import Page
from memory.tenancy.entities import AuditFilter
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import Manages, page

router = guarded_at("/dashboard/ns/{namespace}/exports")
IMPORTS = Page(50)


@router.get("")
async def show_exports(viewer: Manages) -> Response:
    """What the audit trail says of both, newest first."""
    exports = AuditFilter("namespace.export", newest_first=True)
    imports = AuditFilter("namespace.import", newest_first=True)
    listed = await list_changes(viewer.engine, viewer.call, exports, page_of(viewer))
    brought = await list_changes(viewer.engine, viewer.call, imports, IMPORTS)
    return page(viewer, "exports.html", table=shown(viewer, listed), imports=brought)
