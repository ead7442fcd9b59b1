"""ErasureStore: takes text away, leaves ids, weights and numbers, within one namespace; beside it
what a preview reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, false, func, null, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.tables import task_embedding
from memory.erasure.entities import MAX_REACHED, Derived, Erasure
from memory.llm.tables import writing
from memory.memories.entities import Kind
from memory.memories.tables import ERASED_COLUMNS, embedding, memory, memory_version
from memory.receipts.tables import retrieval, retrieval_item
from memory.tasks.tables import agent, task, trajectory

BLANK = ""


@dataclass(frozen=True, slots=True)
class ErasureTargets:
    """Whose text an erasure takes; `living` of the memories are in use."""

    memory_ids: tuple[UUID, ...]
    task_ids: tuple[UUID, ...]
    living: int


class ErasureStore:
    """Erasure in one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def find_targets(self, erasure: Erasure) -> ErasureTargets:
        """Whose text would go."""
        condition = _whose(erasure)
        rows = await self._connection.execute(
            select(memory.c.id, memory.c.status)
            .select_from(memory.join(agent, agent.c.id == memory.c.agent_id))
            .where(memory.c.namespace_id == self._namespace_id, memory.c.erased_at.is_(None))
            .where(condition)
            .order_by(memory.c.id)
        )
        found = rows.all()
        living = sum(row.status not in ("retired", "rejected") for row in found)
        return ErasureTargets(tuple(row.id for row in found), await self._tasks(erasure), living)

    async def _tasks(self, erasure: Erasure) -> tuple[UUID, ...]:
        here = (task.c.namespace_id == self._namespace_id) & task.c.erased_at.is_(None)
        if erasure.task_id is not None:
            condition = task.c.id == erasure.task_id
        elif erasure.key_id is not None:
            condition = task.c.key_id == erasure.key_id
        else:
            return ()
        return tuple(await self._connection.scalars(select(task.c.id).where(here, condition)))

    async def hold_receipts(self, memory_ids: Sequence[UUID]) -> None:
        """Reports on receipts that cite these wait; taken before the bank's version, because a
        report waits for outcomes that are being applied, and applying waits for the version.
        """
        here = {"ns": self._namespace_id, "ids": list(memory_ids)}
        await self._connection.execute(_HOLD_RECEIPTS, here)

    async def hold_memories(self, memory_ids: Sequence[UUID]) -> None:
        """In id order, as everyone does, against deadlock; receipts being stored are waited for."""
        here = {"ns": self._namespace_id, "ids": list(memory_ids)}
        await self._connection.execute(_HOLD_MEMORIES, here)

    async def blank_memories(self, memory_ids: Sequence[UUID], now: datetime) -> tuple[int, int]:
        """Texts go blank, vectors and tokens go; returns (versions, embeddings)."""
        await self._connection.execute(
            update(memory)
            .where(memory.c.id.in_(memory_ids))
            .values(status="retired", status_reason="erased", erased_at=now, **ERASED_COLUMNS)
        )
        versions = await self._connection.execute(
            update(memory_version)
            .where(memory_version.c.memory_id.in_(memory_ids))
            .values(situation=BLANK, lesson=BLANK, identifiers=[], raw_terms=[], normal_sha256=None)
        )
        vectors = await self._connection.execute(
            delete(embedding).where(embedding.c.memory_id.in_(memory_ids))
        )
        return versions.rowcount, vectors.rowcount

    async def blank_lines(self, memory_ids: Sequence[UUID]) -> int:
        """Guidelines lose the lines that cite it, all where a model had read it; citations stay."""
        done = await self._connection.execute(
            _BLANK_LINES, {"ids": list(memory_ids), "names": [str(i) for i in memory_ids]}
        )
        return done.rowcount

    async def blank_lessons(self, erasure: Erasure, memory_ids: Sequence[UUID]) -> None:
        """Lessons of the erased, those that memories were made of, and those of runs told of it."""
        values = {
            "ns": self._namespace_id,
            "key": erasure.key_id,
            "agent": erasure.agent,
            "task": erasure.task_id,
            "ids": list(memory_ids),
        }
        await self._connection.execute(_BLANK_LESSONS, values)

    async def blank_tasks(self, task_ids: Sequence[UUID], now: datetime) -> int:
        """Tasks lose their words, and the vectors that were made of them."""
        await self._connection.execute(
            delete(task_embedding).where(task_embedding.c.task_id.in_(task_ids))
        )
        done = await self._connection.execute(
            update(task)
            .where(task.c.id.in_(task_ids))
            .values(text=BLANK, sha256=b"", metadata={}, erased_at=now)
        )
        return done.rowcount

    async def blank_runs(
        self, erasure: Erasure, targets: ErasureTargets, now: datetime
    ) -> tuple[UUID, ...]:
        """Runs of these tasks, by this agent or key, or told of these memories, lose their words;
        their ids.
        """
        told = trajectory.c.retrieval_id.in_(_told_of(targets.memory_ids))
        whose = trajectory.c.task_id.in_(targets.task_ids) | told
        if erasure.key_id is not None:
            whose |= trajectory.c.key_id == erasure.key_id
        if erasure.agent is not None:
            named = select(agent.c.id).where(
                agent.c.namespace_id == self._namespace_id, agent.c.name == erasure.agent
            )
            whose |= trajectory.c.agent_id.in_(named)
        rows = await self._connection.execute(
            update(trajectory)
            .where(trajectory.c.namespace_id == self._namespace_id, whose)
            .where(trajectory.c.erased_at.is_(None))
            .values(steps=[], result=None, rationale=None, examined=null(), erased_at=now)
            .returning(trajectory.c.id)
        )
        return tuple(row.id for row in rows)

    async def blank_contrasts(
        self, erasure: Erasure, task_ids: Sequence[UUID], run_ids: Sequence[UUID]
    ) -> list[UUID]:
        """What distillers said of erased runs goes, and what was made of them loses that support;
        the constraints that lost some.
        """
        values = {"ns": self._namespace_id, "tasks": list(task_ids), "runs": list(run_ids)}
        await self._connection.execute(_BLANK_CONTRASTS, values)
        hand = {"key": erasure.key_id, "agent": erasure.agent}
        rows = await self._connection.execute(_WITHDRAW_SUPPORT, values | hand)
        return sorted({row.memory_id for row in rows})

    async def blank_llm_calls(
        self, erasure: Erasure, targets: ErasureTargets, now: datetime
    ) -> int:
        """What a language model was asked and said goes where it carries erased text."""
        about = select(retrieval.c.id).where(retrieval.c.task_id.in_(targets.task_ids))
        served = _told_of(targets.memory_ids)
        # Before its sources were kept, a summary named the task alone.
        advised = select(retrieval.c.task_id).where(retrieval.c.id.in_(served))
        carries = (
            writing.c.memory_ids.overlap(list(targets.memory_ids))
            | writing.c.memory_id.in_(targets.memory_ids)
            | writing.c.task_id.in_(targets.task_ids)
            | writing.c.retrieval_id.in_(about)
            | writing.c.retrieval_id.in_(served)
            | ((writing.c.role == "summarise") & writing.c.task_id.in_(advised))
        )
        named = {"agent": erasure.agent, "key_id": erasure.key_id, "task_id": erasure.task_id}
        for name, value in named.items():
            if value is not None:
                carries |= writing.c[name] == value
        # A pair's two runs are of two agents and keys: it goes with either of them.
        held = trajectory.c.namespace_id == self._namespace_id
        blank = select(trajectory.c.task_id).where(held, trajectory.c.erased_at == now)
        carries |= (writing.c.role == "distil") & writing.c.task_id.in_(blank)
        done = await self._connection.execute(
            update(writing)
            .where(writing.c.namespace_id == self._namespace_id, carries)
            .where(writing.c.erased_at.is_(None))
            .values(prompt=BLANK, answer=BLANK, detail=None, erased_at=now)
        )
        return done.rowcount

    async def blank_resolutions(
        self, memory_ids: Sequence[UUID], key_id: UUID | None
    ) -> list[UUID]:
        """Why a contradiction of the erased was decided as it was, or by this key; which."""
        values = {"ns": self._namespace_id, "ids": list(memory_ids), "key": key_id}
        rows = await self._connection.execute(_BLANK_RESOLUTIONS, values)
        return [row.id for row in rows]

    async def blank_rationales(self, erasure: Erasure, task_ids: Sequence[UUID]) -> None:
        """Why agents predicted what they did; probabilities are numbers, and stay."""
        values = {
            "ns": self._namespace_id,
            "key": erasure.key_id,
            "agent": erasure.agent,
            "tasks": list(task_ids),
        }
        await self._connection.execute(_BLANK_RATIONALES, values)


