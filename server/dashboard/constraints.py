"""Constraints: what separates success from failure, and the contrasts of runs that say so."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from fastapi import Response

from memory.constraints import bank, service
from memory.constraints.browsing import (
    LOOKED_AT,
    group_alike_constraints,
    list_constraint_clusters,
    load_constraint_links,
)
from memory.constraints.entities import Constraint
from memory.constraints.likeness_groups import AlikeConstraints
from memory.curation import service as curation
from memory.curation.entities import MAX_BULK, StatusChange
from memory.insight.browse import some_memories
from memory.kernel.errors import MemoryFault, NotFound, Rejected
from memory.kernel.paging import Page
from memory.kernel.text import NAME, cleaned, optional
from memory.memories.entities import MemoryFilter, Status
from memory.tasks.service import list_categories
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import page_of, shown
from server.dashboard.memories import Refused
from server.dashboard.run_difference import compare_runs
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, Remembers, done, page
from server.errors import status_of

CHOICES = Page(200)
GROUPS, OF_GROUP = 20, 8
"""So many groups of constraints that are alike are shown, and so many of each."""
ORIGINS = ("distilled", "written")
DECIDED = {"approve": "approved", "reject": "rejected"}
RESULTS = {
    "suspend": "rests until it is restored",
    "retire": "is retired; its record stays",
    "restore": "is back",
}

router = guarded_at("/dashboard/ns/{namespace}/constraints")


@router.get("")
async def show_constraints(viewer: Reads) -> Response:
    """Constraints by filter, each with its support in numbers."""
    wanted = MemoryFilter(
        status=_status(viewer),
        category=_wanted(viewer, "category"),
        origin=_wanted(viewer, "origin"),
    )
    fetch = partial(bank.list_constraints, viewer.engine, viewer.call, wanted)
    if wants_file(viewer):
        return await file_of(viewer, "constraints", fetch)
    listed = await fetch(page_of(viewer))
    categories = await list_categories(viewer.engine, viewer.call, CHOICES)
    ids = [one.id for one in listed.items]
    return page(
        viewer,
        "constraints.html",
        table=shown(viewer, listed, files=True),
        links=await load_constraint_links(viewer.engine, viewer.call, ids),
        clusters=await list_constraint_clusters(viewer.engine, viewer.call),
        wanted=wanted,
        statuses=[status.value for status in Status],
        origins=ORIGINS,
        categories=[one.name for one in categories.items if one.parent is None],
    )


@dataclass(frozen=True, slots=True)
class AlikeView:
    """A group of constraints whose triggers are alike, as far as the page shows it."""

    group: AlikeConstraints
    constraints: Sequence[Constraint]


@router.get("/alike")
async def show_alike(viewer: Reads) -> Response:
    """Constraints in groups of those that are about the same, the largest group first."""
    groups = await group_alike_constraints(viewer.engine, viewer.call)
    ids = [one for group in groups[:GROUPS] for one in group.ids[:OF_GROUP]]
    memories = await some_memories(viewer.engine, viewer.call, ids)
    supported = await bank.with_support(viewer.engine, viewer.call, memories)
    found = {one.id: one for one in supported}
    views = [
        AlikeView(group, [found[one] for one in group.ids[:OF_GROUP] if one in found])
        for group in groups[:GROUPS]
    ]
    links = await load_constraint_links(viewer.engine, viewer.call, ids)
    total, looked_at = len(groups), LOOKED_AT
    return page(viewer, "alike.html", views=views, links=links, total=total, looked_at=looked_at)


@router.get("/contrasts/{contrast_id}")
async def show_contrast(viewer: Reads, contrast_id: UUID) -> Response:
    """Two runs of one task side by side, and what their difference taught."""
    contrast = await service.get_contrast(viewer.engine, viewer.call, contrast_id)
    runs = [
        await service.get_trajectory(viewer.engine, viewer.call, run_id)
        for run_id in (contrast.preferred_id, contrast.unpreferred_id)
    ]
    difference = await asyncio.to_thread(compare_runs, *runs)
    return page(viewer, "contrast.html", contrast=contrast, runs=runs, difference=difference)


@router.get("/{memory_id}")
async def show_constraint(viewer: Reads, memory_id: UUID) -> Response:
    """A constraint with its support, piece by piece."""
    return await _constraint_page(viewer, memory_id)


@router.post("/bulk")
async def change_ticked(viewer: Manages, form: FormDep) -> Response:
    """Approve or reject the ticked rows, with a reason; the page says what was refused and why."""
    action, ids = form.get("action"), _ticked(form)
    if action not in DECIDED:
        raise Rejected("choose approve or reject", field="action", limit=list(DECIDED))
    reason = cleaned(form.get("reason"), "reason", NAME)
    refused: list[Refused] = []
    for memory_id in ids:
        try:
            if action == "approve":
                await bank.vouch_for(viewer.engine, viewer.call, memory_id, reason)
            else:
                retired = StatusChange("retire", reason)
                await curation.change_constraint(viewer.engine, viewer.call, memory_id, retired)
        except MemoryFault as fault:
            refused.append(Refused(memory_id, fault.detail))
    n = len(ids) - len(refused)
    said = f"{n} {'constraint was' if n == 1 else 'constraints were'} {DECIDED[action]}."
    if not refused:
        return done(viewer, "/constraints", said)
    back = viewer.url("/constraints")
    return page(viewer, "constraints_refused.html", said=said, refused=refused, back=back)


def _ticked(form: Form) -> list[UUID]:
    """Raises Rejected where nothing is ticked."""
    try:
        ids = list(dict.fromkeys(UUID(one) for one in form.all("ids")))
    except ValueError as fault:
        raise Rejected("the form names no constraint of ours", field="ids") from fault
    if not 1 <= len(ids) <= MAX_BULK:
        raise Rejected(f"tick 1…{MAX_BULK} constraints", field="ids", limit=MAX_BULK)
    return ids


@router.post("/{memory_id}/vouch")
async def vouch(viewer: Manages, memory_id: UUID, form: FormDep) -> Response:
    """Bring a proposal into use on a manager's word, with a reason for the audit trail."""
    try:
        reason = optional(form.given("reason"), "reason", NAME)
        await bank.vouch_for(viewer.engine, viewer.call, memory_id, reason)
    except NotFound:
        raise
    except MemoryFault as fault:
        return await _constraint_page(viewer, memory_id, fault)
    return done(viewer, f"/constraints/{memory_id}", "The constraint is in use.")


