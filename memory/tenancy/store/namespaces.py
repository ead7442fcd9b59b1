"""NamespaceStore: the boundaries themselves, and the version that orders what happens inside
one.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Text, bindparam, case, cast, delete, func, insert, or_, select, text, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict, NotFound, Overloaded, Rejected, StaleEdit
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Prepared, Rows, Statement
from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.entities import ApartTrial, Namespace, NamespaceDraft, NamespaceSettings
from memory.tenancy.tables import namespace, namespace_move

_BUMP = text("""
    UPDATE namespace SET bank_version = bank_version + :steps, n_memories = n_memories + :memories
    WHERE id = :id RETURNING bank_version, n_memories, settings, policy
""")

BENEATH = "beneath"
"""Among the stored settings: those that a preset has settled, as they were before."""


_to_namespace = RowMapper(
    Namespace,
    [namespace],
    computed={
        "settings": lambda row: NamespaceSettings.read(row["settings"]),
        "apart_trials": lambda row: ApartTrial.read_all(row["apart_trials"]),
        "elsewhere": lambda row: row.get("elsewhere"),
    },
)

_ELSEWHERE = (
    select(case((namespace_move.c.state == "moved", namespace_move.c.url), else_="arriving"))
    .where(namespace_move.c.namespace_id == namespace.c.id, namespace_move.c.state != "paused")
    .scalar_subquery()
    .label("elsewhere")
)
"""Why it is not served here, unless it pauses for a moment."""

_NAMED = Prepared(select(namespace).where(namespace.c.slug == bindparam("slug", type_=Text)))


def policy_changed() -> Overloaded:
    """Of work that began under another policy than the namespace has by now."""
    return Overloaded(
        "the policy of the namespace was changed a moment ago: ask again",
        code="policy_changed",
        retry_after=1,
    )


def require_policy(current: Namespace) -> Statement:
    """The transaction fails where the namespace learns by another policy than when it was read."""
    return Statement(_REQUIRE_POLICY, {"ns": current.id, "policy": current.policy})


_REQUIRE_POLICY = b"""
    SELECT 1 / count(*)::int AS same FROM namespace WHERE id = %(ns)s AND policy = %(policy)s