def _whose(erasure: Erasure) -> ColumnElement[bool]:
    if erasure.memory_id is not None:
        return memory.c.id == erasure.memory_id
    if erasure.agent is not None:
        return agent.c.name == erasure.agent
    if erasure.key_id is not None:
        return (memory.c.key_id == erasure.key_id) & ~_abstracted("distilled", "checked")
    return (memory.c.task_id == erasure.task_id) & ~_abstracted("distilled", "checked", "written")


def _told_of(memory_ids: Sequence[UUID]) -> Select[tuple[UUID]]:
    """The receipts that served any of these."""
    served = retrieval_item.c.memory_id.in_(memory_ids) & retrieval_item.c.served
    return select(retrieval_item.c.retrieval_id).where(served)


def _abstracted(*origins: str) -> ColumnElement[bool]:
    """Constraints that passed their lint hold no word of their tasks and runs: these lose support,
    not their text. What failed it may.
    """
    return (
        (memory.c.kind == "constraint")
        & (memory.c.status != "rejected")
        & func.coalesce(memory.c.detail["origin"].astext.in_(origins), false())
    )


_HOLD_RECEIPTS = text("""
    SELECT r.id FROM retrieval r
    WHERE r.namespace_id = :ns AND r.id IN (
        SELECT i.retrieval_id FROM retrieval_item i WHERE i.memory_id = ANY(:ids) AND i.served)
    ORDER BY r.id FOR NO KEY UPDATE
""")


