"""Calls of the language model: who asked, what came of it, the daily token limit, and the money."""

from functools import partial
from typing import get_args
from uuid import UUID

from fastapi import Response

from memory.kernel.ports import RoleName
from memory.llm.budget import budget_of
from memory.llm.client import get_llm_call, list_llm_calls
from memory.llm.costs import get_model_costs
from memory.llm.entities import CallStatus, LlmCallFilter
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import TIME, heading, order_in_time, page_of, shown
from server.dashboard.viewer import Inspects, page

router = guarded_at("/dashboard/ns/{namespace}/llm-calls")


@router.get("")
async def show_llm_calls(viewer: Inspects) -> Response:
    """The calls by role and result, newest first, what the day has left, and what it cost."""
    asked = viewer.request.query_params
    order = order_in_time(viewer)
    wanted = LlmCallFilter(
        asked.get("role") or None, asked.get("status") or None, newest_first=order.descending
    )
    fetch = partial(list_llm_calls, viewer.engine, viewer.call, wanted)
    if wants_file(viewer):
        return await file_of(viewer, "model-calls", fetch)
    calls = await fetch(page_of(viewer))
    return page(
        viewer,
        "llm_calls.html",
        table=shown(viewer, calls, files=True),
        budget=await budget_of(viewer.engine, viewer.call),
        costs=await get_model_costs(viewer.engine, viewer.call),
        wanted=wanted,
        recorded=heading(viewer, order, TIME),
        roles=get_args(RoleName),
        statuses=get_args(CallStatus),
    )


@router.get("/{llm_call_id}")
async def show_llm_call(viewer: Inspects, llm_call_id: UUID) -> Response:
    """One call, with what was asked and what came back."""
    found = await get_llm_call(viewer.engine, viewer.call, llm_call_id)
    return page(viewer, "llm_call.html", one=found)
