"""CallStore: calls under an idempotency key, and the audit trail."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, cast, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.paging import page_by_id
from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.entities import Attempt, AuditEntry, AuditEvent, AuditFilter, Recorded
from memory.tenancy.tables import audit, idempotency

LEASE = timedelta(seconds=60)


KEPT = timedelta(hours=24)

_to_entry = RowMapper(AuditEntry, [audit])


class CallStore:
    """What is kept of calls; shared by all namespaces."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def begin(self, attempt: Attempt) -> Recorded | None:
        """Claim the key; None where the work is to be done, the recorded answer where it was.

        Raises Rejected for another body, Conflict while the first call still runs.
        """
        now = attempt.begun_at
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

    async def finish(self, attempt: Attempt, answer: Recorded) -> bool:
        """Whether the key was still this attempt's; only then is the answer its own. What an
        erasure has put in the answer's place while it was made stays there.
        """
        done = await self._connection.execute(
            update(idempotency)
            .where(*_own(attempt))
            .values(
                state="done",
                status=answer.status,
                response=func.coalesce(idempotency.c.response, answer.body),
            )
        )
        return done.rowcount == 1

    async def abandon(self, attempt: Attempt) -> None:
        """The work had no effect: the key is free again."""
        await self._connection.execute(delete(idempotency).where(*_own(attempt)))

    async def forget(self, now: datetime) -> None:
        """Answers are kept 24 hours."""
        await self._connection.execute(
            delete(idempotency).where(idempotency.c.created_at < now - KEPT)
        )

    async def blank(self, namespace_id: UUID) -> None:
        """Erasure: answers of this namespace, stored or still to come, may carry the text."""
        await self._connection.execute(
            update(idempotency)
            .where(idempotency.c.namespace_id == namespace_id)
            .values(response=b'{"erased":true}')
        )

    async def blank_reasons(
        self, namespace_id: UUID, subjects: Sequence[str], key_id: UUID | None
    ) -> None:
        """Erasure: why something was done to these, or by this key, may quote the text."""
        about = audit.c.subject.in_(subjects)
        if key_id is not None:
            about |= audit.c.key_id == key_id
        await self._connection.execute(
            update(audit)
            .where(audit.c.namespace_id == namespace_id, about, audit.c.detail.has_key("reason"))
            .values(detail=audit.c.detail.op("||")(cast({"reason": None}, JSONB)))
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

    async def trail(
        self, namespace_id: UUID, wanted: AuditFilter, page: Page
    ) -> Listed[AuditEntry]:
        """The audit trail of a namespace."""
        here = audit.c.namespace_id == namespace_id
        if wanted.action is not None:
            here &= audit.c.action == wanted.action
        if wanted.key_id is not None:
            here &= audit.c.key_id == wanted.key_id
        rows = page_by_id(
            select(audit).where(here), audit.c.id, page, newest_first=wanted.newest_first
        )
        found = [_to_entry(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(select(func.count()).select_from(audit).where(here))
        return listed(found, page, total, lambda entry: (str(entry.id),))

    async def actions_and_keys(self, namespace_id: UUID) -> tuple[set[str], set[UUID]]:
        """What was ever done in a namespace, and by which keys."""
        rows = await self._connection.execute(
            select(audit.c.action, audit.c.key_id)
            .where(audit.c.namespace_id == namespace_id)
            .distinct()
        )
        found = [(row.action, row.key_id) for row in rows]
        keys = {key_id for _, key_id in found if key_id is not None}
        return {action for action, _ in found}, keys


def _same(attempt: Attempt) -> tuple[ColumnElement[bool], ...]:
    return (
        idempotency.c.key_id == attempt.key_id,
        idempotency.c.method == attempt.method,
        idempotency.c.path == attempt.path,
        idempotency.c.idempotency_key == attempt.idempotency_key,
    )


def _own(attempt: Attempt) -> tuple[ColumnElement[bool], ...]:
    """The very attempt: not one that began when its lease was over."""
    return (
        *_same(attempt),
        idempotency.c.state == "running",
        idempotency.c.body_sha256 == attempt.body_sha256,
        idempotency.c.created_at == attempt.begun_at,
    )