_HOLD_MEMORIES = text("""
    SELECT id FROM memory WHERE namespace_id = :ns AND id = ANY(:ids) ORDER BY id FOR UPDATE
""")


_BLANK_LINES = text("""
    UPDATE retrieval r SET text = '', lines = (
        SELECT coalesce(jsonb_agg(
            CASE WHEN r.compiler LIKE 'model/%' OR line -> 'memory_ids' ?| CAST(:names AS text[])
                 THEN jsonb_set(line - 'other', '{text}', '""') ELSE line END), '[]')
        FROM jsonb_array_elements(r.lines) AS line)
    WHERE r.id IN (SELECT i.retrieval_id FROM retrieval_item i
                   WHERE i.memory_id = ANY(:ids)
                     AND (i.cited OR r.compiler LIKE 'model/%' AND i.served))
""")


_BLANK_LESSONS = text("""
    UPDATE outcome o SET lesson = NULL FROM retrieval r JOIN agent a ON a.id = r.agent_id
    WHERE o.namespace_id = :ns AND o.lesson IS NOT NULL AND r.id = o.retrieval_id
      AND (o.key_id = :key OR a.name = :agent OR r.task_id = :task OR o.id IN (
        SELECT x.outcome_id FROM candidate x WHERE x.memory_id = ANY(:ids)) OR r.id IN (
        SELECT i.retrieval_id FROM retrieval_item i WHERE i.memory_id = ANY(:ids) AND i.served))
""")


_BLANK_RATIONALES = text("""
    UPDATE prediction_revision r SET rationale = NULL
    FROM prediction p JOIN agent a ON a.id = p.agent_id
    WHERE r.namespace_id = :ns AND r.rationale IS NOT NULL AND p.id = r.prediction_id
      AND (r.key_id = :key OR a.name = :agent OR p.task_id = ANY(CAST(:tasks AS uuid[])))
""")


