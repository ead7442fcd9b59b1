"""Influence: how far each key moved memories of others, and how to take its word back."""

from collections.abc import Callable, Mapping
from functools import partial
from uuid import UUID

from fastapi import Response

from memory.insight.browse import some_memories
from memory.insight.influence import list_influences, list_moved_memories
from memory.insight.influence_entities import KeyInfluence
from memory.kernel.errors import NotFound
from memory.tenancy.entities import Act, Key
from memory.tenancy.service import get_key
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import all_at_once, file_addresses, file_of, wants_file
from server.dashboard.lists import ListOrder, headings, sort_of
from server.dashboard.viewer import Inspects, PageViewer, page

COLUMNS: Mapping[str, Callable[[KeyInfluence], int | float]] = {
    "outcomes": lambda one: one.outcomes,
    "memories": lambda one: one.memories,
    "raised": lambda one: one.raised,
    "lowered": lambda one: one.lowered,
    "alone": lambda one: one.alone,
    "effect": lambda one: one.effect,
}
"""What the whole list is sorted by: it has no pages."""
MOST_ALONE = ListOrder("alone", descending=True)

router = guarded_at("/dashboard/ns/{namespace}/influences")


@router.get("")
async def show_influences(viewer: Inspects) -> Response:
    """Every key that reported here, those first that moved most memories of others alone unless
    another column is chosen.
    """
    sort = sort_of(viewer, tuple(COLUMNS), MOST_ALONE)
    keys = sorted(
        await list_influences(viewer.engine, viewer.call),
        key=COLUMNS[sort.column],
        reverse=sort.descending,
    )
    if wants_file(viewer):
        return await file_of(viewer, "influence", partial(all_at_once, keys))
    files, titles = file_addresses(viewer), headings(viewer, sort, tuple(COLUMNS))
    return page(viewer, "influences.html", keys=keys, files=files, headings=titles)


@router.get("/{key_id}")
async def show_influence(viewer: Inspects, key_id: UUID) -> Response:
    """What one key moved, and how to revoke it and take its word back."""
    keys = await list_influences(viewer.engine, viewer.call)
    key = next((one for one in keys if one.key_id == key_id), None)
    if key is None:
        raise NotFound("no key of this id reported here", code="key_not_found", field="key_id")
    moved = await list_moved_memories(viewer.engine, viewer.call, key_id)
    found = await some_memories(viewer.engine, viewer.call, [one.memory_id for one in moved])
    return page(
        viewer,
        "influence.html",
        key=key,
        moved=moved,
        managed=await _managed(viewer, key_id),
        texts={memory.id: memory for memory in found},
        path=f"/v1/namespaces/{viewer.slug}/rollbacks",
    )


async def _managed(viewer: PageViewer, key_id: UUID) -> Key | None:
    """The key itself, where the viewer may revoke it."""
    if not viewer.may(Act.MANAGE):
        return None
    try:
        return await get_key(viewer.engine, viewer.key, key_id)
    except NotFound:
        return None
