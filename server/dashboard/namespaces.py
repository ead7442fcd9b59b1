"""Namespaces: which there are, and a new one."""

from functools import partial
from typing import cast

from fastapi import Response

from memory.kernel.errors import MemoryFault, Rejected
from memory.tenancy.entities import POLICIES, Clock, Learning, NamespaceDraft, PolicyName
from memory.tenancy.service import create_namespace, list_namespaces
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import page_of, shown
from server.dashboard.rendering import sent_on
from server.dashboard.viewer import FormDep, Operates, PageViewer, Reads, page
from server.errors import status_of

router = guarded_at("/dashboard/namespaces")


@router.get("")
async def show_namespaces(viewer: Reads) -> Response:
    """The namespaces that the key reaches."""
    if wants_file(viewer):
        fetch = partial(list_namespaces, viewer.engine, viewer.key)
        return await file_of(viewer, "namespaces", fetch)
    return await _listed(viewer)


@router.post("")
async def make_namespace(viewer: Operates, form: FormDep) -> Response:
    """A new, empty namespace."""
    try:
        made = await create_namespace(viewer.engine, viewer.key, _draft(form), viewer.now)
    except MemoryFault as fault:
        return await _listed(viewer, fault)
    notice = f"The namespace {made.slug} is made. Whoever is to use it needs a key."
    return sent_on(f"/dashboard/ns/{made.slug}/keys", notice)


async def _listed(viewer: PageViewer, fault: MemoryFault | None = None) -> Response:
    table = shown(
        viewer, await list_namespaces(viewer.engine, viewer.key, page_of(viewer)), files=True
    )
    status = 200 if fault is None else status_of(fault)
    return page(
        viewer,
        "namespaces.html",
        status,
        table=table,
        fault=fault,
        clocks=[clock.value for clock in Clock],
        policies=POLICIES,
    )


def _draft(form: Form) -> NamespaceDraft:
    try:
        clock = Clock(form.get("clock"))
    except ValueError as fault:
        raise Rejected("clock must be wall or replay", field="clock") from fault
    # The draft refuses any other.
    policy = cast("PolicyName", form.given("policy") or POLICIES[0])
    return NamespaceDraft(form.get("slug").strip(), clock, Learning.ON, policy)
