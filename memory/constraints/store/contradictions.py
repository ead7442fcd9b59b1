"""ContradictionStore: constraints that contradict each other, seen through one namespace."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.entities import Contradiction
from memory.constraints.tables import contradiction
from memory.kernel.errors import NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper
from memory.tasks.tables import category


@dataclass(frozen=True, slots=True)
class NewContradiction:
    """A contradiction that was just seen: between whom, in which category, how and how near."""

    ids: tuple[UUID, UUID]
    category_id: UUID
    reason: str
    likeness: float


@dataclass(frozen=True, slots=True)
class ContradictionSide:
    """One of two constraints that contradict each other, as it stands."""

    id: UUID
    status: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class UndecidedContradiction:
    """A contradiction that no person has decided, and its two sides."""

    id: UUID
    first: ContradictionSide
    second: ContradictionSide
    resolution: str | None


@dataclass(frozen=True, slots=True)
class ContradictionDecision:
    """Who stays, why, and on whose word; no key where evidence decides."""

    keep: str
    reason: str | None
    key_id: UUID | None
    at: datetime


class ContradictionStore:
    """Contradictions of one namespace. Nothing here commits."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def link(self, found: NewContradiction, now: datetime) -> None:
        """Once for a pair, whichever of the two came first."""
        first, second = sorted(found.ids)
        await self._connection.execute(
            insert(contradiction)
            .values(
                id=new_id(),
                namespace_id=self._namespace_id,
                first_id=first,
                second_id=second,
                category_id=found.category_id,
                reason=found.reason,
                likeness=found.likeness,
                state="open",
                recorded_at=now,
            )
            .on_conflict_do_nothing()
        )

    async def undecided(self, memory_id: UUID) -> list[UndecidedContradiction]:
        """Those of this constraint that evidence may decide."""
        rows = await self._connection.execute(
            _UNDECIDED, {"ns": self._namespace_id, "id": memory_id}
        )
        return [_to_undecided(row) for row in rows.mappings()]

    async def has_lost(self, memory_id: UUID, but: UUID) -> bool:
        """Whether the constraint lost another contradiction than `but`."""
        found = await self._connection.scalar(
            _HAS_LOST, {"ns": self._namespace_id, "id": memory_id, "but": but}
        )
        return bool(found)

    async def decide(self, contradiction_id: UUID, decision: ContradictionDecision) -> None:
        await self._set(
            contradiction_id,
            {
                "state": "resolved",
                "resolution": decision.keep,
                "resolution_reason": decision.reason,
                "resolved_at": decision.at,
                "key_id": decision.key_id,
            },
        )

    async def reopen(self, contradiction_id: UUID) -> None:
        empty = dict.fromkeys(("resolution", "resolution_reason", "resolved_at", "key_id"))
        await self._set(contradiction_id, {"state": "open", **empty})

    async def _set(self, contradiction_id: UUID, values: dict[str, object]) -> None:
        await self._connection.execute(
            update(contradiction)
            .where(contradiction.c.namespace_id == self._namespace_id)
            .where(contradiction.c.id == contradiction_id)
            .values(**values)
        )

    async def browse(self, state: str | None, page: Page) -> Listed[Contradiction]:
        """Oldest first; None lists all."""
        condition: ColumnElement[bool] = contradiction.c.namespace_id == self._namespace_id
        if state is not None:
            condition &= contradiction.c.state == state
        rows = _ROWS.where(condition).order_by(contradiction.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(contradiction.c.id > UUID(str(page.after[0])))
        found = [
            _to_contradiction(row) for row in (await self._connection.execute(rows)).mappings()
        ]
        total = await self._connection.scalar(
            select(func.count()).select_from(contradiction).where(condition)
        )
        return listed(found, page, total, lambda one: (str(one.id),))

    async def get(self, contradiction_id: UUID) -> Contradiction:
        rows = await self._connection.execute(
            _ROWS.where(contradiction.c.namespace_id == self._namespace_id).where(
                contradiction.c.id == contradiction_id
            )
        )
        found = rows.mappings().first()
        if found is None:
            raise NotFound(
                f"no such contradiction: {contradiction_id}",
                code="contradiction_not_found",
                field="id",
            )
        return _to_contradiction(found)

    async def sides(self, memory_ids: Sequence[UUID]) -> dict[UUID, ContradictionSide]:
        """The constraints as they stand; what was erased is left out."""
        rows = await self._connection.execute(
            _SIDES, {"ns": self._namespace_id, "ids": list(memory_ids)}
        )
        return {row.id: ContradictionSide(row.id, row.status, row.status_reason) for row in rows}


_to_contradiction = RowMapper(Contradiction, [category.c.name.label("category"), contradiction])


_ROWS = select(*_to_contradiction.columns).select_from(
    contradiction.join(category, category.c.id == contradiction.c.category_id)
)


_UNDECIDED = text("""
    SELECT c.id, c.resolution, a.id AS first_id, a.status AS first_status,
        a.status_reason AS first_reason, b.id AS second_id, b.status AS second_status,
        b.status_reason AS second_reason
    FROM contradiction c JOIN memory a ON a.id = c.first_id JOIN memory b ON b.id = c.second_id
    WHERE c.namespace_id = :ns AND (c.first_id = :id OR c.second_id = :id)
      AND c.key_id IS NULL AND a.erased_at IS NULL AND b.erased_at IS NULL
    ORDER BY c.id
""")


_HAS_LOST = text("""
    SELECT EXISTS (
        SELECT 1 FROM contradiction
        WHERE namespace_id = :ns AND id <> :but AND state = 'resolved'
          AND (resolution = 'neither' AND :id IN (first_id, second_id)
            OR first_id = :id AND resolution = 'second'
            OR second_id = :id AND resolution = 'first'))
""")


_SIDES = text("""
    SELECT id, status, status_reason FROM memory
    WHERE namespace_id = :ns AND id = ANY(:ids) AND erased_at IS NULL
""")


def _to_undecided(row: RowMapping) -> UndecidedContradiction:
    first, second = (
        ContradictionSide(row[f"{name}_id"], row[f"{name}_status"], row[f"{name}_reason"])
        for name in ("first", "second")
    )
    return UndecidedContradiction(row["id"], first, second, row["resolution"])
