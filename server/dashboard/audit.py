"""Audit: who did what, and when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from json import dumps
from typing import cast
from uuid import UUID

from fastapi import Response

from memory.curation.service import list_changes
from memory.kernel.errors import Rejected
from memory.kernel.text import NAME, optional
from memory.memories.entities import HIDDEN
from memory.tenancy.entities import AuditEntry, AuditFilter
from memory.tenancy.service import index_audit
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import TIME, heading, order_in_time, page_of, shown
from server.dashboard.viewer import Manages, page

PAGES_OF = {
    "memory": "/memories/",
    "constraint": "/constraints/",
    "contradiction": "/contradictions/",
    "ticket": "/candidates/",
}
"""Where the subject of an action has a page, by the first word of the action."""

router = guarded_at("/dashboard/ns/{namespace}/audit")


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An entry as a page shows it: the page of its subject, where it has one, and its details in
    words.
    """

    entry: AuditEntry
    path: str | None
    details: Sequence[tuple[str, str]]


@router.get("")
async def show_audit(viewer: Manages) -> Response:
    """What was done here by action and key, newest first."""
    asked = viewer.request.query_params
    action = optional(asked.get("action") or None, "action", NAME)
    order = order_in_time(viewer)
    wanted = AuditFilter(action, _key_id(asked), newest_first=order.descending)
    fetch = partial(list_changes, viewer.engine, viewer.call, wanted)
    if wants_file(viewer):
        return await file_of(viewer, "audit", fetch)
    table = shown(viewer, await fetch(page_of(viewer)), files=True)
    return page(
        viewer,
        "audit.html",
        table=table,
        lines=[line_of(entry) for entry in table.rows],
        index=await index_audit(viewer.engine, viewer.call),
        wanted=wanted,
        recorded=heading(viewer, order, TIME),
    )


def line_of(entry: AuditEntry) -> AuditLine:
    start = PAGES_OF.get(entry.action.partition(".")[0])
    path = None if start is None or entry.subject == str(HIDDEN) else f"{start}{entry.subject}"
    details = [
        (name.replace("_", " "), _in_words(value))
        for name, value in entry.detail.items()
        if value is not None
    ]
    return AuditLine(entry, path, details)


def _in_words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in cast("list[object]", value))
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False)


def _key_id(asked: Mapping[str, str]) -> UUID | None:
    text = asked.get("key", "").strip()
    try:
        return UUID(text) if text else None
    except ValueError as fault:
        raise Rejected("that is no key's id", field="key") from fault
