"""Search: one field for memories, receipts, agents, keys and pages of a namespace."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from fastapi import Response

from memory.insight.search import search_namespace
from memory.kernel.errors import MemoryFault
from memory.kernel.paging import MAX_PAGE, Page
from memory.kernel.text import cleaned
from memory.memories.browse_entities import SOUGHT
from memory.memories.entities import Kind
from memory.tasks.service import list_agents
from memory.tenancy.entities import Act
from memory.tenancy.service import list_keys
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import Fetch
from server.dashboard.navigation import MenuEntry
from server.dashboard.viewer import PageViewer, Reads, page
from server.errors import status_of

FOUND = 8
"""So many of each kind are shown; a list has the rest."""
LOOKED_AT = 5
"""Names are looked for in so many pages of a list."""
TITLES = {
    Kind.EXPERIENCE: "Experiences",
    Kind.CONSTRAINT: "Constraints",
    Kind.META_GUIDELINE: "Meta-guidelines",
}
Row = TypeVar("Row")

router = guarded_at("/dashboard/ns/{namespace}/search")


@router.get("")
async def show_search(viewer: Reads) -> Response:
    """What is found, by kind; nothing yet where nothing is looked for."""
    given = viewer.request.query_params.get("q", "").strip()
    if not given:
        return page(viewer, "search.html", sought="", fault=None, found=None)
    try:
        sought = cleaned(given, "q", SOUGHT)
        found = await search_namespace(viewer.engine, viewer.call, sought, FOUND)
    except MemoryFault as fault:
        status = status_of(fault)
        return page(viewer, "search.html", status, sought=given[:SOUGHT], fault=fault, found=None)
    agents = partial(list_agents, viewer.engine, viewer.call)
    keys = partial(list_keys, viewer.engine, viewer.key)
    return page(
        viewer,
        "search.html",
        sought=sought,
        fault=None,
        found=found,
        titles=TITLES,
        pages=_pages(viewer, sought),
        agents=await _named(agents, sought, lambda one: one.name),
        keys=await _named(keys, sought, lambda one: one.name) if viewer.may(Act.MANAGE) else (),
    )


def _pages(viewer: PageViewer, sought: str) -> Sequence[MenuEntry]:
    return [entry for entry in viewer.entries if sought.lower() in entry.title.lower()]


async def _named(fetch: Fetch[Row], sought: str, name: Callable[[Row], str]) -> Sequence[Row]:
    """The first rows with these words in their name."""
    found: list[Row] = []
    after: tuple[object, ...] | None = None
    for _ in range(LOOKED_AT):
        rows = await fetch(Page(MAX_PAGE, after))
        found += [row for row in rows.items if sought.lower() in name(row).lower()]
        after = rows.next
        if after is None or len(found) >= FOUND:
            break
    return found[:FOUND]
