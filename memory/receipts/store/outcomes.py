"""OutcomeStore: results of attempts, seen through one namespace."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.store.ledger import OPERATIONS
from memory.belief.tables import weight_event
from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.memories.tables import memory
from memory.receipts.entities import Outcome, OutcomeFilter
from memory.receipts.store.receipts import page_by_id
from memory.receipts.tables import outcome


def _by_ranker(row: RowMapping) -> dict[str, float] | None:
    """Numbers as JSON kept them: one without a fraction comes back whole."""
    rewards = row["ranker_rewards"]
    return None if rewards is None else {name: float(reward) for name, reward in rewards.items()}


_to_outcome = RowMapper(Outcome, [outcome], computed={"ranker_rewards": _by_ranker})


class OutcomeStore:
    """Outcomes of one namespace. A unique index keeps one effective outcome a retrieval."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add(self, outcomes: Sequence[Outcome]) -> None:
        await self._connection.execute(insert(outcome), [self._values(one) for one in outcomes])

    def _values(self, one: Outcome) -> dict[str, object]:
        return {
            "id": one.id,
            "namespace_id": self._namespace_id,
            "retrieval_id": one.retrieval_id,
            "evaluator": one.evaluator,
            "verifier": one.verifier,
            "metric": one.metric,
            "reward_kind": one.reward_kind,
            "raw": one.raw,
            "sha256": one.sha256,
            "reward": one.reward,
            "reward_full": one.reward_full,
            "reward_without": one.reward_without,
            "helpful": list(one.helpful),
            "harmful": list(one.harmful),
            "authored": list(one.authored),
            "muted": list(one.muted),
            "numeric": None if one.numeric is None else list(one.numeric),
            "ranker_rewards": one.ranker_rewards,
            "partner_id": one.partner_id,
            "answers": one.answers,
            "stances": one.stances,
            "evidence": one.evidence,
            "status": one.status,
            "reason": one.reason,
            "supersedes": one.supersedes,
            "known_at": one.known_at,
            "recorded_at": one.recorded_at,
            "position": one.position,
            "applied_at": one.applied_at,
            "bank_version": one.bank_version,
            "residual": one.residual,
            "withdrawn_version": one.withdrawn_version,
            "key_id": one.key_id,
            "lesson": one.lesson,
            "acquired_at": one.acquired_at,
        }

    async def of_retrievals(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, list[Outcome]]:
        """All outcomes of these retrievals, each list in order of arrival."""
        rows = await self._connection.execute(
            select(outcome)
            .where(
                outcome.c.namespace_id == self._namespace_id,
                outcome.c.retrieval_id.in_(retrieval_ids),
            )
            .order_by(outcome.c.id)
        )
        found: dict[UUID, list[Outcome]] = {}
        for row in rows.mappings():
            found.setdefault(row["retrieval_id"], []).append(_to_outcome(row))
        return found

    async def lock_retrievals(self, retrieval_ids: Sequence[UUID]) -> None:
        """Reports for one retrieval follow one another, and so do those for runs that may make a
        pair: of one agent on one task. Locked in order, against deadlock.
        """
        ids = {"ids": sorted(retrieval_ids)}
        await self._connection.execute(_LOCK_PAIRS, ids)
        await self._connection.execute(_LOCK, ids)
        await self._connection.execute(_LOCK_PENDING, {**ids, "ns": self._namespace_id})

    async def get(self, outcome_id: UUID) -> Outcome:
        rows = await self._connection.execute(
            select(outcome).where(
                outcome.c.namespace_id == self._namespace_id, outcome.c.id == outcome_id
            )
        )
        found = rows.mappings().first()
        if found is None:
            raise NotFound("no such outcome", code="outcome_not_found", field="outcome_id")
        return _to_outcome(found)

    async def browse(self, wanted: OutcomeFilter, page: Page) -> tuple[list[Outcome], int]:
        """Oldest first, one row more than the page; and how many match."""
        condition: ColumnElement[bool] = outcome.c.namespace_id == self._namespace_id
        if wanted.state is not None:
            condition &= outcome.c.status == wanted.state
        if wanted.retrieval_id is not None:
            condition &= outcome.c.retrieval_id == wanted.retrieval_id
        rows = page_by_id(
            select(outcome).where(condition), outcome.c.id, page, newest_first=wanted.newest_first
        )
        found = [_to_outcome(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(outcome).where(condition)
        )
        return found, total or 0

    async def pending(self, limit: int) -> list[Outcome]:
        """Outcomes awaiting application, in the order in which they are to be applied.

        Held until commit, so that none is superseded while it is being applied.
        """
        rows = await self._connection.execute(
            select(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.applied_at.is_(None))
            .order_by(outcome.c.known_at, outcome.c.recorded_at, outcome.c.position, outcome.c.id)
            .limit(limit)
            .with_for_update(key_share=True)
        )
        return [_to_outcome(row) for row in rows.mappings()]

    async def count_pending(self) -> int:
        n = await self._connection.scalar(
            select(func.count())
            .select_from(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.applied_at.is_(None))
        )
        return n or 0

    async def decide(self, outcomes: Sequence[Outcome]) -> None:
        """Record what applying these came to."""
        rows = [
            {
                "id": one.id,
                "status": one.status,
                "evidence": one.evidence,
                "reason": one.reason,
                "bank_version": one.bank_version,
                "residual": one.residual,
                "muted": list(one.muted),
                "applied_at": one.applied_at,
            }
            for one in outcomes
        ]
        if rows:
            await self._connection.execute(_DECIDE, rows)

    async def some(self, outcome_ids: Sequence[UUID]) -> list[Outcome]:
        """These outcomes, by id."""
        rows = await self._connection.execute(
            select(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .order_by(outcome.c.id)
        )
        return [_to_outcome(row) for row in rows.mappings()]

    async def supersede(self, outcome_ids: Sequence[UUID], reason: str, now: datetime) -> None:
        """Take outcomes out of effect; those already applied are withdrawn by the applier."""
        await self._connection.execute(
            update(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .values(
                status="superseded",
                reason=reason,
                applied_at=func.coalesce(outcome.c.applied_at, now),
            )
        )

    async def to_withdraw(self) -> list[Outcome]:
        """Outcomes out of effect that still stand in the ledger, in its order."""
        rows = await self._connection.execute(
            select(outcome)
            .where(
                outcome.c.namespace_id == self._namespace_id,
                outcome.c.status == "superseded",
                outcome.c.bank_version.is_not(None),
                outcome.c.withdrawn_version.is_(None),
            )
            .order_by(outcome.c.bank_version)
        )
        return [_to_outcome(row) for row in rows.mappings()]

    async def withdraw(self, outcome_ids: Sequence[UUID], bank_version: int) -> None:
        """The correction of that version took these out of the ledger."""
        await self._connection.execute(
            update(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .values(withdrawn_version=bank_version)
        )

    async def sets(self, since: int = 0) -> list[RowMapping]:
        """The `set` events of memories that the fold replays beside outcomes, from a version of
        the bank on, in the ledger's order.
        """
        rows = await self._connection.execute(
            select(weight_event, memory.c.start_weight)
            .join(memory, memory.c.id == weight_event.c.memory_id)
            .where(
                weight_event.c.namespace_id == self._namespace_id,
                weight_event.c.bank_version >= since,
                weight_event.c.kind == "set",
                weight_event.c.subject == "memory",
                weight_event.c.reason.in_(OPERATIONS),
            )
            .order_by(weight_event.c.bank_version, weight_event.c.position)
        )
        return list(rows.mappings())

    async def in_ledger(self, since: int = 0) -> list[Outcome]:
        """Every outcome that moves a state, from a version of the bank on, in the ledger's order.

        One that is out of effect stands in the ledger until it is withdrawn.
        """
        rows = await self._connection.execute(
            select(outcome)
            .where(
                outcome.c.namespace_id == self._namespace_id,
                outcome.c.bank_version >= since,
                outcome.c.withdrawn_version.is_(None),
            )
            .order_by(outcome.c.bank_version)
        )
        return [_to_outcome(row) for row in rows.mappings()]


# A report may complete the pair of a retrieval that its caller did not name. In the space of two
# numbers, where nobody else locks.
_LOCK_PAIRS = text("""
    WITH runs AS MATERIALIZED (
        SELECT DISTINCT hashtext(agent_id::text || task_id::text) AS run FROM retrieval
        WHERE id = ANY(:ids) ORDER BY run
    ) SELECT pg_advisory_xact_lock(1886413170, run) FROM runs
""")


_LOCK = text("SELECT id FROM retrieval WHERE id = ANY(:ids) ORDER BY id FOR UPDATE")


# In the order in which they are applied: both sides of a pair are written by either.
_LOCK_PENDING = text("""
    SELECT o.id FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
    WHERE o.namespace_id = :ns AND o.applied_at IS NULL AND (r.agent_id, r.task_id) IN (
        SELECT agent_id, task_id FROM retrieval WHERE id = ANY(:ids)
    )
    ORDER BY o.known_at, o.recorded_at, o.position, o.id FOR NO KEY UPDATE OF o
""")


_DECIDE = text("""
    UPDATE outcome SET status = :status, evidence = :evidence, reason = :reason,
        bank_version = :bank_version, residual = :residual, muted = :muted, applied_at = :applied_at
    WHERE id = :id
""")
