"""StatusStore: memories on their way into use and out of it, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import column, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Statement, UniqueTextTaken
from memory.kernel.postgres.rows import RowMapper
from memory.memories.entities import Status, Trust
from memory.memories.store.memories import MemoryStore, Stamp
from memory.memories.tables import LIVING, memory
from memory.tasks.entities import CategoryIds

OUT_OF_USE = (Status.SUSPENDED, Status.RETIRED, Status.REJECTED)


CANDIDATES = (Status.PROPOSED, Status.VERIFYING)


@dataclass(frozen=True, slots=True)
class NearMemory:
    """A memory whose texts lie near: `cosine` is the smaller one of situation and lesson."""

    id: UUID
    status: Status
    situation: str
    lesson: str
    cosine: float


@dataclass(frozen=True, slots=True)
class StatusTransition:
    """A change of status: from any of these to that. `learned_at` and `trust` None stay."""

    was: Sequence[Status]
    to: Status
    reason: str | None
    learned_at: datetime | None = None
    trust: Trust | None = None

    def values(self) -> dict[str, object]:
        given = {"learned_at": self.learned_at, "trust": self.trust}
        kept = {name: value for name, value in given.items() if value is not None}
        return {"status": self.to, "status_reason": self.reason, **kept}


@dataclass(frozen=True, slots=True)
class Living:
    """A living memory as retirement sees it. `credited` counts from its last return, and returning
    is a use: who restores a memory gives it another chance.
    """

    id: UUID
    status: Status
    pinned: bool
    credited: int
    last_used: datetime


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a memory came from, as ids."""

    agent_id: UUID
    category_ids: CategoryIds
    source_group: str


# The statement has no table of these columns.
_to_living = RowMapper(
    Living, [column(name) for name in ("id", "status", "pinned", "credited", "last_used")]
)


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """A memory that keeps its words until the transaction ends, or has lost them: in which version
    of the bank it was last changed, which version of its text it has, and how it stands.
    """

    id: UUID
    status: Status
    trust: Trust
    version: int
    pinned: bool
    bank_version: int
    erased_at: datetime | None

    def is_gone(self, since: int) -> bool:
        """Whether it was erased, or taken out of use after this version of the bank."""
        out = self.status in OUT_OF_USE or self.trust is Trust.QUARANTINED
        return self.erased_at is not None or (out and self.bank_version > since)


_to_held = RowMapper(HeldMemory, [memory])


def require_held(namespace_id: UUID, since: Mapping[UUID, int]) -> Statement:
    """Holds memories as `StatusStore.hold` does, each with the version of the bank in which it was
    found; the transaction fails where one is gone since (`HeldMemory.is_gone`).
    """
    values = {
        "ns": namespace_id,
        "ids": list(since),
        "since": list(since.values()),
        "out": [status.value for status in OUT_OF_USE],
        "found": len(since),
    }
    return Statement(_REQUIRE_HELD, values)


_REQUIRE_HELD = b"""
    WITH held AS MATERIALIZED (
        SELECT id, status, trust, bank_version, erased_at FROM memory
        WHERE namespace_id = %(ns)s AND id = ANY(%(ids)s::uuid[])
        ORDER BY id FOR KEY SHARE
    )
    SELECT 1 / (count(*) = %(found)s AND NOT coalesce(bool_or(
        h.erased_at IS NOT NULL OR (h.bank_version > f.since
            AND (h.status = ANY(%(out)s::text[]) OR h.trust = 'quarantined'))), false))::int AS held
    FROM held h JOIN unnest(%(ids)s::uuid[], %(since)s::bigint[]) AS f (id, since) ON f.id = h.id
"""


