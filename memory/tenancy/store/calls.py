"""CallStore: calls under an idempotency key, and the audit trail."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.entities import Attempt, AuditEntry, AuditEvent, Recorded
from memory.tenancy.tables import audit, idempotency

LEASE = timedelta(seconds=60)


KEPT = timedelta(hours=24)

_to_entry = RowMapper(AuditEntry, [audit])


class CallStore:
    """What is kept of calls; shared by all namespaces."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def begin(self, attempt: Attempt, now: datetime) -> Recorded | None:
        """Claim the key; None where the work is to be done, the recorded answer where it was.

        Raises Rejected for another body, Conflict while the first call still runs.
        """
        await self._connection.execute(
            delete(idempotency).where(
                *_same(attempt),
                or_(
                    idempotency.c.created_at < now - KEPT,
                    (idempotency.c.state == "running") & (idempotency.c.locked_until < now),
                ),
            )
        )
        claimed = await self._connection.execute(
            insert(idempotency)
            .values(
                key_id=attempt.key_id,
                method=attempt.method,
                path=attempt.path,
                idempotency_key=attempt.idempotency_key,
                namespace_id=attempt.namespace_id,
                body_sha256=attempt.body_sha256,
                state="running",
                locked_until=now + LEASE,
                created_at=now,
            )
            .on_conflict_do_nothing()
            .returning(idempotency.c.state)
        )
        return None if claimed.first() is not None else await self._known(attempt)

    async def _known(self, attempt: Attempt) -> Recorded:
        row = (await self._connection.execute(select(idempotency).where(*_same(attempt)))).first()
        if row is not None and bytes(row.body_sha256) != attempt.body_sha256:
            raise Rejected(
                "this idempotency key came with another body before",
                code="idempotency_mismatch",
                field="Idempotency-Key",
            )
        if row is None or row.state == "running":
            raise Conflict(
                "a call with this idempotency key is still running",
                code="idempotency_running",
                field="Idempotency-Key",
                retry_after=1,
            )
        return Recorded(row.status, bytes(row.response))

    async def finish(self, attempt: Attempt, answer: Recorded) -> None:
        await self._connection.execute(
            update(idempotency)
            .where(*_same(attempt), idempotency.c.body_sha256 == attempt.body_sha256)
            .values(state="done", status=answer.status, response=answer.body)
        )

    async def abandon(self, attempt: Attempt) -> None:
        """The work had no effect: the key is free again."""
        await self._connection.execute(
            delete(idempotency).where(
                *_same(attempt),
                idempotency.c.state == "running",
                idempotency.c.body_sha256 == attempt.body_sha256,
            )
        )

    async def forget(self, now: datetime) -> None:
        """Answers are kept 24 hours."""
        await self._connection.execute(
            delete(idempotency).where(idempotency.c.created_at < now - KEPT)
        )

    async def blank(self, namespace_id: UUID) -> None:
        """Erasure: stored answers of this namespace may carry the text."""
        await self._connection.execute(
            update(idempotency)
            .where(idempotency.c.namespace_id == namespace_id, idempotency.c.state == "done")
            .values(response=b'{"erased":true}')
        )

    async def record(
        self, event: AuditEvent, key_id: UUID | None, namespace_id: UUID | None, now: datetime
    ) -> None:
        """Add a line to the audit trail."""
        await self._connection.execute(
            insert(audit).values(
                id=new_id(),
                namespace_id=namespace_id,
                key_id=key_id,
                action=event.action,
                subject=event.subject,
                detail=dict(event.detail),
                recorded_at=now,
            )
        )

    async def trail(self, namespace_id: UUID, page: Page) -> Listed[AuditEntry]:
        """The audit trail of a namespace, oldest first."""
        here = audit.c.namespace_id == namespace_id
        rows = select(audit).where(here).order_by(audit.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(audit.c.id > UUID(str(page.after[0])))
        found = [_to_entry(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(select(func.count()).select_from(audit).where(here))
        return listed(found, page, total, lambda entry: (str(entry.id),))


def _same(attempt: Attempt) -> tuple[ColumnElement[bool], ...]:
    return (
        idempotency.c.key_id == attempt.key_id,
        idempotency.c.method == attempt.method,
        idempotency.c.path == attempt.path,
        idempotency.c.idempotency_key == attempt.idempotency_key,
    )
