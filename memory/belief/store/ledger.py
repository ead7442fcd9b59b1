"""LedgerStore: the append-only record of every change of a state, seen through one namespace."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.store.states import Stored, Subject, by_ranker
from memory.belief.tables import weight_event


@dataclass(frozen=True, slots=True)
class Step:
    """One state's change in one version of the bank; `after` None: it is at its start again."""

    bank_version: int
    subject: Subject
    kind: str
    reason: str
    before: Stored | None
    after: Stored | None
    weights: tuple[float | None, float | None]
    outcome_id: UUID | None
    known_at: datetime


OPERATIONS = ("created", "edit", "decay")
"""The `set` events that a fold replays; those of a correction only write down what it came to."""


class LedgerStore:
    """The ledger of one namespace; rows are added, never taken away."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def append(self, steps: Sequence[Step], policy: str, now: datetime) -> None:
        """Write steps in their order; positions count within a version of the bank."""
        rows: list[dict[str, object]] = []
        positions: dict[int, int] = {}
        for step in steps:
            position = positions.get(step.bank_version, 0)
            positions[step.bank_version] = position + 1
            rows.append(self._row(step, position, policy, now))
        if rows:
            await self._connection.execute(insert(weight_event), rows)

    def _row(self, step: Step, position: int, policy: str, now: datetime) -> dict[str, object]:
        before, after = step.before, step.after
        return {
            "namespace_id": self._namespace_id,
            "bank_version": step.bank_version,
            "position": position,
            "subject": step.subject.kind,
            "memory_id": step.subject.memory_id,
            "agent_id": step.subject.agent_id,
            "category_id": step.subject.category_id,
            "reward_kind": step.subject.reward_kind,
            "day": step.subject.day,
            "kind": step.kind,
            "reason": step.reason,
            "policy": policy,
            "state_before": None if before is None else list(before.values),
            "state_after": [] if after is None else list(after.values),
            "by_ranker_before": None if before is None else dict(before.by_ranker) or None,
            "by_ranker_after": None if after is None else dict(after.by_ranker) or None,
            "touched_before": None if before is None else before.touched_at,
            "touched_after": None if after is None else after.touched_at,
            "weight_before": step.weights[0],
            "weight_after": step.weights[1],
            "outcome_id": step.outcome_id,
            "known_at": step.known_at,
            "recorded_at": now,
        }

    async def at(self, bank_version: int) -> dict[Subject, Stored]:
        """Every state as it was recorded in that version of the bank."""
        rows = await self._connection.execute(
            _AT, {"ns": self._namespace_id, "version": bank_version}
        )
        return {
            _subject(row): Stored(
                tuple(row["state_after"]), row["touched_after"], by_ranker(row["by_ranker_after"])
            )
            for row in rows.mappings()
            if row["state_after"]
        }

    async def known_at(self, bank_version: int) -> datetime | None:
        """The newest fact that the states of that version knew."""
        return await self._connection.scalar(
            select(func.max(weight_event.c.known_at)).where(
                weight_event.c.namespace_id == self._namespace_id,
                weight_event.c.bank_version <= bank_version,
            )
        )

    async def settled_before(self, bank_version: int) -> int:
        """The last version before which nothing that was withdrawn by then still shows.

        States recorded in a version tell of what was withdrawn later; a refold starts before it.
        """
        while True:
            earlier = await self._connection.scalar(
                _EARLIER, {"ns": self._namespace_id, "version": bank_version}
            )
            if earlier is None:
                return bank_version
            bank_version = earlier

    async def supersede(self, outcome_ids: Sequence[UUID], bank_version: int) -> None:
        """Mark the events of these outcomes: a correction in that version took them back."""
        await self._connection.execute(
            update(weight_event)
            .where(weight_event.c.namespace_id == self._namespace_id)
            .where(weight_event.c.outcome_id.in_(outcome_ids))
            .where(weight_event.c.superseded_by.is_(None))
            .values(superseded_by=bank_version)
        )

    async def everything(self) -> list[RowMapping]:
        """The whole ledger in order; for the rebuild and its test."""
        rows = await self._connection.execute(
            select(weight_event)
            .where(weight_event.c.namespace_id == self._namespace_id)
            .order_by(weight_event.c.bank_version, weight_event.c.position)
        )
        return list(rows.mappings())


_AT = text("""
    SELECT DISTINCT ON (subject, memory_id, agent_id, category_id, reward_kind, day)
        subject, memory_id, agent_id, category_id, reward_kind, day, state_after, by_ranker_after,
        touched_after
    FROM weight_event WHERE namespace_id = :ns AND bank_version <= :version
    ORDER BY subject, memory_id, agent_id, category_id, reward_kind, day,
        bank_version DESC, position DESC
""")


_EARLIER = text("""
    SELECT min(bank_version) FROM weight_event
    WHERE namespace_id = :ns AND superseded_by >= :version AND bank_version < :version
""")


def _subject(row: RowMapping) -> Subject:
    names = ("memory_id", "agent_id", "category_id", "reward_kind", "day")
    return Subject(row["subject"], **{name: row[name] for name in names})
