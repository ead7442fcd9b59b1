"""Contradictions: two constraints with one trigger and opposite obligations, side by side."""

from dataclasses import dataclass
from functools import partial
from typing import cast
from uuid import UUID

from fastapi import Response

from memory.constraints import bank, contradictions
from memory.constraints.entities import Constraint, Contradiction, Keep, Resolution
from memory.kernel.errors import MemoryFault, NotFound, Rejected
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, done, page
from server.errors import status_of

STATES = ("open", "resolved")
DECIDED = {
    "first": "The first stays; the second rests.",
    "second": "The second stays; the first rests.",
    "both": "Both stay in use.",
    "neither": "Neither is used any more.",
}

router = guarded_at("/dashboard/ns/{namespace}/contradictions")


@dataclass(frozen=True, slots=True)
class ContradictionView:
    """A contradiction with both its constraints; a side that was erased, or is not to be seen, is
    None.
    """

    contradiction: Contradiction
    first: Constraint | None
    second: Constraint | None


@router.get("")
async def show_contradictions(viewer: Reads) -> Response:
    """Open ones unless asked otherwise."""
    state = viewer.request.query_params.get("state") or None
    if state is not None and state not in STATES:
        raise Rejected("state is open or resolved", field="state", limit=list(STATES))
    fetch = partial(contradictions.list_contradictions, viewer.engine, viewer.call, state)
    if wants_file(viewer):
        return await file_of(viewer, "contradictions", fetch)
    table = shown(viewer, await fetch(page_of(viewer)), files=True)
    views = [await _view(viewer, one) for one in table.rows]
    return page(viewer, "contradictions.html", table=table, views=views, state=state, states=STATES)


@router.get("/{contradiction_id}")
async def show_contradiction(viewer: Reads, contradiction_id: UUID) -> Response:
    """Both sides with what speaks for each."""
    return await _contradiction_page(viewer, contradiction_id)


@router.post("/{contradiction_id}/resolution")
async def resolve(viewer: Manages, contradiction_id: UUID, form: FormDep) -> Response:
    """A person decides which side stays, and says why."""
    try:
        resolution = Resolution(cast("Keep", form.get("keep")), form.given("reason"))
        await contradictions.resolve_contradiction(
            viewer.engine, viewer.call, contradiction_id, resolution
        )
    except NotFound:
        raise
    except MemoryFault as fault:
        return await _contradiction_page(viewer, contradiction_id, fault)
    return done(viewer, f"/contradictions/{contradiction_id}", DECIDED[resolution.keep])


async def _contradiction_page(
    viewer: PageViewer, contradiction_id: UUID, fault: MemoryFault | None = None
) -> Response:
    known = await contradictions.get_contradiction(viewer.engine, viewer.call, contradiction_id)
    status = 200 if fault is None else status_of(fault)
    sides = await _view(viewer, known)
    return page(viewer, "contradiction.html", status, sides=sides, one=known, fault=fault)


async def _view(viewer: PageViewer, one: Contradiction) -> ContradictionView:
    return ContradictionView(
        one, await _side(viewer, one.first_id), await _side(viewer, one.second_id)
    )


async def _side(viewer: PageViewer, memory_id: UUID) -> Constraint | None:
    try:
        return await bank.get_constraint(viewer.engine, viewer.call, memory_id)
    except NotFound:
        return None
