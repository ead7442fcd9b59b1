"""PulseStore: one statement of point reads, for what is asked every few seconds."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.insight.pulse_entities import Pulse
from memory.kernel.errors import NotFound

_ADAPTER = TypeAdapter(Pulse)


class PulseStore:
    """Reads of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def pulse(self, jobs: Sequence[str], receipts: int) -> Pulse:
        """As it is now. Raises NotFound where the namespace is gone."""
        values = {"ns": self._namespace_id, "jobs": list(jobs), "receipts": receipts}
        row = (await self._connection.execute(_PULSE, values)).mappings().one_or_none()
        if row is None:
            raise NotFound("the namespace is gone")
        return _ADAPTER.validate_python(dict(row), strict=False)


# Each part is found by an index and ends after a handful of rows; names are joined to these alone.
_PULSE = text("""
    SELECT n.n_memories AS memories, n.bank_version,
        (SELECT count(*) FROM outcome o WHERE o.namespace_id = :ns AND o.applied_at IS NULL
            AND o.status = 'accepted' AND o.set_aside_at IS NULL) AS waiting,
        (SELECT coalesce(json_agg(row_to_json(newest) ORDER BY newest.retrieval_id DESC), '[]')
            FROM (SELECT r.id AS retrieval_id, r.known_at, a.name AS agent, c.name AS category,
                r.arm
            FROM (SELECT * FROM retrieval WHERE namespace_id = :ns
                ORDER BY id DESC LIMIT :receipts) AS r
            JOIN agent a ON a.id = r.agent_id
            JOIN category c ON c.id = r.category_id) AS newest) AS receipts,
        (SELECT coalesce(json_agg(row_to_json(last) ORDER BY last.job), '[]')
            FROM (SELECT run.* FROM unnest(CAST(:jobs AS text[])) AS known(job) CROSS JOIN LATERAL (
                SELECT j.job, j.state, j.started_at, j.finished_at FROM job_run j
                WHERE j.namespace_id = :ns AND j.job = known.job AND NOT j.dry_run
                ORDER BY j.id DESC LIMIT 1) AS run) AS last) AS jobs
    FROM namespace n WHERE n.id = :ns
""")