_BLANK_RESOLUTIONS = text("""
    UPDATE contradiction SET resolution_reason = 'erased'
    WHERE namespace_id = :ns AND key_id IS NOT NULL
      AND (first_id = ANY(:ids) OR second_id = ANY(:ids) OR key_id = :key)
    RETURNING id
""")


_BLANK_CONTRASTS = text("""
    UPDATE contrast SET rejected = '[]'
    WHERE namespace_id = :ns AND (task_id = ANY(CAST(:tasks AS uuid[]))
      OR preferred_id = ANY(CAST(:runs AS uuid[])) OR unpreferred_id = ANY(CAST(:runs AS uuid[])))
""")


_WITHDRAW_SUPPORT = text("""
    UPDATE constraint_support SET counts = false
    WHERE namespace_id = :ns AND counts AND (task_id = ANY(CAST(:tasks AS uuid[]))
      OR contrast_id IN (SELECT id FROM contrast WHERE namespace_id = :ns AND (
        preferred_id = ANY(CAST(:runs AS uuid[]))
        OR unpreferred_id = ANY(CAST(:runs AS uuid[]))))
      OR contrast_id IS NULL AND (preferred_key_id = :key OR preferred_agent_id IN (
        SELECT id FROM agent WHERE namespace_id = :ns AND name = :agent)))
    RETURNING memory_id
""")


class ErasurePreviewStore:
    """Receipts whose lines cite what would go, and memories that were derived from it."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def list_receipts(self, targets: ErasureTargets) -> tuple[UUID, ...]:
        """Receipts that would lose lines, the newest first, at most MAX_REACHED."""
        rows = await self._connection.execute(_RECEIPTS, self._values(targets))
        return tuple(row.id for row in rows)

    async def list_derived(self, targets: ErasureTargets) -> tuple[Derived, ...]:
        """Memories that stay and lose support, those that lose most first."""
        rows = await self._connection.execute(_DERIVED, self._values(targets))
        return tuple(Derived(row.id, Kind(row.kind), row.lost, row.supports) for row in rows)

    def _values(self, targets: ErasureTargets) -> dict[str, object]:
        return {
            "ns": self._namespace_id,
            "ids": list(targets.memory_ids),
            "tasks": list(targets.task_ids),
            "limit": MAX_REACHED,
        }


_RECEIPTS = text("""
    SELECT DISTINCT i.retrieval_id AS id
    FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
    WHERE i.namespace_id = :ns AND i.memory_id = ANY(CAST(:ids AS uuid[]))
      AND (i.cited OR r.compiler LIKE 'model/%' AND i.served)
    ORDER BY id DESC LIMIT :limit
""")


# A constraint rests on its supports, a merged memory on those it was derived from.
_DERIVED = text("""
    SELECT m.id, m.kind,
        coalesce(s.lost, 0) + coalesce(d.lost, 0) AS lost,
        coalesce(s.supports, 0) + cardinality(m.derived_from) AS supports
    FROM memory m
    LEFT JOIN LATERAL (
        SELECT count(*) FILTER (WHERE x.task_id = ANY(CAST(:tasks AS uuid[]))) AS lost,
            count(*) AS supports
        FROM constraint_support x WHERE x.memory_id = m.id AND x.counts
    ) s ON true
    LEFT JOIN LATERAL (
        SELECT count(*) AS lost FROM unnest(m.derived_from) AS origin
        WHERE origin = ANY(CAST(:ids AS uuid[]))
    ) d ON true
    WHERE m.namespace_id = :ns AND m.erased_at IS NULL
      AND NOT m.id = ANY(CAST(:ids AS uuid[]))
      AND coalesce(s.lost, 0) + coalesce(d.lost, 0) > 0
    ORDER BY lost DESC, m.id LIMIT :limit
""")
