"""RollbackStore: what came from a source, withdrawn and given back, within one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.tables import rollback
from memory.erasure.entities import RollbackRecord
from memory.kernel.errors import NotFound
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.paging import page_by_id
from memory.memories.entities import Status


@dataclass(frozen=True, slots=True)
class RollbackSource:
    """An agent, a key, or an agent through a key; recorded from `since` and before `until`."""

    agent_id: UUID | None
    key_id: UUID | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class TakenState:
    """How an outcome or a memory stood before a rollback."""

    id: UUID
    status: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class TakenSupport:
    """What stopped proving something: verdicts on runs, contrasts of them, pieces of support; and
    the constraints that rested on them.
    """

    runs: tuple[UUID, ...] = ()
    contrasts: tuple[UUID, ...] = ()
    pieces: tuple[UUID, ...] = ()
    weakened: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class TakenParts:
    """All that a rollback took, so that it can be given back."""

    outcomes: tuple[TakenState, ...] = ()
    memories: tuple[TakenState, ...] = ()
    support: TakenSupport = TakenSupport()

    def to_document(self) -> dict[str, object]:
        """As it is stored; ids are texts."""
        states = {
            name: [[str(one.id), one.status, one.reason] for one in taken]
            for name, taken in (("outcomes", self.outcomes), ("memories", self.memories))
        }
        named = {
            "runs": self.support.runs,
            "contrasts": self.support.contrasts,
            "pieces": self.support.pieces,
            "weakened": self.support.weakened,
        }
        return {**states, **{name: [str(one) for one in ids] for name, ids in named.items()}}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "TakenParts":
        """What `to_document` wrote."""

        def states(name: str) -> tuple[TakenState, ...]:
            return tuple(TakenState(UUID(i), status, why) for i, status, why in stored[name])

        def ids(name: str) -> tuple[UUID, ...]:
            return tuple(UUID(one) for one in stored[name])

        support = TakenSupport(ids("runs"), ids("contrasts"), ids("pieces"), ids("weakened"))
        return cls(states("outcomes"), states("memories"), support)


class RollbackStore:
    """Everything that came from a source and still counts."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def list_outcomes(self, source: RollbackSource) -> list[UUID]:
        """Outcomes of the agent's retrievals, reported by the key or made with a half that it
        reported, by id: those in effect and not closed, and those that may still make a pair.
        """
        return await self._ids(_OUTCOMES, source)

    async def list_memories(self, source: RollbackSource) -> list[UUID]:
        """Living memories that are not pinned, written by the agent, through the key, by id."""
        return await self._ids(_MEMORIES, source)

    async def list_runs(self, source: RollbackSource) -> list[UUID]:
        """Runs of the agent, brought through the key, whose verdicts still stand, by id."""
        return await self._ids(_RUNS, source)

    async def list_words(self, source: RollbackSource) -> list[UUID]:
        """Support that is a word of the source and still counts, by id."""
        return await self._ids(_WORDS, source)

    async def list_supported(self, runs: Sequence[UUID], words: Sequence[UUID]) -> list[UUID]:
        """Constraints for which contrasts of these runs count, or these words, by id."""
        values = {"ns": self._namespace_id, "runs": list(runs), "words": list(words)}
        rows = await self._connection.execute(_SUPPORTED, values)
        return [row.id for row in rows]

    async def withdraw_support(
        self, runs: Sequence[UUID], words: Sequence[UUID], now: datetime
    ) -> TakenSupport:
        """The verdicts on these runs stand no more, and what rests on them or on these words counts
        no more; what that took.
        """
        values = {"ns": self._namespace_id, "runs": list(runs), "words": list(words)}
        withdrawn = await self._connection.execute(_WITHDRAW_RUNS, values | {"now": now})
        contrasts = await self._connection.execute(_WITHDRAW_CONTRASTS, values)
        pieces = await self._connection.execute(_WITHDRAW_PIECES, values)
        return TakenSupport(
            tuple(sorted(row.id for row in withdrawn)),
            tuple(sorted(row.id for row in contrasts)),
            tuple(sorted(row.id for row in pieces)),
        )

    async def list_memory_states(self, memory_ids: Sequence[UUID]) -> tuple[TakenState, ...]:
        """How these memories stand, by id; held until commit, in id order, against deadlock."""
        here = {"ns": self._namespace_id, "ids": list(memory_ids)}
        rows = await self._connection.execute(_MEMORY_STATES, here)
        return tuple(TakenState(row.id, row.status, row.status_reason) for row in rows)

    async def _ids(self, statement: str, source: RollbackSource) -> list[UUID]:
        values = {
            "ns": self._namespace_id,
            "agent_id": source.agent_id,
            "key_id": source.key_id,
            "since": source.since,
            "until": source.until,
        }
        rows = await self._connection.execute(text(statement), values)
        return [row.id for row in rows]


