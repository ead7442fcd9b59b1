"""KeyStore: who may call. Tokens are never stored, only their hashes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import (
    Text,
    Uuid,
    bindparam,
    case,
    cast,
    func,
    insert,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Prepared, Rows, Statement
from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.entities import Key, KeyDraft, Role, Token
from memory.tenancy.parties import find_party
from memory.tenancy.tables import api_key, audit, namespace, namespace_move

# A key's last use is written down at most this often, so that reading does not write.
USE_INTERVAL = timedelta(minutes=1)


_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")

# A key that is bound to an agent keeps the unbound ones from moving what that agent earned, also
# when it has ended: to revoke a key hands nobody what its agent wrote.
_bound = api_key.alias("bound")
_BOUND_AGENTS = (
    select(func.unnest(_bound.c.agents))
    .where(
        _bound.c.namespace_id == api_key.c.namespace_id,
        _bound.c.role == Role.AGENT,
    )
    .distinct()
    .correlate(api_key)
)
_RESERVED = case(
    (
        (api_key.c.role == Role.AGENT) & api_key.c.agents.is_(None),
        func.array(_BOUND_AGENTS.scalar_subquery(), type_=ARRAY(Text)),
    ),
    else_=cast([], ARRAY(Text)),
)

_to_key = RowMapper(
    Key, [namespace.c.slug.label("namespace"), api_key, _RESERVED.label("reserved")]
)
_KEYS = select(*_to_key.columns).select_from(
    api_key.outerjoin(namespace, namespace.c.id == api_key.c.namespace_id)
)

_ONE = _KEYS.add_columns(api_key.c.sha256).where(api_key.c.id == bindparam("key", type_=Uuid))
_PREPARED_ONE = Prepared(_ONE)


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key, and the hash that its token must have."""

    key: Key
    sha256: bytes


def find_key(key_id: UUID) -> Statement:
    """Reads a key and the hash its token must have."""
    return _PREPARED_ONE.of(key=key_id)


def found_key(rows: Rows) -> StoredKey | None:
    """What that statement found."""
    return StoredKey(_to_key(rows[0]), rows[0]["sha256"]) if rows else None


def is_unrecorded(key: Key, now: datetime) -> bool:
    """Whether no use was recorded within a minute."""
    return key.last_used_at is None or now - key.last_used_at >= USE_INTERVAL


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
        reach = {"namespace_id": namespace_id, "created_by": by}
        if draft.role is Role.AGENT:
            await self.lock(f"parties:{namespace_id}")
            founders = await self._founders(namespace_id)
            reach["party_id"] = find_party(token.key_id, draft, founders)
        await self._insert(draft, token, reach, now)
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
                verifies=draft.verifies,
                name=draft.name,
                sha256=token.digest(),
                created_at=now,
                expires_at=draft.expires_at,
                **reach,
            )
        )

    async def _founders(self, namespace_id: UUID | None) -> list[Key]:
        """The keys by which the namespace's parties go, the earliest first."""
        rows = await self._connection.execute(
            _KEYS.where(
                api_key.c.namespace_id == namespace_id, api_key.c.party_id == api_key.c.id
            ).order_by(api_key.c.id)
        )
        return [_to_key(row) for row in rows.mappings()]

    async def find(self, key_id: UUID) -> StoredKey | None:
        """The key and the hash its token must have."""
        rows = await self._connection.execute(_ONE, {"key": key_id})
        return found_key([dict(row) for row in rows.mappings()])

    async def some(self, key_ids: Collection[UUID]) -> dict[UUID, Key]:
        """Those of these keys that there are, also the ended ones, by id."""
        if not key_ids:
            return {}
        rows = await self._connection.execute(_KEYS.where(api_key.c.id.in_(key_ids)))
        return {row["id"]: _to_key(row) for row in rows.mappings()}

    async def record_use(self, key: Key, now: datetime) -> None:
        """Record the use, unless one was recorded within a minute."""
        if is_unrecorded(key, now):
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
            raise NotFound(f"no such key: {key_id}", code="key_not_found", field="id")
        return found.key

    async def living(self, now: datetime, since: UUID | None) -> set[UUID]:
        """The ids of the keys that open something now; with `since` those not below it, and those
        of namespaces that come from elsewhere, or came since: keys are older than their coming.
        """
        here = func.coalesce(api_key.c.expires_at > now, true())
        rows = select(api_key.c.id).where(api_key.c.revoked_at.is_(None), here)
        if since is not None:
            coming = select(namespace_move.c.namespace_id).where(
                namespace_move.c.state == "arriving"
            )
            came = select(audit.c.namespace_id).where(
                audit.c.action == "namespace.arrived", audit.c.id >= since
            )
            rows = rows.where(
                or_(
                    api_key.c.id >= since,
                    api_key.c.namespace_id.in_(coming),
                    api_key.c.namespace_id.in_(came),
                )
            )
        return set((await self._connection.execute(rows)).scalars())

    async def has_operator(self) -> bool:
        row = await self._connection.execute(
            select(api_key.c.id).where(api_key.c.role == Role.OPERATOR).limit(1)
        )
        return row.first() is not None

    async def first_operators(self, now: datetime) -> list[Key]:
        """The living operator keys that no other key made: those of first starts and recoveries."""
        rows = await self._connection.execute(
            _KEYS.where(
                api_key.c.role == Role.OPERATOR,
                api_key.c.created_by.is_(None),
                api_key.c.revoked_at.is_(None),
                func.coalesce(api_key.c.expires_at > now, true()),
            ).order_by(api_key.c.id)
        )
        return [_to_key(row) for row in rows.mappings()]

    async def bound_to(self, namespace_id: UUID, agent: str) -> list[Key]:
        """The keys of a namespace that speak for this agent by name, the oldest first."""
        here = (api_key.c.namespace_id == namespace_id) & api_key.c.agents.contains([agent])
        rows = await self._connection.execute(_KEYS.where(here).order_by(api_key.c.id))
        return [_to_key(row) for row in rows.mappings()]

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
