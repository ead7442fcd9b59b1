"""PastErrorStore: runs of an agent that failed, and what is known of why, inside one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.receipts.guideline_entities import PastError
from memory.tasks.run_entities import Step


@dataclass(frozen=True, slots=True)
class FailedRun:
    """An outcome that was queued to learn from, with what its reporter or its run says of it.
    `sources`: the memories that its agent was told of.
    """

    outcome_id: UUID
    retrieval_id: UUID
    task_id: UUID
    task: str
    reward: float
    raw: Mapping[str, Any]
    lesson: Mapping[str, str | None] | None
    run_id: UUID | None
    steps: tuple[Step, ...]
    result: str | None
    known_at: datetime
    sources: tuple[UUID, ...]


class PastErrorStore:
    """Failed runs in one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def failures(
        self, agent_id: UUID, category_id: UUID, as_of: datetime, limit: int
    ) -> list[FailedRun]:
        """The last failures of an agent in a category that were known then and of which something
        is known, the newest first.
        """
        values = {"ns": self._namespace_id, "agent": agent_id, "category": category_id}
        rows = await self._connection.execute(_FAILED, values | {"as_of": as_of, "limit": limit})
        return [
            replace(
                FailedRun(**row),
                steps=tuple(Step.stored(step) for step in row["steps"] or ()),
                sources=tuple(row["sources"]),
            )
            for row in rows.mappings()
        ]

    async def hold_reports(self, outcome_ids: Sequence[UUID]) -> frozenset[UUID]:
        """Those of these outcomes that have a lesson; it stays until the transaction ends. Taken
        before memories are held, as an erasure does.
        """
        rows = await self._connection.execute(_HOLD_REPORTS, self._some(outcome_ids))
        return frozenset(row.id for row in rows)

    async def hold_runs(self, errors: Sequence[PastError]) -> frozenset[UUID]:
        """The tasks and runs of these errors that have their words, and keep them likewise."""
        tasks = await self._connection.execute(
            _HOLD_TASKS, self._some([one.task_id for one in errors])
        )
        runs = await self._connection.execute(
            _HOLD_RUNS, self._some([one.run_id for one in errors if one.run_id is not None])
        )
        return frozenset(row.id for rows in (tasks, runs) for row in rows)

    def _some(self, ids: Sequence[UUID]) -> dict[str, object]:
        return {"ns": self._namespace_id, "ids": sorted(set(ids))}


_FAILED = text("""
    SELECT o.id AS outcome_id, r.id AS retrieval_id, t.id AS task_id, t.text AS task, o.reward,
        o.raw, o.lesson, run.id AS run_id, run.steps, run.result, o.known_at,
        ARRAY(SELECT i.memory_id FROM retrieval_item i
            WHERE i.retrieval_id = r.id AND i.served ORDER BY i.memory_id) AS sources
    FROM candidate x JOIN outcome o ON o.id = x.outcome_id
    JOIN retrieval r ON r.id = o.retrieval_id JOIN task t ON t.id = r.task_id
    LEFT JOIN LATERAL (
        SELECT y.id, y.steps, y.result FROM trajectory y
        WHERE y.namespace_id = :ns AND y.retrieval_id = r.id AND y.erased_at IS NULL
          AND y.withdrawn_at IS NULL
        ORDER BY y.id DESC LIMIT 1
    ) run ON true
    WHERE x.namespace_id = :ns AND r.agent_id = :agent AND r.category_id = :category
      AND t.erased_at IS NULL AND o.known_at <= :as_of
      AND (o.status = 'applied' OR o.status = 'ignored' AND o.reason = 'observational')
      AND (o.lesson IS NOT NULL OR run.id IS NOT NULL)
    ORDER BY o.known_at DESC, o.id DESC LIMIT :limit
""")


_HOLD_REPORTS = text("""
    SELECT id FROM outcome WHERE namespace_id = :ns AND id = ANY(CAST(:ids AS uuid[]))
      AND lesson IS NOT NULL ORDER BY id FOR SHARE
""")


_HOLD_TASKS = text("""
    SELECT id FROM task WHERE namespace_id = :ns AND id = ANY(CAST(:ids AS uuid[]))
      AND erased_at IS NULL ORDER BY id FOR SHARE
""")


_HOLD_RUNS = text("""
    SELECT id FROM trajectory WHERE namespace_id = :ns AND id = ANY(CAST(:ids AS uuid[]))
      AND erased_at IS NULL ORDER BY id FOR SHARE
""")