_OUTCOMES = """
    SELECT o.id FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
    LEFT JOIN outcome half ON half.id = o.partner_id
    WHERE o.namespace_id = :ns AND (o.status IN ('accepted', 'applied') OR o.status = 'ignored'
          AND o.reason IN ('half_missing', 'observational', 'half_of_pair'))
      AND (CAST(:agent_id AS uuid) IS NULL OR r.agent_id = :agent_id)
      AND (CAST(:key_id AS uuid) IS NULL OR o.key_id = :key_id
          OR half.key_id = :key_id)
      AND (CAST(:since AS timestamptz) IS NULL OR o.recorded_at >= :since)
      AND (CAST(:until AS timestamptz) IS NULL OR o.recorded_at < :until)
      AND NOT EXISTS (SELECT FROM ledger_closing l
          WHERE l.namespace_id = :ns AND l.bank_version >= o.bank_version)
    ORDER BY o.id
"""


_MEMORIES = """
    SELECT m.id FROM memory m
    WHERE m.namespace_id = :ns AND m.status NOT IN ('retired', 'rejected')
      AND m.erased_at IS NULL AND NOT m.pinned
      AND (CAST(:agent_id AS uuid) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:key_id AS uuid) IS NULL OR m.key_id = :key_id)
      AND (CAST(:since AS timestamptz) IS NULL OR m.recorded_at >= :since)
      AND (CAST(:until AS timestamptz) IS NULL OR m.recorded_at < :until)
    ORDER BY m.id
"""


_RUNS = """
    SELECT t.id FROM trajectory t
    WHERE t.namespace_id = :ns AND t.withdrawn_at IS NULL AND t.verifier <> 'none'
      AND (CAST(:agent_id AS uuid) IS NULL OR t.agent_id = :agent_id)
      AND (CAST(:key_id AS uuid) IS NULL OR t.key_id = :key_id)
      AND (CAST(:since AS timestamptz) IS NULL OR t.recorded_at >= :since)
      AND (CAST(:until AS timestamptz) IS NULL OR t.recorded_at < :until)
    ORDER BY t.id
"""


_WORDS = """
    SELECT s.id FROM constraint_support s
    WHERE s.namespace_id = :ns AND s.contrast_id IS NULL AND s.counts
      AND (CAST(:agent_id AS uuid) IS NULL OR s.preferred_agent_id = :agent_id)
      AND (CAST(:key_id AS uuid) IS NULL OR s.preferred_key_id = :key_id)
      AND (CAST(:since AS timestamptz) IS NULL OR s.recorded_at >= :since)
      AND (CAST(:until AS timestamptz) IS NULL OR s.recorded_at < :until)
    ORDER BY s.id
"""


_OF_RUNS = """SELECT id FROM contrast WHERE namespace_id = :ns AND (
    preferred_id = ANY(CAST(:runs AS uuid[])) OR unpreferred_id = ANY(CAST(:runs AS uuid[])))"""


_RESTING = f"""namespace_id = :ns AND counts AND (
    contrast_id IN ({_OF_RUNS}) OR id = ANY(CAST(:words AS uuid[])))"""


_SUPPORTED = text(
    f"SELECT DISTINCT memory_id AS id FROM constraint_support WHERE {_RESTING} ORDER BY memory_id"  # noqa: S608 - constants
)


