"""UnpairedStore: runs that may make a pair, and how often a key's word has counted."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import TextClause, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.receipts.entities import Outcome
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.tables import outcome


@dataclass(frozen=True, slots=True)
class OtherRun:
    """What makes a pair with a run: an agent as it was declared, on a task, around a time; a run
    that is in the pair that is `replaced` is free.
    """

    retrieval_id: UUID
    agent_id: UUID
    agent_model: str | None
    task_id: UUID
    earliest: datetime
    latest: datetime
    replaced: UUID | None = None


class UnpairedStore:
    """Outcomes of one namespace, as runs that make pairs."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def off_run(self, wanted: OtherRun) -> Outcome | None:
        """The newest run without memory that no pair has used yet."""
        return await self._find(_OFF_RUN, wanted)

    async def on_run(self, wanted: OtherRun) -> Outcome | None:
        """The newest run with memory whose pair was promised and is not complete."""
        return await self._find(_ON_RUN, wanted)

    async def _find(self, statement: TextClause, wanted: OtherRun) -> Outcome | None:
        values = {"ns": self._namespace_id, **asdict(wanted)}
        found = await self._connection.scalar(statement, values)
        if found is None:
            return None
        return await OutcomeStore(self._connection, self._namespace_id).get(found)

    async def use(self, outcome_id: UUID, partner_id: UUID) -> None:
        """The run without memory is half of that pair now."""
        await self._connection.execute(
            update(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id == outcome_id)
            .values(partner_id=partner_id, reason="half_of_pair")
        )

    async def count_credits(
        self, key_id: UUID, memory_ids: Sequence[UUID], *, since: datetime, until: datetime
    ) -> dict[UUID, int]:
        """How many outcomes of this key count for each memory, among those known in that time."""
        rows = await self._connection.execute(
            _CREDITS,
            {
                "ns": self._namespace_id,
                "key": key_id,
                "ids": list(memory_ids),
                "since": since,
                "until": until,
            },
        )
        return {row.memory_id: row.n for row in rows}


_OFF_RUN = text("""
    SELECT o.id FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
    WHERE o.namespace_id = :ns AND o.status <> 'superseded' AND r.id <> :retrieval_id
      AND o.reason IN ('observational', 'half_of_pair') AND r.arm = 'forced_off'
      AND r.agent_id = :agent_id AND r.task_id = :task_id
      AND r.agent_model IS NOT DISTINCT FROM :agent_model
      AND o.known_at BETWEEN :earliest AND :latest
      AND NOT EXISTS (SELECT 1 FROM outcome p WHERE p.partner_id = o.id
          AND p.status IN ('accepted', 'applied')
          AND p.id IS DISTINCT FROM CAST(:replaced AS uuid))
    ORDER BY o.known_at DESC, o.id DESC LIMIT 1
""")


_ON_RUN = text("""
    SELECT o.id FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
    WHERE o.namespace_id = :ns AND r.id <> :retrieval_id
      AND (o.status IN ('accepted', 'applied') OR o.reason = 'half_missing')
      AND o.status <> 'superseded' AND o.reward_without IS NULL
      AND r.arm IN ('paired', 'forced_on') AND r.agent_id = :agent_id AND r.task_id = :task_id
      AND r.agent_model IS NOT DISTINCT FROM :agent_model
      AND o.known_at BETWEEN :earliest AND :latest
    ORDER BY o.known_at DESC, o.id DESC LIMIT 1
""")


_CREDITS = text("""
    SELECT i.memory_id, count(*) AS n FROM outcome o
    JOIN retrieval_item i ON i.retrieval_id = o.retrieval_id
    WHERE o.namespace_id = :ns AND o.key_id = :key AND o.known_at >= :since
      AND o.known_at < :until AND o.status IN ('accepted', 'applied') AND i.served AND i.cited
      AND i.memory_id = ANY(:ids) AND NOT i.memory_id = ANY(o.muted)
    GROUP BY i.memory_id
""")
