"""OutcomeStore: what became of attempts, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
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
from memory.memories.tables import memory
from memory.receipts.entities import Outcome, OutcomeFilter
from memory.receipts.store.filtering import turned
from memory.receipts.tables import outcome


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """An outcome with what only the applier and replays need to know."""

    outcome: Outcome
    sha256: bytes
    authored: tuple[UUID, ...]
    numeric: tuple[float, float] | None
    ranker_rewards: Mapping[str, float] | None
    key_id: UUID | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What applying an outcome came to; `bank_version` None where nothing moved."""

    outcome_id: UUID
    status: str
    evidence: str
    reason: str | None
    bank_version: int | None
    residual: float | None = None
    muted: Sequence[UUID] = ()


class OutcomeStore:
    """Outcomes of one namespace. A unique index keeps one effective outcome a retrieval."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add(self, rows: Sequence[Mapping[str, object]]) -> None:
        await self._connection.execute(
            insert(outcome), [{**row, "namespace_id": self._namespace_id} for row in rows]
        )

    async def of_retrievals(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, list[StoredOutcome]]:
        """All outcomes of these retrievals, each list in order of arrival."""
        rows = await self._connection.execute(
            select(outcome)
            .where(
                outcome.c.namespace_id == self._namespace_id,
                outcome.c.retrieval_id.in_(retrieval_ids),
            )
            .order_by(outcome.c.id)
        )
        found: dict[UUID, list[StoredOutcome]] = {}
        for row in rows.mappings():
            found.setdefault(row["retrieval_id"], []).append(stored_outcome(row))
        return found

    async def lock_retrievals(self, retrieval_ids: Sequence[UUID]) -> None:
        """Reports for one retrieval follow one another, and so do those for runs that may make a
        pair: of one agent on one task. Locked in order, against deadlock.
        """
        ids = {"ids": sorted(retrieval_ids)}
        await self._connection.execute(_LOCK_PAIRS, ids)
        await self._connection.execute(_LOCK, ids)

    async def get(self, outcome_id: UUID) -> Outcome:
        rows = await self._connection.execute(
            select(outcome).where(
                outcome.c.namespace_id == self._namespace_id, outcome.c.id == outcome_id
            )
        )
        found = rows.mappings().first()
        if found is None:
            raise NotFound("no such outcome", code="outcome_not_found", field="outcome_id")
        return stored_outcome(found).outcome

    async def browse(self, wanted: OutcomeFilter, page: Page) -> tuple[list[Outcome], int]:
        """Oldest first, one row more than the page; and how many match."""
        condition: ColumnElement[bool] = outcome.c.namespace_id == self._namespace_id
        if wanted.state is not None:
            condition &= outcome.c.status == wanted.state
        if wanted.retrieval_id is not None:
            condition &= outcome.c.retrieval_id == wanted.retrieval_id
        rows = turned(select(outcome).where(condition), outcome.c.id, page, wanted.newest_first)
        found = [
            stored_outcome(r).outcome for r in (await self._connection.execute(rows)).mappings()
        ]
        total = await self._connection.scalar(
            select(func.count()).select_from(outcome).where(condition)
        )
        return found, total or 0

    async def pending(self, limit: int) -> list[StoredOutcome]:
        """Outcomes awaiting application, in the order in which they are to be applied.

        Held until commit, so that none is superseded while it is being applied.
        """
        rows = await self._connection.execute(
            select(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.applied_at.is_(None))
            .order_by(outcome.c.known_at, outcome.c.recorded_at, outcome.c.position, outcome.c.id)
            .limit(limit)
            .with_for_update()
        )
        return [stored_outcome(row) for row in rows.mappings()]

    async def count_pending(self) -> int:
        n = await self._connection.scalar(
            select(func.count())
            .select_from(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.applied_at.is_(None))
        )
        return n or 0

    async def decide(self, decisions: Sequence[Decision], now: datetime) -> None:
        """Write down what applying came to."""
        rows = [
            {
                "id": decision.outcome_id,
                "status": decision.status,
                "evidence": decision.evidence,
                "reason": decision.reason,
                "bank_version": decision.bank_version,
                "residual": decision.residual,
                "muted": sorted(decision.muted),
                "now": now,
            }
            for decision in decisions
        ]
        if rows:
            await self._connection.execute(_DECIDE, rows)

    async def some(self, outcome_ids: Sequence[UUID]) -> list[StoredOutcome]:
        """These outcomes, by id."""
        rows = await self._connection.execute(
            select(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .order_by(outcome.c.id)
        )
        return [stored_outcome(row) for row in rows.mappings()]

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

    async def to_withdraw(self) -> list[StoredOutcome]:
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
        return [stored_outcome(row) for row in rows.mappings()]

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

    async def in_ledger(self, since: int = 0) -> list[StoredOutcome]:
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
        return [stored_outcome(row) for row in rows.mappings()]


# A report may complete the pair of a retrieval that its caller did not name. In the space of two
# numbers, where nobody else locks.
_LOCK_PAIRS = text("""
    WITH runs AS MATERIALIZED (
        SELECT DISTINCT hashtext(agent_id::text || task_id::text) AS run FROM retrieval
        WHERE id = ANY(:ids) ORDER BY run
    ) SELECT pg_advisory_xact_lock(1886413170, run) FROM runs
""")


_LOCK = text("SELECT id FROM retrieval WHERE id = ANY(:ids) ORDER BY id FOR UPDATE")


_DECIDE = text("""
    UPDATE outcome SET status = :status, evidence = :evidence, reason = :reason,
        bank_version = :bank_version, residual = :residual, muted = :muted, applied_at = :now
    WHERE id = :id
""")


def _by_ranker(rewards: Mapping[str, float]) -> dict[str, float]:
    """Numbers as JSON kept them: one without a fraction comes back whole."""
    return {ranker: float(reward) for ranker, reward in rewards.items()}


def stored_outcome(row: RowMapping | Mapping[str, Any]) -> StoredOutcome:
    """A row as it was read, or as it is about to be written."""
    lists = {"helpful", "harmful", "muted"}
    plain = {name: row[name] for name in Outcome.__slots__ if name not in lists}
    numeric, rewards = row["numeric"], row["ranker_rewards"]
    return StoredOutcome(
        Outcome(**{name: tuple(row[name]) for name in lists}, **plain),
        sha256=bytes(row["sha256"]),
        authored=tuple(row["authored"]),
        numeric=None if numeric is None else (numeric[0], numeric[1]),
        ranker_rewards=None if rewards is None else _by_ranker(rewards),
        key_id=row["key_id"],
    )
