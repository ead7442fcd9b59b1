"""EpisodeStore: where a memory was served and with which result, seen through one namespace."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.paging import Page
from memory.memories.browse_entities import Episode


@dataclass(frozen=True, slots=True)
class CellResult:
    """A memory's results for one agent in one category; means over outcomes that moved it."""

    agent_id: UUID
    agent: str
    category: str
    served: int
    n: int
    reward: float | None
    n_pairs: int
    reward_without: float | None


class EpisodeStore:
    """Receipts and outcomes of one namespace, by memory."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def of_memory(self, memory_id: UUID, page: Page) -> tuple[list[Episode], int]:
        """The newest first, one more than the page; and how many there are."""
        here: dict[str, object] = {"ns": self._namespace_id, "id": memory_id}
        after = None if page.after is None else UUID(str(page.after[0]))
        asked = here | {"after": after, "limit": page.limit + 1}
        rows = (await self._connection.execute(_EPISODES, asked)).mappings()
        return [Episode(**row) for row in rows], await self._connection.scalar(_COUNT, here) or 0

    async def by_cell(self, memory_id: UUID) -> list[CellResult]:
        """Its results for each agent in each category, by name."""
        here = {"ns": self._namespace_id, "id": memory_id}
        rows = (await self._connection.execute(_CELLS, here)).mappings()
        return [CellResult(**row) for row in rows]


# The outcome in effect, if there is one, and the step that it was for this memory.
_EPISODES = text("""
    SELECT i.retrieval_id, r.known_at, a.name AS agent, c.name AS category, r.arm, i.version,
        i.rank, i.similarity, i.cited, o.id AS outcome_id, o.status, o.evidence, o.reason,
        o.reward, o.reward_without, e.weight_before, e.weight_after
    FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
    JOIN agent a ON a.id = r.agent_id JOIN category c ON c.id = r.category_id
    LEFT JOIN outcome o ON o.retrieval_id = i.retrieval_id AND o.status IN ('accepted', 'applied')
    LEFT JOIN weight_event e ON e.namespace_id = i.namespace_id AND e.memory_id = i.memory_id
        AND e.outcome_id = o.id AND e.subject = 'memory' AND e.kind = 'learn'
        AND e.superseded_by IS NULL
    WHERE i.namespace_id = :ns AND i.memory_id = :id AND i.served
      AND (CAST(:after AS uuid) IS NULL OR i.retrieval_id < :after)
    ORDER BY i.retrieval_id DESC LIMIT :limit
""")


_COUNT = text("""
    SELECT count(*) FROM retrieval_item WHERE namespace_id = :ns AND memory_id = :id AND served
""")


_CELLS = text("""
    SELECT r.agent_id, a.name AS agent, c.name AS category, count(*) AS served,
        count(o.id) AS n, avg(o.reward) AS reward,
        count(o.reward_without) AS n_pairs, avg(o.reward_without) AS reward_without
    FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
    JOIN agent a ON a.id = r.agent_id JOIN category c ON c.id = r.category_id
    LEFT JOIN outcome o ON o.retrieval_id = i.retrieval_id AND o.status = 'applied'
        AND o.evidence <> 'none' AND i.cited
    WHERE i.namespace_id = :ns AND i.memory_id = :id AND i.served
    GROUP BY r.agent_id, a.name, c.name ORDER BY a.name, c.name
""")