_WITHDRAW_RUNS = text("""
    UPDATE trajectory SET withdrawn_at = :now
    WHERE namespace_id = :ns AND id = ANY(CAST(:runs AS uuid[]))
    RETURNING id
""")


_WITHDRAW_CONTRASTS = text(f"""
    UPDATE contrast SET supports = false, reason = 'rolled_back'
    WHERE supports AND id IN ({_OF_RUNS}) RETURNING id
""")  # noqa: S608 - the constant above


_WITHDRAW_PIECES = text(
    f"UPDATE constraint_support SET counts = false WHERE {_RESTING} RETURNING id"  # noqa: S608 - constants
)


_MEMORY_STATES = text("""
    SELECT id, status, status_reason FROM memory
    WHERE namespace_id = :ns AND id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE
""")


@dataclass(frozen=True, slots=True)
class NewRollback:
    """A rollback as it enters the record."""

    id: UUID
    source: Mapping[str, object]
    taken: TakenParts
    first_version: int | None
    bank_version: int


@dataclass(frozen=True, slots=True)
class KeptRollback:
    """A rollback on record, with all that it took."""

    id: UUID
    recorded_at: datetime
    taken: TakenParts
    first_version: int | None
    undone_at: datetime | None


class UndoStore:
    """The rollbacks on record, and what gives back what one took; rows are added, never taken
    away.
    """

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add(self, new: NewRollback, key_id: UUID, now: datetime) -> None:
        await self._connection.execute(
            insert(rollback).values(
                id=new.id,
                namespace_id=self._namespace_id,
                key_id=key_id,
                source=dict(new.source),
                taken=new.taken.to_document(),
                first_version=new.first_version,
                bank_version=new.bank_version,
                recorded_at=now,
            )
        )

    async def browse(self, page: Page) -> Listed[RollbackRecord]:
        """The newest first."""
        here = rollback.c.namespace_id == self._namespace_id
        rows = page_by_id(select(rollback).where(here), rollback.c.id, page, newest_first=True)
        newest = await self.newest()
        found = [
            _to_record(row, newest) for row in (await self._connection.execute(rows)).mappings()
        ]
        total = await self._connection.scalar(
            select(func.count()).select_from(rollback).where(here)
        )
        return listed(found, page, total or 0, lambda one: (str(one.id),))

    async def get(self, rollback_id: UUID) -> KeptRollback:
        """Raises NotFound where there is no such rollback here."""
        rows = await self._connection.execute(
            select(rollback).where(
                rollback.c.namespace_id == self._namespace_id, rollback.c.id == rollback_id
            )
        )
        row = rows.mappings().first()
        if row is None:
            raise NotFound(
                f"no such rollback: {rollback_id}", code="rollback_not_found", field="rollback_id"
            )
        return _to_kept(row)

    async def newest(self) -> UUID | None:
        """The newest rollback that was not undone."""
        return await self._connection.scalar(
            select(rollback.c.id)
            .where(rollback.c.namespace_id == self._namespace_id, rollback.c.undone_at.is_(None))
            .order_by(rollback.c.id.desc())
            .limit(1)
        )

    async def list_overtaken(self, kept: KeptRollback) -> list[UUID]:
        """Outcomes that it took whose run was reported, or paired, otherwise since; by id."""
        values = {
            "ns": self._namespace_id,
            "ids": [one.id for one in kept.taken.outcomes],
            "since": kept.recorded_at,
        }
        return list(await self._connection.scalars(_OVERTAKEN, values))

    async def was_erased_since(self, moment: datetime) -> bool:
        """Whether something was erased here since then."""
        here = {"ns": self._namespace_id, "since": moment}
        return bool(await self._connection.scalar(_ERASED_SINCE, here))

    async def give_back_outcomes(self, taken: Sequence[TakenState]) -> None:
        """Each stands again as it did; what was applied stands in the ledger where it stood."""
        for one in taken:
            values = {"ns": self._namespace_id, "id": one.id}
            values |= {"status": one.status, "reason": one.reason}
            await self._connection.execute(_GIVE_BACK_OUTCOME, values)

    async def give_back_support(self, taken: TakenSupport) -> None:
        """The verdicts on the runs stand again, and what rests on them counts."""
        here = {"ns": self._namespace_id}
        for statement, ids in (
            (_GIVE_BACK_RUNS, taken.runs),
            (_GIVE_BACK_CONTRASTS, taken.contrasts),
            (_GIVE_BACK_PIECES, taken.pieces),
        ):
            await self._connection.execute(statement, here | {"ids": list(ids)})

    async def list_still_retired(self, memory_ids: Sequence[UUID]) -> list[UUID]:
        """Those of them that are as the rollback left them, by id; held until commit."""
        here = {"ns": self._namespace_id, "ids": list(memory_ids), "retired": Status.RETIRED}
        return list(await self._connection.scalars(_STILL_RETIRED, here))

    async def note_undone(
        self, rollback_id: UUID, bank_version: int, key_id: UUID, now: datetime
    ) -> None:
        await self._connection.execute(
            update(rollback)
            .where(rollback.c.namespace_id == self._namespace_id, rollback.c.id == rollback_id)
            .values(undone_version=bank_version, undone_at=now, undone_by=key_id)
        )


