"""CandidateStore: bad outcomes on their way to becoming memories, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.states import State
from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.receipts.tables import outcome
from memory.tasks.run_entities import Step
from memory.verification.entities import LessonCandidate, Run
from memory.verification.tables import candidate

_to_candidate = RowMapper(LessonCandidate, [candidate])


MAX_CLAIMS = 5
"""Work that died so often is left to a person."""


@dataclass(frozen=True, slots=True)
class LessonCase:
    """An outcome that was bad enough to learn from, with what a lesson can be made of.

    `claim` is which claim this is: who was overtaken finds another number. `sources`: the memories
    that the words of `guideline` are made of, all that were served where a run may repeat them;
    `private`: whether the agent was told private ones. `run_id`: the run behind it, whose words are
    `steps`, `result` and `rationale` (a forecast brings the last alone); `raw`: the numbers as they
    were reported, with the truth where it is known.
    """

    outcome_id: UUID
    retrieval_id: UUID
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
    expected: float | None
    raw: Mapping[str, object]
    run_id: UUID | None
    steps: tuple[Step, ...]
    result: str | None
    rationale: str | None
    sources: tuple[UUID, ...] = ()
    private: bool = False


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
        """Runs that nobody has looked at, in the order in which they were applied."""
        return await self._runs(_FRESH, {"limit": limit})

    async def before(self, limit: int) -> list[Run]:
        """The last runs that were looked at, in the same order."""
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

    async def has_fresh(self) -> bool:
        """Whether there are applied runs that nobody has looked at."""
        return bool(await self._runs(_FRESH, {"limit": 1}))

    async def cells_before(self, outcome_ids: Sequence[UUID]) -> dict[UUID, State]:
        """By outcome, the state of its cell before it, where it moved one that had been moved."""
        values = {"ns": self._namespace_id, "ids": list(outcome_ids)}
        rows = await self._connection.execute(_CELLS_BEFORE, values)
        return {row.id: State(tuple(row.state_before), row.touched_before) for row in rows}

    async def add(self, runs: Sequence[Run], now: datetime) -> None:
        """Queue outcomes to be learned from; one that is queued stays as it is."""
        rows = [
            {
                "outcome_id": run.id,
                "namespace_id": self._namespace_id,
                "state": "waiting",
                "expected": run.expected,
                "recorded_at": now,
            }
            for run in runs
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
        return None if claimed is None else await self.case(claimed)

    async def case(self, outcome_id: UUID) -> LessonCase | None:
        """A queued outcome with what a lesson can be made of, whoever works on it."""
        rows = await self._connection.execute(_CASE, {"ns": self._namespace_id, "id": outcome_id})
        row = rows.mappings().first()
        if row is None:
            return None
        case = LessonCase(**row)
        return replace(case, steps=tuple(Step.stored(step) for step in row["steps"] or ()))

    async def of_ticket(self, ticket_id: UUID) -> UUID | None:
        """The outcome from which the candidate of a ticket was drawn, the first of several."""
        return await self._connection.scalar(
            _OF_TICKET, {"ns": self._namespace_id, "ticket": ticket_id}
        )

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

    async def is_erased(self, case: LessonCase) -> bool:
        """Whether the words of its task or of its run were erased meanwhile."""
        values = {"ns": self._namespace_id, "task": case.task_id, "run": case.run_id}
        return bool(await self._connection.scalar(_ERASED, values))

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
        """Queue a quarantined candidate anew, or take one that waits from who claimed it; False
        where it is neither.
        """
        mine = (
            update(candidate)
            .where(candidate.c.namespace_id == self._namespace_id)
            .where(candidate.c.outcome_id == outcome_id)
        )
        again = await self._connection.execute(
            mine.where(candidate.c.state == "quarantined").values(
                state="waiting", claims=0, claimed_until=None, finished_at=None
            )
        )
        if again.rowcount > 0:
            return True
        # The claim counts on: who lives after all comes too late.
        freed = await self._connection.execute(
            mine.where(
                candidate.c.state == "waiting", candidate.c.claimed_until.is_not(None)
            ).values(claimed_until=None)
        )
        return freed.rowcount > 0

    async def get(self, outcome_id: UUID) -> LessonCandidate:
        rows = await self._connection.execute(
            select(candidate).where(
                candidate.c.namespace_id == self._namespace_id,
                candidate.c.outcome_id == outcome_id,
            )
        )
        row = rows.mappings().first()
        if row is None:
            raise NotFound(
                f"no such candidate: {outcome_id}", code="candidate_not_found", field="outcome_id"
            )
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


# Who was served nothing failed as well, and can be learned from: at random, or because the bank had
# nothing. The condition on the outcome is that of the index.
_ANY = """
    SELECT o.id, r.task_id AS task, o.reward,
        CASE WHEN t.group_key IS NULL THEN 'task:' || t.id ELSE 'group:' || t.group_key END
            AS "group"
    FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id JOIN task t ON t.id = r.task_id
    WHERE o.namespace_id = :ns AND t.erased_at IS NULL
      AND (o.status = 'applied' OR o.status = 'ignored' AND o.reason = 'observational')
      AND (o.evidence IN ('paired', 'single', 'control') OR r.arm = 'empty')
