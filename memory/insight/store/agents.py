"""AgentStore: what agents did, counted in one namespace."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.insight.agent_entities import AgentActivity
from memory.kernel.postgres.rows import RowMapper

_to_activity = RowMapper(AgentActivity, map(column, AgentActivity.__slots__))


class AgentStore:
    """Reads of one namespace, each one statement."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def activities(
        self, agent_ids: Sequence[UUID], owners: Sequence[str]
    ) -> dict[UUID, AgentActivity]:
        """What each of these agents did, by id; of experiences those of `owners` are counted."""
        values = {"ns": self._namespace_id, "ids": list(agent_ids), "owners": list(owners)}
        rows = await self._connection.execute(_ACTIVITIES, values)
        found = [_to_activity(row) for row in rows.mappings()]
        return {one.agent_id: one for one in found}


_ACTIVITIES = text("""
    WITH written AS (
        SELECT agent_id, count(*) AS n FROM memory
        WHERE namespace_id = :ns AND agent_id = ANY(:ids) AND kind = 'experience'
          AND status NOT IN ('retired', 'rejected') AND erased_at IS NULL AND owner = ANY(:owners)
        GROUP BY agent_id
    ), asked AS (
        SELECT r.agent_id, count(*) AS n, max(r.known_at) AS last_at,
            count(o.id) AS answered, avg(o.reward) AS reward
        FROM retrieval r LEFT JOIN outcome o ON o.retrieval_id = r.id
            AND o.status IN ('accepted', 'applied')
        WHERE r.namespace_id = :ns AND r.agent_id = ANY(:ids)
          AND r.purpose NOT IN ('preview', 'replay')
        GROUP BY r.agent_id
    ), ran AS (
        SELECT agent_id, count(*) AS n FROM trajectory
        WHERE namespace_id = :ns AND agent_id = ANY(:ids) AND withdrawn_at IS NULL
        GROUP BY agent_id
    ), predicted AS (
        SELECT agent_id, count(*) AS n FROM prediction
        WHERE namespace_id = :ns AND agent_id = ANY(:ids) GROUP BY agent_id
    )
    SELECT a.id AS agent_id, coalesce(written.n, 0) AS experiences,
        coalesce(asked.n, 0) AS receipts,
        coalesce(asked.answered, 0) AS answered, asked.reward, asked.last_at AS last_receipt_at,
        coalesce(ran.n, 0) AS runs, coalesce(predicted.n, 0) AS predictions
    FROM agent a
    LEFT JOIN written ON written.agent_id = a.id LEFT JOIN asked ON asked.agent_id = a.id
    LEFT JOIN ran ON ran.agent_id = a.id LEFT JOIN predicted ON predicted.agent_id = a.id
    WHERE a.namespace_id = :ns AND a.id = ANY(:ids)
""")
