"""LedgerStore: the append-only record of every change of a state, seen through one namespace.

What is old enough is closed (`closing.py`): then its beginning is the state that each subject had.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, ScalarSelect, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.fold import Learned
from memory.belief.state_mapping import LedgerEntry, Subject, collect_states
from memory.belief.states import State
from memory.belief.store.states import to_by_ranker
from memory.belief.tables import ledger_closing, weight_event
from memory.kernel.postgres.rows import RowMapper

OPERATIONS = ("created", "edit", "decay")
"""The `set` events that a fold replays; those of a correction only write down what it came to."""


POLICY = "policy"
"""The reason of the `set` event that has a subject's state where the policy was changed."""


CLOSED = "closed"
"""The reason of the `set` event that has a subject's state where the ledger is closed."""


@dataclass(frozen=True, slots=True)
class Closing:
    """Up to which version of the bank the ledger is closed, the newest fact in it, and the last
    correction that withdrew what is closed.
    """

    bank_version: int
    known_at: datetime
    withdrawn_version: int | None
    recorded_at: datetime


OPEN = -1
"""A version before the first: nothing is closed."""


LAST = 2**63 - 1
"""A version that no bank comes to."""


def closed_version(namespace_id: UUID) -> ScalarSelect[int]:
    """The version up to which the ledger of a namespace is closed."""
    last = func.coalesce(func.max(ledger_closing.c.bank_version), OPEN)
    return select(last).where(ledger_closing.c.namespace_id == namespace_id).scalar_subquery()


_to_closing = RowMapper(Closing, [ledger_closing])


class LedgerStore:
    """The ledger of one namespace; rows are added, and taken away only where it is closed."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def append(
        self, entries: Sequence[LedgerEntry], policy: str, now: datetime, *, first: int = 0
    ) -> None:
        """Write entries in their order; positions count within a version of the bank, from
        `first` on.
        """
        rows: list[dict[str, object]] = []
        positions: dict[int, int] = {}
        for entry in entries:
            version = entry.cause.bank_version
            position = positions.get(version, first)
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

    async def hold(self) -> None:
        """Until the end of the transaction nothing more is closed: for who reads all of it."""
        await self._connection.execute(_HOLD, {"name": f"ledger/{self._namespace_id}"})

    async def closing(self) -> Closing | None:
        """Up to where it is closed; None where it is whole."""
        rows = await self._connection.execute(
            select(ledger_closing).where(ledger_closing.c.namespace_id == self._namespace_id)
        )
        found = rows.mappings().first()
        return None if found is None else _to_closing(found)

    async def at(self, bank_version: int) -> Learned:
        """Every state as it was recorded in that version of the bank, which is not closed; where
        the ledger is closed, as it was folded.
        """
        rows = await self._connection.execute(
            _AT, {"ns": self._namespace_id, "version": bank_version}
        )
        return collect_states(
            {
                to_subject(row): State(
                    tuple(row["state_after"]),
                    row["touched_after"],
                    to_by_ranker(row["by_ranker_after"]),
                )
                for row in rows.mappings()
                if row["state_after"]
            }
        )

    async def policy_change(self) -> int | None:
        """The version in which the policy was last changed; None where it never was, or all from
        before is closed.
        """
        return await self._connection.scalar(
            select(func.max(weight_event.c.bank_version)).where(
                weight_event.c.namespace_id == self._namespace_id,
                weight_event.c.kind == "set",
                weight_event.c.reason == POLICY,
                weight_event.c.bank_version > closed_version(self._namespace_id),
            )
        )

    async def policy_at(self, bank_version: int) -> str | None:
        """By which policy the states of that version were learned, which is not closed; None where
        there were none.
        """
        return await self._connection.scalar(
            select(weight_event.c.policy)
            .where(
                weight_event.c.namespace_id == self._namespace_id,
                weight_event.c.bank_version <= bank_version,
                weight_event.c.reason != CLOSED,
            )
            .order_by(weight_event.c.bank_version.desc(), weight_event.c.position.desc())
            .limit(1)
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

        States recorded in a version tell of what was withdrawn later, and not of what a rollback
        had taken and its undoing gave back; a refold starts before either, after the last change of
        the policy or where the ledger begins, and not before the
        version after the closing, whose states are those without it.
        """
        closing = await self.closing()
        closed = OPEN if closing is None else closing.bank_version
        withdrawn = None if closing is None else closing.withdrawn_version
        # States recorded before the policy was changed are those of another policy.
        changed = await self.policy_change() or OPEN
        while bank_version > closed + 1 and bank_version > changed:
            if withdrawn is not None and withdrawn >= bank_version:
                break
            earlier = await self._connection.scalar(
                _EARLIER, {"ns": self._namespace_id, "version": bank_version, "closed": closed}
            )
            if earlier is None:
                return bank_version
            bank_version = earlier
        return closed + 1

    async def supersede(self, outcome_ids: Sequence[UUID], bank_version: int) -> None:
        """Mark the events of these outcomes: a correction in that version took them back."""
        await self._connection.execute(
            update(weight_event)
            .where(weight_event.c.namespace_id == self._namespace_id)
            .where(weight_event.c.outcome_id.in_(outcome_ids))
            .where(weight_event.c.superseded_by.is_(None))
            .values(superseded_by=bank_version)
        )

    async def reinstate(self, outcome_ids: Sequence[UUID]) -> None:
        """The events of these outcomes stand again: what had taken them back was undone."""
        await self._connection.execute(
            update(weight_event)
            .where(weight_event.c.namespace_id == self._namespace_id)
            .where(weight_event.c.outcome_id.in_(outcome_ids))
            .values(superseded_by=None)
        )

    async def everything(self) -> list[RowMapping]:
        """The whole ledger in order; for the rebuild and its test."""
        rows = await self._connection.execute(
            select(weight_event)
            .where(weight_event.c.namespace_id == self._namespace_id)
            .order_by(weight_event.c.bank_version, weight_event.c.position)
        )
        return list(rows.mappings())


_HOLD = text("SELECT pg_advisory_xact_lock_shared(hashtextextended(:name, 0))")


# Of what is closed only the closing itself counts: the rest waits for its removal.
_AT = text("""
    SELECT DISTINCT ON (subject, memory_id, agent_id, party_id, category_id, reward_kind, day)
        subject, memory_id, agent_id, party_id, category_id, reward_kind, day, state_after,
        by_ranker_after, touched_after
    FROM weight_event WHERE namespace_id = :ns AND bank_version <= :version
      AND (reason = 'closed') = (bank_version <= coalesce(
        (SELECT max(bank_version) FROM ledger_closing WHERE namespace_id = :ns), -1))
    ORDER BY subject, memory_id, agent_id, party_id, category_id, reward_kind, day,
        bank_version DESC, position DESC
""")


_EARLIER = text("""
    SELECT min(version) FROM (
        SELECT min(bank_version) AS version FROM weight_event
        WHERE namespace_id = :ns AND superseded_by >= :version AND bank_version < :version
        UNION ALL
        SELECT min(first_version) FROM rollback
        WHERE namespace_id = :ns AND first_version < :version AND bank_version < :version
          AND undone_version >= :version
    ) AS earlier WHERE version > :closed
""")


def to_subject(row: RowMapping) -> Subject:
    """Whose state a row of the ledger has."""
    return Subject(
        row["subject"],
        memory_id=row["memory_id"],
        agent_id=row["agent_id"],
        party_id=row["party_id"],
        category_id=row["category_id"],
        reward_kind=row["reward_kind"],
        day=row["day"],
    )
