"""Taxonomy: the kinds of task a namespace knows, what each is, and how much lies in it."""

from dataclasses import dataclass
from uuid import UUID

from fastapi import Response

from memory.constraints.renaming import CategoryRename, rename_category
from memory.constraints.taxonomy import get_taxonomy, list_taxonomies
from memory.insight.overview_entities import CategoryCount
from memory.insight.taxonomy import list_category_counts
from memory.kernel.errors import MemoryFault, NotFound
from memory.tasks.entities import GENERAL_NAME
from server.dashboard.guarding import guarded_at
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, done, page
from server.errors import status_of

router = guarded_at("/dashboard/ns/{namespace}/taxonomy")


@dataclass(frozen=True, slots=True)
class TaxonomyRow:
    """A category or a subcategory: what the taxonomy says of it, and how much lies in it."""

    category: str
    subcategory: str | None
    description: str | None
    """None where the taxonomy does not name it."""
    count: CategoryCount | None
    """None where nothing was ever put into it."""


@router.get("")
async def show_taxonomy(viewer: Reads) -> Response:
    """Every category, named by the taxonomy or not, with its counts."""
    return await _listed(viewer)


@router.post("/{category_id}/name")
async def rename(viewer: Manages, category_id: UUID, form: FormDep) -> Response:
    """Another name for a category; what was learned in it stays."""
    try:
        wanted = CategoryRename(form.get("name"))
        renamed = await rename_category(viewer.engine, viewer.call, category_id, wanted)
    except NotFound:
        raise
    except MemoryFault as fault:
        return await _listed(viewer, fault)
    return done(viewer, "/taxonomy", f"The category is called {renamed.name} now.")


async def _listed(viewer: PageViewer, fault: MemoryFault | None = None) -> Response:
    current = await get_taxonomy(viewer.engine, viewer.call)
    versions = await list_taxonomies(viewer.engine, viewer.call)
    counts = await list_category_counts(viewer.engine, viewer.call)
    described = {(name, below): words for name, below, words in current.names()}
    counted = {(one.category, one.subcategory): one for one in counts}
    named = described if current.version else {}
    rows = [
        TaxonomyRow(*key, described.get(key), counted.get(key))
        for key in sorted({*named, *counted}, key=lambda key: (key[0], key[1] or ""))
    ]
    return page(
        viewer,
        "taxonomy.html",
        200 if fault is None else status_of(fault),
        fault=fault,
        fixed=GENERAL_NAME,
        current=current,
        rows=rows,
        versions=list(reversed(versions)),
        shipped=described if not current.version else {},
    )
