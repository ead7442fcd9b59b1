"""WebhookStore: the webhooks of one namespace. Outbox: events wait there for their deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from json import dumps
from typing import TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, column, delete, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.paging import page_by_id
from memory.kernel.postgres.rows import RowMapper
from memory.webhooks.entities import EventKind, Sent, Webhook, WebhookDelivery
from memory.webhooks.tables import webhook, webhook_delivery

KEPT = timedelta(days=30)
"""Deliveries that came to an end are kept so long."""


CLAIMED = timedelta(minutes=1)
"""Who took a delivery and died over it holds it so long."""


AT_ONCE = 16
"""Deliveries of one namespace that are taken together."""

Found = TypeVar("Found")

_to_webhook = RowMapper(Webhook, [webhook])
_to_delivery = RowMapper(WebhookDelivery, [webhook_delivery])


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery that is to be tried now: what it tells, where to, and how often it was tried."""

    id: UUID
    webhook_id: UUID
    kind: str
    data: Mapping[str, object]
    recorded_at: datetime
    attempts: int
    url: str
    secret: str


_to_due = RowMapper(DueDelivery, map(column, DueDelivery.__slots__))


class Outbox:
    """Events of one namespace, written in the transaction of the fact that they tell of."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def put(
        self, kind: EventKind, data: Mapping[str, object], *, once: str | None = None
    ) -> None:
        """For each webhook that hears of such events; `data` are ids and codes, never texts. What
        has a name in `once` is told once, however often it is put.
        """
        hearing = await self._connection.scalars(
            select(webhook.c.id)
            .where(webhook.c.namespace_id == self._namespace_id)
            .where(webhook.c.disabled_at.is_(None), webhook.c.kinds.contains([kind]))
            .order_by(webhook.c.id)
        )
        for webhook_id in hearing.all():
            values = {"id": new_id(), "ns": self._namespace_id, "webhook": webhook_id}
            values |= {"kind": kind, "data": dumps(dict(data), default=str)}
            await self._connection.execute(_PUT, values | {"once": once})


class WebhookStore:
    """Webhooks of one namespace, and their deliveries. No answer has a secret but `due`."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add(self, new: Webhook, secret: str) -> None:
        await self._connection.execute(
            insert(webhook).values(
                id=new.id,
                namespace_id=self._namespace_id,
                key_id=new.key_id,
                url=new.url,
                kinds=list(new.kinds),
                secret=secret,
                created_at=new.created_at,
            )
        )

    async def list_all(self) -> list[Webhook]:
        """By id: the oldest first."""
        rows = await self._connection.execute(
            select(*_to_webhook.columns)
            .where(webhook.c.namespace_id == self._namespace_id)
            .order_by(webhook.c.id)
        )
        return [_to_webhook(row) for row in rows.mappings()]

    async def hold(self) -> int:
        """How many there are; nobody adds one meanwhile."""
        await self._connection.execute(_HOLD, {"name": f"webhooks/{self._namespace_id}"})
        return len(await self.list_all())

    async def get_secret(self, webhook_id: UUID) -> str:
        """To sign with. Raises NotFound where there is no such webhook here."""
        found = await self._connection.scalar(select(webhook.c.secret).where(self._one(webhook_id)))
        return _require(found, webhook_id)

    async def get(self, webhook_id: UUID) -> Webhook:
        """Raises NotFound where there is no such webhook here."""
        rows = await self._connection.execute(
            select(*_to_webhook.columns).where(self._one(webhook_id))
        )
        return _to_webhook(_require(rows.mappings().first(), webhook_id))

    async def delete(self, webhook_id: UUID) -> None:
        """With its deliveries. Raises NotFound where there is no such webhook here."""
        gone = await self._connection.execute(delete(webhook).where(self._one(webhook_id)))
        _require(gone.rowcount or None, webhook_id)

    async def browse(self, webhook_id: UUID, page: Page) -> Listed[WebhookDelivery]:
        """Its deliveries, the newest first."""
        await self.get(webhook_id)
        here = (webhook_delivery.c.namespace_id == self._namespace_id) & (
            webhook_delivery.c.webhook_id == webhook_id
        )
        rows = page_by_id(
            select(*_to_delivery.columns).where(here),
            webhook_delivery.c.id,
            page,
            newest_first=True,
        )
        found = [_to_delivery(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(webhook_delivery).where(here)
        )
        return listed(found, page, total or 0, lambda one: (str(one.id),))

    async def claim_due(self, now: datetime) -> list[DueDelivery]:
        """Deliveries to be tried now; each counts as tried."""
        values = {"ns": self._namespace_id, "now": now, "limit": AT_ONCE}
        rows = await self._connection.execute(_CLAIM, values | {"until": now + CLAIMED})
        return sorted(map(_to_due, rows.mappings()), key=lambda one: one.id)

    async def note_sent(
        self, due: DueDelivery, sent: Sent, now: datetime, *, again_at: datetime | None
    ) -> None:
        """What came of a try; without a next one it is over."""
        over = sent.delivered or again_at is None
        state = ("delivered" if sent.delivered else "failed") if over else "waiting"
        values = {
            "state": state,
            "status": sent.status,
            "fault": sent.fault,
            "next_at": None if over else again_at,
            "finished_at": now if over else None,
        }
        await self._connection.execute(
            update(webhook_delivery)
            .where(webhook_delivery.c.namespace_id == self._namespace_id)
            .where(webhook_delivery.c.id == due.id, webhook_delivery.c.state == "waiting")
            .values(**values)
        )

    async def count(self, webhook_id: UUID, *, delivered: bool) -> int:
        """How many in a row have failed for good, with this one."""
        n = 0 if delivered else webhook.c.failures + 1
        rows = await self._connection.execute(
            update(webhook)
            .where(self._one(webhook_id))
            .values(failures=n)
            .returning(webhook.c.failures)
        )
        return rows.scalar() or 0

    async def disable(self, webhook_id: UUID, reason: str, now: datetime) -> None:
        """It hears of nothing more, and what waits for it has failed."""
        await self._connection.execute(
            update(webhook)
            .where(self._one(webhook_id), webhook.c.disabled_at.is_(None))
            .values(disabled_at=now, disabled_reason=reason)
        )
        values = {"ns": self._namespace_id, "webhook": webhook_id, "now": now}
        await self._connection.execute(_GIVE_UP, values)

    async def enable(self, webhook_id: UUID) -> None:
        """It hears of events again."""
        await self._connection.execute(
            update(webhook)
            .where(self._one(webhook_id))
            .values(disabled_at=None, disabled_reason=None, failures=0)
        )

    async def forget(self, now: datetime) -> None:
        """Drop deliveries that came to an end long ago."""
        await self._connection.execute(
            delete(webhook_delivery)
            .where(webhook_delivery.c.namespace_id == self._namespace_id)
            .where(webhook_delivery.c.finished_at < now - KEPT)
        )

    def _one(self, webhook_id: UUID) -> ColumnElement[bool]:
        return (webhook.c.namespace_id == self._namespace_id) & (webhook.c.id == webhook_id)


def _require(found: Found | None, webhook_id: UUID) -> Found:
    if found is None:
        raise NotFound(
            f"no such webhook: {webhook_id}", code="webhook_not_found", field="webhook_id"
        )
    return found


_HOLD = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


_PUT = text("""
    INSERT INTO webhook_delivery (id, namespace_id, webhook_id, kind, data, once, state, next_at,
        recorded_at)
    VALUES (:id, :ns, :webhook, :kind, CAST(:data AS jsonb), :once, 'waiting',
        transaction_timestamp(), transaction_timestamp())
    ON CONFLICT (namespace_id, webhook_id, once) DO NOTHING
""")


_CLAIM = text("""
    WITH due AS MATERIALIZED (
        SELECT id FROM webhook_delivery
        WHERE namespace_id = :ns AND state = 'waiting' AND next_at <= :now
        ORDER BY next_at, id LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    UPDATE webhook_delivery d SET attempts = d.attempts + 1, next_at = :until
    FROM webhook w
    WHERE d.id IN (SELECT id FROM due) AND w.id = d.webhook_id
    RETURNING d.id, d.webhook_id, d.kind, d.data, d.recorded_at, d.attempts, w.url, w.secret
""")


_GIVE_UP = text("""
    UPDATE webhook_delivery SET state = 'failed', fault = 'disabled', next_at = NULL,
        finished_at = :now
    WHERE namespace_id = :ns AND webhook_id = :webhook AND state = 'waiting'
""")
