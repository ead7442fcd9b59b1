"""Keys: made, shown once, listed, revoked."""

from functools import partial
from typing import cast
from uuid import UUID

from fastapi import Response

from memory.kernel.errors import MemoryFault, Rejected
from memory.tenancy.claims import CLAIMS, Verifier
from memory.tenancy.entities import KeyDraft, Role
from memory.tenancy.service import create_key, list_keys, revoke_key
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import FormDep, Manages, PageViewer, done, page
from server.errors import status_of
from server.shared import shared_of

router = guarded_at("/dashboard/ns/{namespace}/keys")


@router.get("")
async def show_keys(viewer: Manages) -> Response:
    """The keys that the viewer manages, without their tokens."""
    if wants_file(viewer):
        return await file_of(viewer, "keys", partial(list_keys, viewer.engine, viewer.key))
    return await _listed(viewer)


@router.post("")
async def make_key(viewer: Manages, form: FormDep) -> Response:
    """A new key; its token stands on this page and nowhere else."""
    try:
        made, token = await create_key(viewer.engine, viewer.key, _draft(viewer, form), viewer.now)
    except MemoryFault as fault:
        return await _listed(viewer, fault)
    shared_of(viewer.request).callers.living.add(made.id)
    return page(viewer, "key_made.html", 201, made=made, token=str(token))


@router.post("/{key_id}/revocation")
async def revoke(viewer: Manages, key_id: UUID, form: FormDep) -> Response:
    """End a key, and every session that was opened with it; then back to where that was asked."""
    await revoke_key(viewer.engine, viewer.key, key_id, viewer.now)
    path = f"/influences/{key_id}" if form.get("back") == "influence" else "/keys"
    return done(viewer, path, "The key is revoked; it opens nothing from now on.")


async def _listed(viewer: PageViewer, fault: MemoryFault | None = None) -> Response:
    table = shown(viewer, await list_keys(viewer.engine, viewer.key, page_of(viewer)), files=True)
    status = 200 if fault is None else status_of(fault)
    roles = [role.value for role in Role if role is not Role.OPERATOR or viewer.may("operate")]
    choices = {"roles": roles, "claims": viewer.key.claims, "usual": CLAIMS}
    return page(viewer, "keys.html", status, table=table, fault=fault, **choices)


def _draft(viewer: PageViewer, form: Form) -> KeyDraft:
    try:
        role = Role(form.get("role"))
    except ValueError as fault:
        raise Rejected("choose a role", field="role") from fault
    agents = [name.strip() for name in form.get("agents").split(",") if name.strip()]
    return KeyDraft(
        role=role,
        name=form.get("name"),
        namespace=None if role is Role.OPERATOR else viewer.slug,
        agents=tuple(agents) or None,
        verifies=cast("Verifier | None", form.given("verifies")),
    )
