"""KeyStore: who may call. Tokens are never stored, only their hashes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.entities import Key, KeyDraft, Role, Token
from memory.tenancy.tables import api_key, namespace

# A key's last use is written down at most this often, so that reading does not write.
USE_INTERVAL = timedelta(minutes=1)


_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")

_to_key = RowMapper(Key, [namespace.c.slug.label("namespace"), api_key])
_KEYS = select(*_to_key.columns).select_from(
    api_key.outerjoin(namespace, namespace.c.id == api_key.c.namespace_id)
)


class KeyStore:
    """All keys; the caller decides which of them it may show."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lock(self, name: str) -> None:
        """Until the end of the transaction, no one else does what `name` stands for."""
        await self._connection.execute(_LOCK, {"name": name})

    async def add(
        self, draft: KeyDraft, namespace_id: UUID | None, by: UUID | None, now: datetime
    ) -> tuple[Key, Token]:
        """A new key and its token, which is shown once."""
        token = Token.fresh(new_id())
        await self._insert(draft, token, {"namespace_id": namespace_id, "created_by": by}, now)
        return await self.get(token.key_id), token

    async def add_token(
        self, draft: KeyDraft, namespace_id: UUID | None, now: datetime, token: Token
    ) -> None:
        """A key whose token is given from outside."""
        await self._insert(draft, token, {"namespace_id": namespace_id}, now)

    async def _insert(
        self, draft: KeyDraft, token: Token, reach: Mapping[str, UUID | None], now: datetime
    ) -> None:
        await self._connection.execute(
            insert(api_key).values(
                id=token.key_id,
                role=draft.role,
                agents=list(draft.agents) if draft.agents is not None else None,
                name=draft.name,
                sha256=token.digest(),
                created_at=now,
                expires_at=draft.expires_at,
                **reach,
            )
        )

    async def find(self, key_id: UUID) -> tuple[Key, bytes] | None:
        """The key and the hash its token must have."""
        rows = await self._connection.execute(
            _KEYS.add_columns(api_key.c.sha256).where(api_key.c.id == key_id)
        )
        row = rows.mappings().first()
        return None if row is None else (_to_key(row), row["sha256"])

    async def record_use(self, key: Key, now: datetime) -> None:
        """Record the use, unless one was recorded within a minute."""
        if key.last_used_at is None or now - key.last_used_at >= USE_INTERVAL:
            await self._connection.execute(
                update(api_key).where(api_key.c.id == key.id).values(last_used_at=now)
            )

    async def revoke(self, key_id: UUID, now: datetime) -> None:
        await self._connection.execute(
            update(api_key)
            .where(api_key.c.id == key_id, api_key.c.revoked_at.is_(None))
            .values(revoked_at=now)
        )

    async def get(self, key_id: UUID) -> Key:
        found = await self.find(key_id)
        if found is None:
            raise NotFound("no such key", code="key_not_found", field="id")
        return found[0]

    async def has_operator(self) -> bool:
        row = await self._connection.execute(
            select(api_key.c.id).where(api_key.c.role == Role.OPERATOR).limit(1)
        )
        return row.first() is not None

    async def browse(self, page: Page, only: UUID | None) -> Listed[Key]:
        """Newest last; `only` restricts the list to one namespace."""
        condition = (
            api_key.c.namespace_id == only if only is not None else api_key.c.id.is_not(None)
        )
        rows = _KEYS.where(condition).order_by(api_key.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(api_key.c.id > UUID(str(page.after[0])))
        found = [_to_key(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(api_key).where(condition)
        )
        return listed(found, page, total, lambda key: (str(key.id),))
