"""Webhooks are made, listed, tried and ended; what waits for them is sent, again and again for
about a day, and then given up.
"""

import asyncio
import logging
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.leadership import Leadership, led_transaction
from memory.tenancy.entities import Act, AuditEvent, Call, Namespace
from memory.tenancy.store.calls import CallStore
from memory.webhooks.addresses import require_allowed
from memory.webhooks.entities import (
    DISABLED_AFTER,
    MAX_WEBHOOKS,
    PAUSES,
    TEST,
    Sent,
    Webhook,
    WebhookCreated,
    WebhookDelivery,
    WebhookDraft,
    fresh_secret,
)
from memory.webhooks.sending import GONE, Message, send
from memory.webhooks.store import DueDelivery, WebhookStore

log = logging.getLogger(__name__)


async def create_webhook(engine: Engine, call: Call, draft: WebhookDraft) -> WebhookCreated:
    """An address hears of events from now on; the answer alone has its secret."""
    call.key.require(Act.MANAGE)
    require_allowed(draft.url, engine.settings.webhook_hosts)
    secret = draft.secret or fresh_secret()
    new = Webhook(new_id(), draft.url, draft.kinds, call.now, call.key.id, 0, None, None)
    async with engine.database.effect(call.namespace.id) as connection:
        store = WebhookStore(connection, call.namespace.id)
        if await store.hold() >= MAX_WEBHOOKS:
            raise Conflict(
                f"the namespace has {MAX_WEBHOOKS} webhooks: delete one first",
                code="too_many_webhooks",
                field="url",
                limit=MAX_WEBHOOKS,
            )
        await store.add(new, secret)
        event = AuditEvent("webhook.create", str(new.id), {"kinds": list(new.kinds)})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return WebhookCreated(**asdict(new), secret=secret)


async def list_webhooks(engine: Engine, call: Call) -> list[Webhook]:
    """All of the namespace, the oldest first, without their secrets."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        return await WebhookStore(connection, call.namespace.id).list_all()


async def delete_webhook(engine: Engine, call: Call, webhook_id: UUID) -> None:
    """It hears of nothing more; what waits for it is not sent."""
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        await WebhookStore(connection, call.namespace.id).delete(webhook_id)
        event = AuditEvent("webhook.delete", str(webhook_id), {})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)


async def list_deliveries(
    engine: Engine, call: Call, webhook_id: UUID, page: Page
) -> Listed[WebhookDelivery]:
    """What was sent there, or waits for it, the newest first."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        return await WebhookStore(connection, call.namespace.id).browse(webhook_id, page)


async def try_webhook(engine: Engine, call: Call, webhook_id: UUID) -> Sent:
    """Send an event that says nothing, once, now. One that was disabled hears of events again where
    this arrives.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = WebhookStore(connection, call.namespace.id)
        found, secret = await store.get(webhook_id), await store.get_secret(webhook_id)
    data = {"webhook_id": str(webhook_id)}
    message = Message(new_id(), TEST, call.namespace.slug, call.now, data)
    allowed = engine.settings.webhook_hosts
    sent = await send(message, found.url, secret, now=call.now, allowed=allowed)
    async with engine.database.effect(call.namespace.id) as connection:
        if sent.delivered and found.disabled_at is not None:
            await WebhookStore(connection, call.namespace.id).enable(webhook_id)
        event = AuditEvent("webhook.test", str(webhook_id), {"delivered": sent.delivered})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return sent


async def deliver_due(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> Counter[str]:
    """Send what is due in this namespace, each once; for the leader. By result how many."""
    database = engine.database
    async with led_transaction(database, namespace.id, leadership) as connection:
        due = await WebhookStore(connection, namespace.id).claim_due(now)
    allowed = engine.settings.webhook_hosts

    async def deliver(one: DueDelivery) -> Sent:
        message = Message(one.id, one.kind, namespace.slug, one.recorded_at, one.data)
        return await send(message, one.url, one.secret, now=now, allowed=allowed)

    if not due:
        return Counter()
    sent = await asyncio.gather(*map(deliver, due))
    async with led_transaction(database, namespace.id, leadership) as connection:
        store = WebhookStore(connection, namespace.id)
        results = Counter([await _note(store, *one, now) for one in zip(due, sent, strict=True)])
    engine.webhook_results.update(results)
    return results


async def _note(store: WebhookStore, due: DueDelivery, sent: Sent, now: datetime) -> str:
    """What came of a try, on record: delivered, retried or failed."""
    gone = sent.status == GONE
    is_last = gone or due.attempts > len(PAUSES)
    again_at = None if sent.delivered or is_last else now + PAUSES[due.attempts - 1]
    await store.note_sent(due, sent, now, again_at=again_at)
    if again_at is not None:
        return "retried"
    failures = await store.count(due.webhook_id, delivered=sent.delivered)
    if sent.delivered:
        return "delivered"
    if gone or failures >= DISABLED_AFTER:
        log.warning("webhook %s is disabled", due.webhook_id)
        await store.disable(due.webhook_id, "gone" if gone else "failures", now)
    return "failed"