def _to_kept(row: RowMapping) -> KeptRollback:
    return KeptRollback(
        row["id"],
        row["recorded_at"],
        TakenParts.read(row["taken"]),
        row["first_version"],
        row["undone_at"],
    )


def _to_record(row: RowMapping, newest: UUID | None) -> RollbackRecord:
    taken = TakenParts.read(row["taken"])
    source: Mapping[str, Any] = row["source"]
    return RollbackRecord(
        id=row["id"],
        agent=source.get("agent"),
        key_id=None if source.get("key_id") is None else UUID(source["key_id"]),
        claims=source.get("claims"),
        since=_moment(source.get("since")),
        until=_moment(source.get("until")),
        outcomes=len(taken.outcomes),
        memories=len(taken.memories),
        trajectories=len(taken.support.runs),
        weakened=len(taken.support.weakened),
        bank_version=row["bank_version"],
        recorded_at=row["recorded_at"],
        recorded_by=row["key_id"],
        undone_at=row["undone_at"],
        undone_by=row["undone_by"],
        can_undo=row["id"] == newest,
    )


def _moment(stored: str | None) -> datetime | None:
    return None if stored is None else datetime.fromisoformat(stored)


_OVERTAKEN = text("""
    SELECT o.id FROM outcome o WHERE o.namespace_id = :ns AND o.id = ANY(:ids) AND EXISTS (
        SELECT FROM outcome x
        WHERE x.namespace_id = :ns AND NOT x.id = ANY(:ids)
          AND (x.retrieval_id = o.retrieval_id
               AND (x.recorded_at >= :since OR x.status IN ('accepted', 'applied'))
            OR x.partner_id = o.partner_id AND x.status IN ('accepted', 'applied')))
    ORDER BY o.id
""")


_ERASED_SINCE = text("""
    SELECT EXISTS (SELECT FROM audit
        WHERE namespace_id = :ns AND action = 'erase' AND recorded_at >= :since)
""")


# What was never applied waits again.
_GIVE_BACK_OUTCOME = text("""
    UPDATE outcome SET status = :status, reason = :reason, withdrawn_version = NULL,
        applied_at = CASE WHEN :status = 'accepted' THEN NULL ELSE applied_at END
    WHERE namespace_id = :ns AND id = :id
""")


_GIVE_BACK_RUNS = text("""
    UPDATE trajectory SET withdrawn_at = NULL WHERE namespace_id = :ns AND id = ANY(:ids)
""")


_GIVE_BACK_CONTRASTS = text("""
    UPDATE contrast SET supports = true, reason = NULL
    WHERE namespace_id = :ns AND id = ANY(:ids) AND reason = 'rolled_back'
""")


_GIVE_BACK_PIECES = text("""
    UPDATE constraint_support SET counts = true WHERE namespace_id = :ns AND id = ANY(:ids)
""")


_STILL_RETIRED = text("""
    SELECT id FROM memory
    WHERE namespace_id = :ns AND id = ANY(:ids) AND erased_at IS NULL
      AND status = :retired AND status_reason = 'rolled_back'
    ORDER BY id FOR NO KEY UPDATE
""")
