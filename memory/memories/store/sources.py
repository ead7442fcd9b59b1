"""SourceStore: what one agent or key brought into one namespace."""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True, slots=True)
class Source:
    """An agent, a key, or an agent through a key; recorded from `since` and before `until`."""

    agent_id: UUID | None
    key_id: UUID | None
    since: datetime | None
    until: datetime | None


class SourceStore:
    """Everything that came from a source and still counts."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def outcomes(self, source: Source) -> list[UUID]:
        """Outcomes of the agent's retrievals, reported by the key or made with a half that it
        reported, by id: those in effect, and those that may still be half of a pair.
        """
        return await self._ids(_OUTCOMES, source)

    async def memories(self, source: Source) -> list[UUID]:
        """Living memories that are not pinned, written by the agent, through the key, by id."""
        return await self._ids(_MEMORIES, source)

    async def _ids(self, statement: str, source: Source) -> list[UUID]:
        values = {"ns": self._namespace_id, **asdict(source)}
        rows = await self._connection.execute(text(statement), values)
        return [row.id for row in rows]


_OUTCOMES = """
    SELECT o.id FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
    LEFT JOIN outcome half ON half.id = o.partner_id
    WHERE o.namespace_id = :ns AND (o.status IN ('accepted', 'applied') OR o.status = 'ignored'
          AND o.reason IN ('half_missing', 'observational', 'half_of_pair'))
      AND (CAST(:agent_id AS uuid) IS NULL OR r.agent_id = :agent_id)
      AND (CAST(:key_id AS uuid) IS NULL OR o.key_id = :key_id
          OR half.key_id = :key_id)
      AND (CAST(:since AS timestamptz) IS NULL OR o.recorded_at >= :since)
      AND (CAST(:until AS timestamptz) IS NULL OR o.recorded_at < :until)
    ORDER BY o.id
"""


_MEMORIES = """
    SELECT m.id FROM memory m
    WHERE m.namespace_id = :ns AND m.status NOT IN ('retired', 'rejected')
      AND m.erased_at IS NULL AND NOT m.pinned
      AND (CAST(:agent_id AS uuid) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:key_id AS uuid) IS NULL OR m.key_id = :key_id)
      AND (CAST(:since AS timestamptz) IS NULL OR m.recorded_at >= :since)
      AND (CAST(:until AS timestamptz) IS NULL OR m.recorded_at < :until)
    ORDER BY m.id
"""
