"""SharingStore: what of a namespace decides what an agent may see of the others, seen through one
namespace.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether the namespace has constraints, a taxonomy, and agents of two declared families."""

    constraints: bool
    taxonomy: bool
    families: bool


class SharingStore:
    """Questions that most namespaces answer with no."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def presence(self) -> Presence:
        """One cheap look, so that a retrieval pays for nothing that is not there."""
        row = (await self._connection.execute(_PRESENCE, {"ns": self._namespace_id})).one()
        return Presence(row.constraints, row.taxonomy, row.families)

    async def strangers(self, agent_id: UUID) -> tuple[UUID, ...]:
        """Agents of another declared family, by id; none where this agent declares none."""
        rows = await self._connection.execute(
            _STRANGERS, {"ns": self._namespace_id, "agent": agent_id}
        )
        return tuple(row.id for row in rows)

    async def related(self, category_id: UUID) -> tuple[UUID, ...]:
        """Categories that the newest taxonomy calls related to this one, by id."""
        rows = await self._connection.execute(
            _RELATED, {"ns": self._namespace_id, "category": category_id}
        )
        return tuple(row.id for row in rows)


_PRESENCE = text("""
    SELECT EXISTS (SELECT FROM constraint_support WHERE namespace_id = :ns) AS constraints,
        EXISTS (SELECT FROM taxonomy WHERE namespace_id = :ns) AS taxonomy,
        coalesce((SELECT min(family) <> max(family) FROM agent WHERE namespace_id = :ns), false)
            AS families
""")


_STRANGERS = text("""
    SELECT a.id FROM agent r JOIN agent a ON a.namespace_id = r.namespace_id
    WHERE r.namespace_id = :ns AND r.id = :agent AND a.family <> r.family
    ORDER BY a.id
""")


_RELATED = text("""
    SELECT DISTINCT o.id FROM taxonomy t
    CROSS JOIN LATERAL jsonb_array_elements(t.categories) AS entry (one)
    JOIN category c ON c.namespace_id = :ns AND c.parent_id IS NULL AND c.name = one ->> 'name'
    JOIN category o ON o.namespace_id = :ns AND o.parent_id IS NULL AND o.id <> c.id
      AND coalesce(one -> 'related', '[]'::jsonb) @> to_jsonb(o.name)
    WHERE t.namespace_id = :ns AND c.id = :category
      AND t.version = (SELECT max(version) FROM taxonomy WHERE namespace_id = :ns)
    ORDER BY o.id
""")
