"""Memories: all kinds in one table with filters, order and totals, and changes of many at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import UUID

from fastapi import Response
from pydantic import ValidationError

from memory.curation.entities import MAX_BULK, BulkChange
from memory.curation.service import change_all
from memory.insight.browse import browse_memories, some_memories
from memory.insight.over_time import list_last_weights
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Listed, Page
from memory.memories.browse_entities import ListedMemory
from memory.memories.entities import Kind, Memory, Status, Trust
from memory.tasks.entities import Category
from memory.tasks.service import list_agents, list_categories
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import ListOrder, headings, page_of, shown, sort_of
from server.dashboard.over_time_plots import sparklines
from server.dashboard.viewer import FormDep, PageViewer, Reads, Remembers, done, page
from server.errors import status_of
from server.schemas.base import In
from server.schemas.memories import MemoryQuery
from server.shape_words import words_of

COLUMNS = ("recorded_at", "weight", "served", "credited")
NEWEST = ListOrder("recorded_at", descending=True)
NAMES = 200
"""So many agents or categories are offered; where there are more, a name is typed."""

DONE = {
    "suspend": "suspended",
    "retire": "retired",
    "restore": "restored",
    "trust": "given another trust",
}
Shape = TypeVar("Shape", bound=In)

router = guarded_at("/dashboard/ns/{namespace}/memories")


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filters offer; None where there are too many names to choose from."""

    kinds: Sequence[str]
    statuses: Sequence[str]
    trusts: Sequence[str]
    agents: Sequence[str] | None
    categories: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A memory that a change of many left as it was, and why."""

    memory_id: UUID
    detail: str


@router.get("")
async def show_memories(viewer: Reads) -> Response:
    """One page of what matches the filters in the address."""
    sort = sort_of(viewer, COLUMNS, NEWEST)
    fault: MemoryFault | None = None
    listed: Listed[ListedMemory] = Listed((), 0, None)
    try:
        query = asked(viewer, MemoryQuery, order_of(sort))
        fetch = partial(browse_memories, viewer.engine, viewer.call, query.to_browse())
        if wants_file(viewer):
            return await file_of(viewer, "memories", fetch)
        listed = await fetch(page_of(viewer))
    except MemoryFault as refused:
        fault = refused
    weights = {row.id: row.effective_weight for row in listed.items}
    last = await list_last_weights(viewer.engine, viewer.call, sorted(weights))
    return page(
        viewer,
        "memories.html",
        200 if fault is None else status_of(fault),
        table=shown(viewer, listed, files=True),
        headings=headings(viewer, sort, COLUMNS),
        sparks=sparklines(last, weights),
        asked=viewer.request.query_params,
        choices=await choices_of(viewer),
        back=viewer.request.url.query,
        fault=fault,
    )


@router.post("/review")
async def review(viewer: Remembers, form: FormDep) -> Response:
    """What a change of the ticked rows would do, before it is done."""
    bulk = _bulk(form)
    chosen = await some_memories(viewer.engine, viewer.call, bulk.ids)
    return page(viewer, "memories_review.html", bulk=bulk, chosen=chosen, back=form.get("back"))


@router.post("/bulk")
async def change(viewer: Remembers, form: FormDep) -> Response:
    """Change the rows; where some were refused, the page says which and why."""
    bulk = _bulk(form)
    results = await change_all(viewer.engine, viewer.call, bulk)
    changed = sum(isinstance(result, Memory) for result in results)
    refused = [
        Refused(memory_id, result.detail)
        for memory_id, result in zip(bulk.ids, results, strict=True)
        if isinstance(result, MemoryFault)
    ]
    said = f"{changed} {'memory was' if changed == 1 else 'memories were'} {DONE[bulk.action]}."
    back = f"/memories?{form.get('back')}" if form.get("back") else "/memories"
    if not refused:
        return done(viewer, back, said)
    return page(viewer, "memories_refused.html", said=said, refused=refused, back=viewer.url(back))


def asked(viewer: PageViewer, shape: type[Shape], given: Mapping[str, str]) -> Shape:
    """The address's filters as the API reads them, blank ones left out. Raises Rejected."""
    params = viewer.request.query_params
    known = {name: params[name] for name in shape.model_fields if params.get(name, "").strip()}
    known.pop("cursor", None)
    try:
        return shape.model_validate({**known, **given})
    except ValidationError as fault:
        first = fault.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise Rejected(f"{field} {words_of(first, None)}", field=field) from fault


def order_of(sort: ListOrder) -> dict[str, str]:
    return {"sort": sort.column, "order": "desc" if sort.descending else "asc"}


async def choices_of(viewer: PageViewer) -> Choices:
    """The words that filters choose among."""
    agents = await list_agents(viewer.engine, viewer.call, Page(NAMES))
    categories = await list_categories(viewer.engine, viewer.call, Page(NAMES))
    return Choices(
        kinds=[kind.value for kind in Kind],
        statuses=[status.value for status in Status],
        trusts=[trust.value for trust in Trust],
        agents=None if agents.next else [agent.name for agent in agents.items],
        categories=None if categories.next else _first_level(categories.items),
    )


def _first_level(categories: Sequence[Category]) -> Sequence[str]:
    return [category.name for category in categories if category.parent is None]


def _bulk(form: Form) -> BulkChange:
    """Raises Rejected where nothing is ticked or the action is none."""
    ids = form.all("ids")
    if not ids:
        raise Rejected("no memory is ticked", field="ids", limit=MAX_BULK)
    try:
        chosen = list(dict.fromkeys(UUID(memory_id) for memory_id in ids))
        trust = Trust(given) if (given := form.given("trust")) else None
    except ValueError as fault:
        raise Rejected("this form is damaged: load the page again", field="ids") from fault
    action = form.get("action")
    return BulkChange(
        ids=chosen,
        action=action,  # pyright: ignore[reportArgumentType] - refused by the noun
        trust=trust if action == "trust" else None,
        reason=form.given("reason"),
    )
