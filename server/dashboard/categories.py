"""Categories: what each is measured by, and who says otherwise."""

from functools import partial
from typing import cast
from uuid import UUID

from fastapi import Response

from memory.kernel.errors import MemoryFault
from memory.kernel.metrics import METRICS, RewardKind
from memory.outcomes.measures import set_measure
from memory.tasks.entities import Category, Measure
from memory.tasks.service import list_categories
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import Fetch, file_of, wants_file
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, done, page
from server.errors import status_of

KINDS: tuple[RewardKind, ...] = ("continuous", "binary")
CHOICES = {f"{metric}, {kind}": Measure(metric, kind) for metric in METRICS for kind in KINDS}
FREE = "left to outcomes"
router = guarded_at("/dashboard/ns/{namespace}/categories")


@router.get("")
async def show_categories(viewer: Reads) -> Response:
    """The categories of the namespace, and what fixed the metric of each."""
    if wants_file(viewer):
        return await file_of(viewer, "categories", _categories(viewer))
    return await _listed(viewer)


@router.post("/{category_id}/measure")
async def change_measure(viewer: Manages, category_id: UUID, form: FormDep) -> Response:
    """Later outcomes are held to the new one; what was learned stays."""
    try:
        measure = _chosen(form)
        changed = await set_measure(viewer.engine, viewer.call, category_id, measure)
    except MemoryFault as fault:
        return await _listed(viewer, fault)
    said = FREE if measure.is_free else f"measured by {measure}"
    return done(viewer, "/categories", f"{changed.name} is {said} from now on.")


def _categories(viewer: PageViewer) -> Fetch[Category]:
    return partial(list_categories, viewer.engine, viewer.call)


def _chosen(form: Form) -> Measure:
    """One of the choices; any other name is refused as a metric."""
    name = form.get("measure")
    if name == FREE:
        return Measure()
    return CHOICES.get(name) or Measure(name, cast("RewardKind", "continuous"))


async def _listed(viewer: PageViewer, fault: MemoryFault | None = None) -> Response:
    table = shown(viewer, await _categories(viewer)(page_of(viewer)), files=True)
    status = 200 if fault is None else status_of(fault)
    choices = [*CHOICES, FREE]
    return page(viewer, "categories.html", status, table=table, fault=fault, choices=choices)