@router.post("/{memory_id}/{action}")
async def change(viewer: Remembers, memory_id: UUID, action: str, form: FormDep) -> Response:
    """Suspend, retire or restore, with a reason that stays with it."""
    if action not in RESULTS:
        raise NotFound("there is no such page")
    try:
        change = StatusChange(action, form.given("reason"))
        await curation.change_constraint(viewer.engine, viewer.call, memory_id, change)
    except NotFound:
        raise
    except MemoryFault as fault:
        return await _constraint_page(viewer, memory_id, fault)
    return done(viewer, f"/constraints/{memory_id}", f"The constraint {RESULTS[action]}.")


async def _constraint_page(
    viewer: PageViewer, memory_id: UUID, fault: MemoryFault | None = None
) -> Response:
    constraint = await bank.get_constraint(viewer.engine, viewer.call, memory_id)
    support = await bank.list_support(viewer.engine, viewer.call, memory_id, page_of(viewer))
    return page(
        viewer,
        "constraint.html",
        200 if fault is None else status_of(fault),
        constraint=constraint,
        table=shown(viewer, support),
        in_use=constraint.status in (Status.ACTIVE, Status.PROBATION),
        fault=fault,
    )


def _wanted(viewer: PageViewer, name: str) -> str | None:
    given = viewer.request.query_params.get(name, "").strip()
    return optional(given or None, name, NAME)


def _status(viewer: PageViewer) -> Status | None:
    given = _wanted(viewer, "status")
    try:
        return None if given is None else Status(given)
    except ValueError as fault:
        raise Rejected("there is no such status", field="status", limit=list(Status)) from fault
