"""LedgerStore: the append-only record of every change of a state, seen through one namespace."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.fold import Learned
from memory.belief.state_mapping import LedgerEntry, Subject, collect_states
from memory.belief.states import State
from memory.belief.store.states import to_by_ranker
from memory.belief.tables import weight_event

OPERATIONS = ("created", "edit", "decay")
"""The `set` events that a fold replays; those of a correction only write down what it came to."""


class LedgerStore:
    """The ledger of one namespace; rows are added, never taken away."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def append(self, entries: Sequence[LedgerEntry], policy: str, now: datetime) -> None:
        """Write entries in their order; positions count within a version of the bank."""
        rows: list[dict[str, object]] = []
        positions: dict[int, int] = {}
        for entry in entries:
            version = entry.cause.bank_version
            position = positions.get(version, 0)
            positions[version] = position + 1
            rows.append(self._to_row(entry, position, policy, now))
        if rows:
            await self._connection.execute(insert(weight_event), rows)

    def _to_row(
        self, entry: LedgerEntry, position: int, policy: str, now: datetime
    ) -> dict[str, object]:
        subject, before, after = entry.change.subject, entry.change.before, entry.change.after
        return {
            "namespace_id": self._namespace_id,
            "bank_version": entry.cause.bank_version,
            "position": position,
            "subject": subject.kind,
            **subject.columns,
            "kind": entry.cause.kind,
            "reason": entry.cause.reason,
            "policy": policy,
            "state_before": None if before is None else list(before.values),
            "state_after": [] if after is None else list(after.values),
            "by_ranker_before": None if before is None else dict(before.by_ranker) or None,
            "by_ranker_after": None if after is None else dict(after.by_ranker) or None,
            "touched_before": None if before is None else before.touched,
            "touched_after": None if after is None else after.touched,
            "weight_before": entry.weight_before,
            "weight_after": entry.weight_after,
            "outcome_id": entry.cause.outcome_id,
            "known_at": entry.cause.known_at,
            "recorded_at": now,
        }

    async def at(self, bank_version: int) -> Learned:
        """Every state as it was recorded in that version of the bank."""
        rows = await self._connection.execute(
            _AT, {"ns": self._namespace_id, "version": bank_version}
        )
        return collect_states(
            {
                _to_subject(row): State(
                    tuple(row["state_after"]),
                    row["touched_after"],
                    to_by_ranker(row["by_ranker_after"]),
                )
                for row in rows.mappings()
                if row["state_after"]
            }
        )

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


def _to_subject(row: RowMapping) -> Subject:
    return Subject(
        row["subject"],
        memory_id=row["memory_id"],
        agent_id=row["agent_id"],
        category_id=row["category_id"],
        reward_kind=row["reward_kind"],
        day=row["day"],
    )