"""


_FRESH = f"{_ANY} AND o.acquired_at IS NULL ORDER BY o.applied_at, o.id LIMIT :limit"


_BEFORE = f"{_ANY} AND o.acquired_at IS NOT NULL ORDER BY o.applied_at DESC, o.id DESC LIMIT :limit"


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
    SELECT o.id AS outcome_id, o.retrieval_id, x.claims AS claim, o.lesson, o.reward, o.metric,
        o.reward_kind,
        r.agent_id, a.name AS agent, r.category_id, r.subcategory_id, c.name AS category,
        r.task_id, t.text AS task,
        CASE WHEN t.group_key IS NULL THEN 'task:' || t.id ELSE 'group:' || t.group_key END
            AS source_group,
        r.text AS guideline, o.known_at, o.key_id, x.expected, o.raw,
        run.id AS run_id, run.steps, run.result, coalesce(run.rationale, p.rationale) AS rationale
    FROM candidate x JOIN outcome o ON o.id = x.outcome_id
    JOIN retrieval r ON r.id = o.retrieval_id JOIN agent a ON a.id = r.agent_id
    JOIN task t ON t.id = r.task_id JOIN category c ON c.id = r.category_id
    LEFT JOIN LATERAL (
        SELECT y.id, y.steps, y.result, y.rationale FROM trajectory y
        WHERE y.namespace_id = :ns AND y.retrieval_id = r.id AND y.erased_at IS NULL
        ORDER BY y.withdrawn_at IS NOT NULL, y.id DESC LIMIT 1
    ) run ON true
    LEFT JOIN LATERAL (
        SELECT v.rationale FROM prediction_revision v
        WHERE v.namespace_id = :ns AND v.retrieval_id = r.id
        ORDER BY v.number DESC LIMIT 1
    ) p ON true
    WHERE x.namespace_id = :ns AND x.outcome_id = CAST(:id AS uuid)
""")


_OF_TICKET = text("""
    SELECT x.outcome_id FROM ticket t JOIN candidate x ON x.memory_id = t.memory_id
    WHERE t.namespace_id = :ns AND t.id = :ticket AND x.state = 'proposed'
    ORDER BY x.outcome_id LIMIT 1
""")


_CELLS_BEFORE = text("""
    SELECT o.id, e.state_before, e.touched_before
    FROM outcome o JOIN weight_event e ON e.namespace_id = o.namespace_id
      AND e.bank_version = o.bank_version AND e.subject = 'cell' AND e.outcome_id = o.id
      AND e.policy = (SELECT policy FROM namespace WHERE id = :ns)
    WHERE o.namespace_id = :ns AND o.id = ANY(CAST(:ids AS uuid[])) AND e.state_before IS NOT NULL
""")


_ERASED = text("""
    SELECT EXISTS (SELECT FROM task WHERE namespace_id = :ns AND id = :task
        AND erased_at IS NOT NULL)
      OR EXISTS (SELECT FROM trajectory WHERE namespace_id = :ns AND id = CAST(:run AS uuid)
        AND erased_at IS NOT NULL)
""")