class StatusStore:
    """Statuses, trust and near twins in one namespace. Nothing here commits."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def hold(self, memory_ids: Sequence[UUID]) -> list[HeldMemory]:
        """These as they stand; whoever erases one waits. In id order, against deadlock."""
        rows = await self._connection.execute(
            select(*_to_held.columns)
            .where(memory.c.namespace_id == self._namespace_id, memory.c.id.in_(memory_ids))
            .order_by(memory.c.id)
            .with_for_update(read=True, key_share=True)
        )
        return [_to_held(row) for row in rows.mappings()]

    async def move(
        self, memory_ids: Sequence[UUID], transition: StatusTransition, stamp: Stamp
    ) -> list[UUID]:
        """Change the status of those that still have one of the old ones; returns which.

        Raises UniqueTextTaken where another living memory has the text.
        """
        statement = (
            update(memory)
            .where(memory.c.namespace_id == self._namespace_id, memory.c.id.in_(memory_ids))
            .where(memory.c.status.in_(transition.was), memory.c.erased_at.is_(None))
            .values(bank_version=stamp.bank_version, **transition.values())
            .returning(memory.c.id)
        )
        try:
            async with self._connection.begin_nested():
                moved = sorted(row.id for row in await self._connection.execute(statement))
        except IntegrityError as fault:
            raise UniqueTextTaken from fault
        if moved:
            store = MemoryStore(self._connection, self._namespace_id)
            await store.feed(stamp, transition.to.value, moved)
        return moved

    async def set_trust(self, memory_id: UUID, trust: Trust, stamp: Stamp, *, was: Trust) -> bool:
        """False where it no longer has the trust that it had."""
        done = await self._connection.execute(
            update(memory)
            .where(memory.c.namespace_id == self._namespace_id, memory.c.id == memory_id)
            .where(memory.c.trust == was, memory.c.erased_at.is_(None))
            .values(trust=trust, bank_version=stamp.bank_version)
        )
        if done.rowcount:
            store = MemoryStore(self._connection, self._namespace_id)
            await store.feed(stamp, "trust", [memory_id])
        return done.rowcount > 0

    async def get_origin(self, memory_id: UUID) -> Origin:
        """Raises NotFound where there is no such memory."""
        rows = await self._connection.execute(
            select(memory).where(
                memory.c.namespace_id == self._namespace_id, memory.c.id == memory_id
            )
        )
        row = rows.mappings().first()
        if row is None:
            raise NotFound(f"no such memory: {memory_id}", code="memory_not_found", field="id")
        ids = CategoryIds(row["category_id"], row["subcategory_id"])
        return Origin(row["agent_id"], ids, row["source_group"])

    async def list_on_probation(self) -> list[tuple[UUID, int]]:
        """Memories on probation, and how often outcomes moved each."""
        rows = await self._connection.execute(_ON_PROBATION, {"ns": self._namespace_id})
        return [(row.id, row.n_credited) for row in rows]

    async def list_living(self, now: datetime) -> list[Living]:
        """Every living memory learned by `now`, with when it was last learned, served or
        credited.
        """
        rows = await self._connection.execute(_LIVING, {"ns": self._namespace_id, "now": now})
        return [_to_living(row) for row in rows.mappings()]

    async def retire(self, reasons: Mapping[UUID, str], stamp: Stamp) -> list[UUID]:
        """Retire, each for its reason, what still lives and was not pinned since; returns which."""
        retired: list[UUID] = []
        await self._connection.execute(_HOLD, {"ns": self._namespace_id, "ids": sorted(reasons)})
        for reason in sorted(set(reasons.values())):
            ids = sorted(memory_id for memory_id, why in reasons.items() if why == reason)
            values = {"status": Status.RETIRED, "status_reason": reason}
            rows = await self._connection.execute(
                update(memory)
                .where(memory.c.namespace_id == self._namespace_id, text(LIVING))
                .where(memory.c.id.in_(ids), ~memory.c.pinned)
                .values(bank_version=stamp.bank_version, **values)
                .returning(memory.c.id)
            )
            retired.extend(row.id for row in rows)
        return retired

    async def mark_returned(self, memory_id: UUID, at: datetime | None) -> None:
        """It begins anew for retirement: its evidence and its disuse count from here."""
        await self._connection.execute(
            _RETURNED, {"ns": self._namespace_id, "id": memory_id, "at": at}
        )

    async def find_near(
        self, vectors: Mapping[str, Embedding], model_id: UUID, floor: float
    ) -> list[NearMemory]:
        """Memories that every agent sees, living or rejected, whose situation and lesson are both
        this near; the nearest first.
        """
        values = {
            "ns": self._namespace_id,
            "model": model_id,
            "situation": _literal(vectors["situation"]),
            "lesson": _literal(vectors["lesson"]),
            "floor": floor,
        }
        rows = await self._connection.execute(_NEAR, values)
        return [
            NearMemory(row.id, Status(row.status), row.situation, row.lesson, row.cosine)
            for row in rows
        ]


_ON_PROBATION = text("""
    SELECT m.id, w.n_credited FROM memory m JOIN memory_weight w ON w.memory_id = m.id
    WHERE m.namespace_id = :ns AND m.status = 'probation' AND m.erased_at IS NULL
    ORDER BY m.id FOR UPDATE OF m SKIP LOCKED
""")


_RETURNED = text("""
    UPDATE memory m SET returned_at = :at, returned_credits = w.n_credited
    FROM memory_weight w
    WHERE m.namespace_id = :ns AND m.id = :id AND w.memory_id = m.id
""")


# Whoever changes several memories takes them in id order, against deadlock.
_HOLD = text("""
    SELECT id FROM memory WHERE namespace_id = :ns AND id = ANY(:ids)
    ORDER BY id FOR NO KEY UPDATE
""")


_LIVING = text("""
    SELECT m.id, m.status, m.pinned, w.n_credited - m.returned_credits AS credited,
        greatest(m.learned_at, m.returned_at, w.touched_at, (
            SELECT max(r.known_at) FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
            WHERE i.memory_id = m.id AND i.served), (
            SELECT t.last_at FROM receipt_tally t WHERE t.namespace_id = :ns
                AND t.kind = 'memory' AND t.subject_id = m.id)) AS last_used
    FROM memory m JOIN memory_weight w ON w.memory_id = m.id
    WHERE m.namespace_id = :ns AND m.status NOT IN ('retired', 'rejected')
      AND m.erased_at IS NULL AND m.learned_at <= :now
    ORDER BY m.id
""")


# The distance is taken in a step of its own, to every memory: an index of vectors would miss some.
_NEAR = text("""
    WITH near AS MATERIALIZED (
        SELECT m.id, m.status, m.version,
            1 - greatest(s.vector <=> CAST(:situation AS halfvec),
                         l.vector <=> CAST(:lesson AS halfvec)) AS cosine
        FROM memory m
        JOIN embedding s ON s.memory_id = m.id AND s.version = m.version
            AND s.field = 'situation' AND s.model_id = :model
        JOIN embedding l ON l.memory_id = m.id AND l.version = m.version
            AND l.field = 'lesson' AND l.model_id = :model
        WHERE m.namespace_id = :ns AND m.kind = 'experience' AND m.owner = '*'
          AND m.status <> 'retired' AND m.erased_at IS NULL
    )
    SELECT n.id, n.status, v.situation, v.lesson, n.cosine
    FROM near n JOIN memory_version v ON v.memory_id = n.id AND v.version = n.version
    WHERE n.cosine >= :floor ORDER BY n.cosine DESC, n.id
""")


def _literal(made: Embedding) -> str:
    return "[" + ",".join(map(repr, made.vector.astype(float).tolist())) + "]"
