"""InfluenceStore: who reported, and how far each party moved what, seen through one namespace."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.entities import Role


@dataclass(frozen=True, slots=True)
class InfluenceRow:
    """A party's influence on a living memory, and the party that wrote it."""

    memory_id: UUID
    party_id: UUID
    state: tuple[float, ...]
    touched_at: datetime | None
    author_party: UUID | None


@dataclass(frozen=True, slots=True)
class ReportingKey:
    """A key, and how many of its outcomes are in effect."""

    key_id: UUID
    name: str
    role: Role
    agents: tuple[str, ...] | None
    party_id: UUID | None
    outcomes: int


_to_row = RowMapper(InfluenceRow, map(column, InfluenceRow.__slots__))
_to_key = RowMapper(ReportingKey, map(column, ReportingKey.__slots__))


class InfluenceStore:
    """Influences of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def all(self) -> list[InfluenceRow]:
        """Every party's on every memory that is not erased."""
        rows = await self._connection.execute(_ALL, {"ns": self._namespace_id})
        return [_to_row(row) for row in rows.mappings()]

    async def reporting_keys(self) -> list[ReportingKey]:
        """Every key that ever reported here, by id."""
        rows = await self._connection.execute(_KEYS, {"ns": self._namespace_id})
        return [_to_key(row) for row in rows.mappings()]


_ALL = text("""
    SELECT f.memory_id, f.party_id, f.state, f.touched_at, k.party_id AS author_party
    FROM influence f JOIN memory m ON m.id = f.memory_id
    LEFT JOIN api_key k ON k.id = m.key_id
    WHERE f.namespace_id = :ns AND m.erased_at IS NULL
    ORDER BY f.memory_id, f.party_id
""")


_KEYS = text("""
    SELECT k.id AS key_id, k.name, k.role, k.agents, k.party_id, o.outcomes
    FROM (SELECT key_id, count(*) FILTER (WHERE status = 'applied') AS outcomes FROM outcome
        WHERE namespace_id = :ns AND key_id IS NOT NULL GROUP BY key_id) AS o
    JOIN api_key k ON k.id = o.key_id ORDER BY k.id
""")
