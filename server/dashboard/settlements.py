"""Settlements: what events came to, and how the predictions of their windows scored."""

from uuid import UUID

from fastapi import Response

from memory.forecasts.settlements import get_settlement, list_settlements
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import Reads, page

router = guarded_at("/dashboard/ns/{namespace}/settlements")


@router.get("")
async def show_settlements(viewer: Reads) -> Response:
    """Settlements, newest first."""
    event = viewer.request.query_params.get("event") or None
    listed = await list_settlements(
        viewer.engine, viewer.call, event, page_of(viewer), newest_first=True
    )
    return page(viewer, "settlements.html", table=shown(viewer, listed), event=event)


@router.get("/{settlement_id}")
async def show_settlement(viewer: Reads, settlement_id: UUID) -> Response:
    """One settlement with the scores of its windows' predictions."""
    found = await get_settlement(viewer.engine, viewer.call, settlement_id)
    return page(viewer, "settlement.html", one=found)
