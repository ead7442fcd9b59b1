"""Webhooks: made, tried and ended, with what became of the last deliveries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from fastapi import Response

from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Listed, Page
from memory.webhooks import service
from memory.webhooks.entities import KINDS, EventKind, Webhook, WebhookDelivery, WebhookDraft
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.viewer import FormDep, Manages, PageViewer, done, page
from server.errors import status_of

DELIVERIES = Page(10)
"""So many are shown of each webhook, the newest."""

FAULTS = {
    "not_reached": "nobody answers at this address",
    "timeout": "the address did not answer in time",
}

router = guarded_at("/dashboard/ns/{namespace}/webhooks")


@dataclass(frozen=True, slots=True)
class WebhookView:
    """A webhook with its newest deliveries."""

    webhook: Webhook
    deliveries: Listed[WebhookDelivery]


@router.get("")
async def show_webhooks(viewer: Manages) -> Response:
    """The webhooks of the namespace, each with its last deliveries."""
    return await _listed(viewer)


@router.post("")
async def make_webhook(viewer: Manages, form: FormDep) -> Response:
    """A new webhook; its secret stands on this page and nowhere else."""
    try:
        made = await service.create_webhook(viewer.engine, viewer.call, _draft(form))
    except MemoryFault as fault:
        return await _listed(viewer, fault)
    return page(viewer, "webhook_made.html", 201, made=made)


@router.post("/{webhook_id}/test")
async def try_webhook(viewer: Manages, webhook_id: UUID) -> Response:
    """Send an event that says nothing, now."""
    sent = await service.try_webhook(viewer.engine, viewer.call, webhook_id)
    if sent.status is not None:
        taken = "The test arrived" if sent.delivered else "The test was refused"
        return done(
            viewer, "/webhooks", f"{taken}: the address answered with status {sent.status}."
        )
    why = FAULTS.get(str(sent.fault), str(sent.fault).replace("_", " "))
    return done(viewer, "/webhooks", f"The test did not arrive: {why}.")


@router.post("/{webhook_id}/deletion")
async def end_webhook(viewer: Manages, webhook_id: UUID) -> Response:
    """End a webhook; what waits for it is not sent."""
    await service.delete_webhook(viewer.engine, viewer.call, webhook_id)
    return done(viewer, "/webhooks", "The webhook is deleted; nothing is sent there from now on.")


async def _listed(viewer: PageViewer, fault: MemoryFault | None = None) -> Response:
    status = 200 if fault is None else status_of(fault)
    views = await _load_views(viewer)
    return page(viewer, "webhooks.html", status, views=views, fault=fault, kinds=KINDS)


async def _load_views(viewer: PageViewer) -> Sequence[WebhookView]:
    return [
        WebhookView(
            one, await service.list_deliveries(viewer.engine, viewer.call, one.id, DELIVERIES)
        )
        for one in await service.list_webhooks(viewer.engine, viewer.call)
    ]


def _draft(form: Form) -> WebhookDraft:
    kinds = form.all("kinds")
    if not kinds or not set(kinds) <= set(KINDS):
        raise Rejected("choose at least one event", field="kinds", limit=list(KINDS))
    return WebhookDraft(
        url=form.get("url").strip(),
        kinds=cast("tuple[EventKind, ...]", tuple(kinds)),
        secret=form.given("secret"),
    )
