"""CandidateStore: bad outcomes on their way to becoming memories, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.receipts.tables import outcome
from memory.verification.entities import LessonCandidate, Run
from memory.verification.tables import candidate

_to_candidate = RowMapper(LessonCandidate, [candidate])


MAX_CLAIMS = 5
"""Work that died so often is left to a person."""


@dataclass(frozen=True, slots=True)
class LessonCase:
    """An outcome that was bad enough to learn from, with what a lesson can be made of.

    `claim` is which claim this is: who was overtaken finds another number.
    """

    outcome_id: UUID
    claim: int
    lesson: Mapping[str, str | None] | None
    reward: float
    metric: str
    reward_kind: str
    agent_id: UUID
    agent: str
    category_id: UUID
    subcategory_id: UUID | None
    category: str
    task_id: UUID
    task: str
    source_group: str
    guideline: str | None
    known_at: datetime
    key_id: UUID | None


@dataclass(frozen=True, slots=True)
class CaseEnd:
    """What became of a case: the memory made of it or the twin that was there, if any."""

    state: str
    memory_id: UUID | None
    reason: str | None


class CandidateStore:
    """The queue of acquisition in one namespace: claimed, worked on, finished."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def fresh(self, limit: int) -> list[Run]:
        """Applied runs with memory that nobody has looked at, in the ledger's order."""
        return await self._runs(_FRESH, {"limit": limit})

    async def before(self, limit: int) -> list[Run]:
        """The last runs that were looked at, in the ledger's order."""
        return (await self._runs(_BEFORE, {"limit": limit}))[::-1]

    async def runs(self, category_id: UUID, limit: int) -> list[Run]:
        """Runs with memory in a category, the newest first."""
        return await self._runs(_IN_CATEGORY, {"category": category_id, "limit": limit})

    async def runs_of(self, task_id: UUID) -> list[Run]:
        """Runs with memory of one task, the newest first."""
        return await self._runs(_OF_TASK, {"task": task_id, "limit": MAX_CLAIMS})

    async def _runs(self, statement: str, values: Mapping[str, object]) -> list[Run]:
        rows = await self._connection.execute(text(statement), {"ns": self._namespace_id, **values})
        return [Run(**row) for row in rows.mappings()]

    async def look_at(self, outcome_ids: Sequence[UUID], now: datetime) -> None:
        """These have been looked at: each outcome is judged once."""
        await self._connection.execute(
            update(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .values(acquired_at=now)
        )

    async def add(self, outcome_ids: Sequence[UUID], now: datetime) -> None:
        """Queue outcomes to be learned from; one that is queued stays as it is."""
        rows = [
            {
                "outcome_id": outcome_id,
                "namespace_id": self._namespace_id,
                "state": "waiting",
                "recorded_at": now,
            }
            for outcome_id in outcome_ids
        ]
        if rows:
            await self._connection.execute(insert(candidate).on_conflict_do_nothing(), rows)

    async def claim(self, now: datetime, until: datetime) -> LessonCase | None:
        """Take one that waits or was left behind, the least claimed first, so that one over which
        every worker dies holds up no other; what was left too often is quarantined.
        """
        values = {"ns": self._namespace_id, "now": now, "most": MAX_CLAIMS}
        await self._connection.execute(_QUARANTINE, values)
        claimed = await self._connection.scalar(_CLAIM, {**values, "until": until})
        rows = await self._connection.execute(_CASE, {"ns": self._namespace_id, "id": claimed})
        row = rows.mappings().first()
        return None if row is None else LessonCase(**row)

    async def hold(self, case: LessonCase) -> bool:
        """Lock the candidate to write its end; False where another one took it over, or its words
        were erased meanwhile.
        """
        row = await self._connection.execute(
            select(candidate.c.claims, candidate.c.state, outcome.c.lesson)
            .join(outcome, outcome.c.id == candidate.c.outcome_id)
            .where(candidate.c.namespace_id == self._namespace_id)
            .where(candidate.c.outcome_id == case.outcome_id)
            .with_for_update(of=candidate)
        )
        found = row.first()
        return found is not None and tuple(found) == (case.claim, "waiting", case.lesson)

    async def finish(self, outcome_id: UUID, end: CaseEnd, now: datetime) -> None:
        """What became of it; the caller holds it."""
        values = {"state": end.state, "memory_id": end.memory_id, "reason": end.reason}
        await self._set(outcome_id, {**values, "finished_at": now})

    async def let_go(self, outcome_id: UUID, until: datetime) -> None:
        """The work failed for a reason that passes by itself: it rests until then, and the claim
        does not count. The caller holds it.
        """
        values = {"claims": candidate.c.claims - 1, "claimed_until": until}
        await self._set(outcome_id, {**values, "reason": "model_away"})

    async def _set(self, outcome_id: UUID, values: Mapping[str, object]) -> None:
        await self._connection.execute(
            update(candidate)
            .where(candidate.c.namespace_id == self._namespace_id)
            .where(candidate.c.outcome_id == outcome_id)
            .values(**values)
        )

    async def retry(self, outcome_id: UUID) -> bool:
        """Queue a quarantined candidate anew; False where it is not quarantined."""
        done = await self._connection.execute(
            update(candidate)
            .where(candidate.c.namespace_id == self._namespace_id)
            .where(candidate.c.outcome_id == outcome_id, candidate.c.state == "quarantined")
            .values(state="waiting", claims=0, claimed_until=None, finished_at=None)
        )
        return done.rowcount > 0

    async def get(self, outcome_id: UUID) -> LessonCandidate:
        rows = await self._connection.execute(
            select(candidate).where(
                candidate.c.namespace_id == self._namespace_id,
                candidate.c.outcome_id == outcome_id,
            )
        )
        row = rows.mappings().first()
        if row is None:
            raise NotFound("no such candidate", code="candidate_not_found", field="outcome_id")
        return _to_candidate(row)

    async def browse(self, state: str | None, page: Page) -> tuple[list[LessonCandidate], int]:
        """Oldest first, one row more than the page; and how many match."""
        condition: ColumnElement[bool] = candidate.c.namespace_id == self._namespace_id
        if state is not None:
            condition &= candidate.c.state == state
        rows = (
            select(candidate)
            .where(condition)
            .order_by(candidate.c.outcome_id)
            .limit(page.limit + 1)
        )
        if page.after is not None:
            rows = rows.where(candidate.c.outcome_id > UUID(str(page.after[0])))
        found = (await self._connection.execute(rows)).mappings()
        total = await self._connection.scalar(
            select(func.count()).select_from(candidate).where(condition)
        )
        return [_to_candidate(row) for row in found], total or 0


# What evidence it was says that memory was on; `none` moved nothing, whatever the reason.
_RUNS = """
    SELECT o.id, r.task_id AS task, o.reward,
        CASE WHEN t.group_key IS NULL THEN 'task:' || t.id ELSE 'group:' || t.group_key END
            AS "group"
    FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id JOIN task t ON t.id = r.task_id
    WHERE o.namespace_id = :ns AND o.status = 'applied' AND o.evidence IN ('paired', 'single')
      AND t.erased_at IS NULL
"""


_FRESH = f"{_RUNS} AND o.acquired_at IS NULL ORDER BY o.bank_version, o.id LIMIT :limit"


_BEFORE = (
    f"{_RUNS} AND o.acquired_at IS NOT NULL ORDER BY o.bank_version DESC, o.id DESC LIMIT :limit"
)


_IN_CATEGORY = (
    f"{_RUNS} AND r.category_id = :category ORDER BY o.bank_version DESC, o.id DESC LIMIT :limit"
)


_OF_TASK = f"{_RUNS} AND r.task_id = :task ORDER BY o.bank_version DESC, o.id DESC LIMIT :limit"


_QUARANTINE = text("""
    UPDATE candidate SET state = 'quarantined', finished_at = :now
    WHERE namespace_id = :ns AND state = 'waiting' AND claims >= :most
      AND (claimed_until IS NULL OR claimed_until <= :now)
""")


_CLAIM = text("""
    WITH free AS (
        SELECT outcome_id FROM candidate
        WHERE namespace_id = :ns AND state = 'waiting' AND claims < :most
          AND (claimed_until IS NULL OR claimed_until <= :now)
        ORDER BY claims, outcome_id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE candidate SET claims = claims + 1, claimed_until = :until
    FROM free WHERE candidate.outcome_id = free.outcome_id RETURNING candidate.outcome_id
""")


_CASE = text("""
    SELECT o.id AS outcome_id, x.claims AS claim, o.lesson, o.reward, o.metric, o.reward_kind,
        r.agent_id, a.name AS agent, r.category_id, r.subcategory_id, c.name AS category,
        r.task_id, t.text AS task,
        CASE WHEN t.group_key IS NULL THEN 'task:' || t.id ELSE 'group:' || t.group_key END
            AS source_group,
        r.text AS guideline, o.known_at, o.key_id
    FROM candidate x JOIN outcome o ON o.id = x.outcome_id
    JOIN retrieval r ON r.id = o.retrieval_id JOIN agent a ON a.id = r.agent_id
    JOIN task t ON t.id = r.task_id JOIN category c ON c.id = r.category_id
    WHERE x.namespace_id = :ns AND x.outcome_id = CAST(:id AS uuid)
""")
