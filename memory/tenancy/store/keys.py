"""KeyStore: who may call. Tokens are never stored, only their hashes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import RowMapping, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.tenancy.entities import Key, KeyDraft, KeyView, Role, Token
from memory.tenancy.tables import api_key, namespace

# A key's last use is written down at most this often, so that reading does not write.
USE_INTERVAL = timedelta(minutes=1)


_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


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
        row = (
            (await self._connection.execute(select(api_key).where(api_key.c.id == key_id)))
            .mappings()
            .first()
        )
        return None if row is None else (_key(row), row["sha256"])

    async def used(self, key: Key, now: datetime) -> None:
        """Note the use, unless one was noted within a minute."""
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

    async def browse(self, page: Page, only: UUID | None) -> Listed[KeyView]:
        """Newest last; `only` restricts the list to one namespace."""
        condition = (
            api_key.c.namespace_id == only if only is not None else api_key.c.id.is_not(None)
        )
        rows = (
            select(api_key, namespace.c.slug)
            .select_from(api_key.outerjoin(namespace, namespace.c.id == api_key.c.namespace_id))
            .where(condition)
            .order_by(api_key.c.id)
            .limit(page.limit + 1)
        )
        if page.after is not None:
            rows = rows.where(api_key.c.id > UUID(str(page.after[0])))
        found = [
            KeyView(_key(row), row["slug"])
            for row in (await self._connection.execute(rows)).mappings()
        ]
        total = await self._connection.scalar(
            select(func.count()).select_from(api_key).where(condition)
        )
        return listed(found, page, total, lambda view: (str(view.key.id),))


def _key(row: RowMapping) -> Key:
    agents = row["agents"]
    return Key(
        id=row["id"],
        namespace_id=row["namespace_id"],
        role=Role(row["role"]),
        agents=None if agents is None else tuple(agents),
        name=row["name"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )
