"""Webhooks: addresses outside that hear of what happens in a namespace."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.webhooks import service as webhooks
from memory.webhooks.entities import Sent, Webhook, WebhookCreated, WebhookDelivery, WebhookDraft
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery, Rows

router = router_at(f"{INSIDE}/webhooks", "webhooks")


@router.post("", status_code=201, response_model=WebhookCreated)
async def create_webhook(engine: EngineDep, call: Manages, body: WebhookDraft) -> Response:
    """Let an address hear of events; the secret that signs them is shown this once."""
    return answered(await webhooks.create_webhook(engine, call, body), 201)


@router.get("", response_model=Rows[Webhook])
async def list_webhooks(engine: EngineDep, call: Manages) -> Response:
    """The webhooks of the namespace, without their secrets."""
    found = await webhooks.list_webhooks(engine, call)
    return answered(Rows[Webhook].model_construct(items=found))


@router.delete("/{webhook_id}", status_code=204)
async def delete_webhook(engine: EngineDep, call: Manages, webhook_id: UUID) -> Response:
    """End a webhook; what waits for it is not sent."""
    await webhooks.delete_webhook(engine, call, webhook_id)
    return Response(status_code=204)


@router.post("/{webhook_id}/test", response_model=Sent)
async def try_webhook(engine: EngineDep, call: Manages, webhook_id: UUID) -> Response:
    """Send an event `webhook.test` now; if it arrives, a disabled webhook hears of events again."""
    return answered(await webhooks.try_webhook(engine, call, webhook_id))


@router.get("/{webhook_id}/deliveries", response_model=Listing[WebhookDelivery])
async def list_deliveries(
    engine: EngineDep,
    call: Manages,
    webhook_id: UUID,
    pages: PagesDep,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """What was sent to a webhook or waits for it, the newest first."""
    found = await webhooks.list_deliveries(engine, call, webhook_id, pages.page(query))
    return pages.page_of(WebhookDelivery, found)