"""


def find_namespace(slug: str) -> Statement:
    """Reads the namespace of that name."""
    return _NAMED.of(slug=slug)


def found_namespace(rows: Rows) -> Namespace | None:
    """What that statement found."""
    return _to_namespace(rows[0]) if rows else None


class NamespaceStore:
    """All namespaces; the caller decides which of them a key may see."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(self, draft: NamespaceDraft, key_id: UUID | None, now: datetime) -> Namespace:
        try:
            await self._connection.execute(
                insert(namespace).values(
                    id=(identity := new_id()),
                    slug=draft.slug,
                    clock=draft.clock,
                    learning=draft.learning,
                    policy=draft.policy,
                    settings=draft.settings.stored(),
                    created_at=now,
                    key_id=key_id,
                )
            )
        except IntegrityError as fault:
            raise Conflict(
                f"a namespace called {draft.slug} exists", code="namespace_exists", field="slug"
            ) from fault
        return await self.get(identity)

    async def ensure(self, draft: NamespaceDraft, now: datetime) -> None:
        """Make the namespace unless it is there."""
        known = await self._connection.execute(
            select(namespace.c.id).where(namespace.c.slug == draft.slug)
        )
        if known.first() is None:
            await self.create(draft, None, now)

    async def get(self, namespace_id: UUID) -> Namespace:
        return await self._one(namespace.c.id == namespace_id, namespace_id)

    async def by_slug(self, slug: str) -> Namespace:
        return await self._one(namespace.c.slug == slug, slug)

    async def _one(self, condition: Any, asked: object) -> Namespace:
        found = (
            (await self._connection.execute(select(namespace).where(condition))).mappings().first()
        )
        if found is None:
            raise NotFound(
                f"no such namespace: {asked}", code="namespace_not_found", field="namespace"
            )
        return _to_namespace(found)

    async def browse(self, page: Page, only: UUID | None) -> Listed[Namespace]:
        """By slug; `only` restricts the list to one namespace."""
        condition = namespace.c.id == only if only is not None else namespace.c.id.is_not(None)
        rows = (
            select(namespace, _ELSEWHERE)
            .where(condition)
            .order_by(namespace.c.slug)
            .limit(page.limit + 1)
        )
        if page.after is not None:
            rows = rows.where(namespace.c.slug > page.after[0])
        found = [_to_namespace(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(namespace).where(condition)
        )
        return listed(found, page, total, lambda row: (row.slug,))

    async def all(self) -> tuple[Namespace, ...]:
        """For work that visits every namespace in turn: those that are served here."""
        away = select(namespace_move.c.state).where(
            namespace_move.c.namespace_id == namespace.c.id,
            or_(
                namespace_move.c.state != "paused",
                namespace_move.c.paused_until > func.clock_timestamp(),
            ),
        )
        rows = await self._connection.execute(
            select(namespace).where(~away.exists()).order_by(namespace.c.id)
        )
        return tuple(_to_namespace(row) for row in rows.mappings())

    async def change(
        self, current: Namespace, values: Mapping[str, object], version: int
    ) -> Namespace:
        """Write new values over version `version`. Raises StaleEdit when it is no longer
        current. Settings are laid over the stored ones.
        """
        if "settings" in values:
            laid = namespace.c.settings.op("||")(cast(values["settings"], JSONB))
            values = {**values, "settings": laid}
        changed = await self._connection.execute(
            update(namespace)
            .where(namespace.c.id == current.id, namespace.c.version == version)
            .values(version=namespace.c.version + 1, **values)
            .returning(namespace)
        )
        row = changed.mappings().first()
        if row is None:
            raise StaleEdit("the namespace was changed since", field="If-Match")
        return _to_namespace(row)

    async def settings_beneath(self, namespace_id: UUID) -> Mapping[str, object]:
        """What the settings were that a preset of learning has settled, by name."""
        found = await self._connection.scalar(
            select(namespace.c.settings[BENEATH]).where(namespace.c.id == namespace_id)
        )
        return dict(found or {})

    async def request_deletion(self, namespace_id: UUID, digest: bytes, now: datetime) -> None:
        await self._connection.execute(
            update(namespace)
            .where(namespace.c.id == namespace_id)
            .values(deletion_requested_at=now, deletion_sha256=digest)
        )

    async def deletion_of(self, namespace_id: UUID) -> tuple[datetime, bytes] | None:
        """When deletion was requested, and the digest its confirmation must have."""
        row = (
            await self._connection.execute(
                select(namespace.c.deletion_requested_at, namespace.c.deletion_sha256).where(
                    namespace.c.id == namespace_id, namespace.c.deletion_requested_at.is_not(None)
                )
            )
        ).first()
        return None if row is None else (row[0], row[1])

    async def delete(self, namespace_id: UUID) -> None:
        """Every row of the namespace goes with it, by foreign key."""
        await self._connection.execute(delete(namespace).where(namespace.c.id == namespace_id))

    async def require_policy(self, current: Namespace) -> None:
        """Raises Overloaded where the namespace learns by another policy than when it was read."""
        if (await self.get(current.id)).policy != current.policy:
            raise policy_changed()

    async def bump(self, current: Namespace, *, steps: int = 1, memories: int = 0) -> int:
        """Take the next `steps` bank versions and return the last.

        Holds the row until commit, so that commit order is version order. `memories` is how many
        living ones the transaction adds. Raises Overloaded where the namespace learns by another
        policy since `current` was read: what was computed by the old one may not be written.
        """
        row = (
            await self._connection.execute(
                _BUMP, {"id": current.id, "steps": steps, "memories": memories}
            )
        ).first()
        if row is None:
            raise NotFound(
                "the namespace is there no more", code="namespace_not_found", field="namespace"
            )
        if row.policy != current.policy:
            raise policy_changed()
        quota = NamespaceSettings.read(row.settings).max_memories
        if memories > 0 and row.n_memories > quota:
            raise Rejected(
                f"the namespace holds {row.n_memories - memories} of {quota} memories",
                code="quota_exceeded",
                field="settings.max_memories",
                limit=quota,
            )
        return row.bank_version

    async def recount(self, namespace_id: UUID, memories: int) -> None:
        """Correct the count of living memories by so many."""
        await self._connection.execute(
            update(namespace)
            .where(namespace.c.id == namespace_id)
            .values(n_memories=namespace.c.n_memories + memories)
        )

    async def use_model(self, namespace_id: UUID, model_id: UUID) -> UUID:
        """The model whose vectors the namespace holds; the first writer decides."""
        await self._connection.execute(
            update(namespace)
            .where(namespace.c.id == namespace_id, namespace.c.model_id.is_(None))
            .values(model_id=model_id)
        )
        used = await self._connection.scalar(
            select(namespace.c.model_id).where(namespace.c.id == namespace_id)
        )
        assert isinstance(used, UUID)
        return used

    async def found_signal(self, namespace_id: UUID, *, signal: bool) -> None:
        """Whether residuals of one memory on different dates agree, as the health job found."""
        await self._connection.execute(
            update(namespace).where(namespace.c.id == namespace_id).values(signal=signal)
        )

    async def set_apart_trials(self, namespace_id: UUID, trials: Mapping[UUID, ApartTrial]) -> None:
        """Which memories are tried apart, from now on these alone."""
        stored = {str(memory_id): one.stored() for memory_id, one in trials.items()}
        await self._connection.execute(
            update(namespace).where(namespace.c.id == namespace_id).values(apart_trials=stored)
        )

    async def saw(self, namespace_id: UUID, known_at: datetime) -> None:
        """Remember the newest known_at that was applied."""
        await self._connection.execute(
            update(namespace)
            .where(namespace.c.id == namespace_id)
            .values(newest_known_at=func.greatest(namespace.c.newest_known_at, known_at))
        )
