"""StateStore: what learning knows of memories, agents, cells and noise, seen through one namespace.

Whoever changes a state first takes the namespace's state lock, so that steps follow one another in
one order, and reads what it is about to change after that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Delete,
    RowMapping,
    Table,
    delete,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.tables import (
    cell,
    effect_day,
    memory_weight,
    noise,
    ranker_record,
    strength,
    weight_deviation,
)
from memory.kernel.ids import new_id

_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


@dataclass(frozen=True, slots=True)
class Stored:
    """Policy numbers and when they were last touched; a record has two more for each ranker."""

    values: tuple[float, ...]
    touched_at: datetime | None
    by_ranker: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )


@dataclass(slots=True)
class Counts:
    """What is counted of a memory, beside its state."""

    credited: int = 0
    helpful: int = 0
    harmful: int = 0


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose state it is: exactly the ids that name it are set; no id names the whole namespace."""

    kind: str
    memory_id: UUID | None = None
    agent_id: UUID | None = None
    category_id: UUID | None = None
    reward_kind: str | None = None
    day: date | None = None


@dataclass(frozen=True, slots=True)
class _Home:
    """The table that holds the states of one kind of subject, and the columns that name one."""

    table: Table
    key: tuple[str, ...]

    def subject(self, kind: str, row: RowMapping) -> Subject:
        return Subject(kind, **{name: row[name] for name in self.key})


_HOMES: Mapping[str, _Home] = {
    "memory": _Home(memory_weight, ("memory_id",)),
    "deviation": _Home(weight_deviation, ("memory_id", "agent_id")),
    "cell": _Home(cell, ("agent_id", "category_id")),
    "noise": _Home(noise, ("reward_kind",)),
    "strength": _Home(strength, ("agent_id", "category_id")),
    "effect": _Home(effect_day, ("agent_id", "category_id", "day")),
    "record": _Home(ranker_record, ("category_id",)),
}


Sheet = dict[Subject, Stored]
"""States by subject; subjects without a state are at their start."""


class StateStore:
    """Live states of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def lock(self) -> None:
        """Until the end of the transaction, no one else changes a state of this namespace."""
        await self._connection.execute(_LOCK, {"name": f"states:{self._namespace_id}"})

    async def load(self, memory_ids: Iterable[UUID], days: Iterable[date] = ()) -> Sheet:
        """States of these memories with all their deviations, the effects of these days, and
        every cell, noise, strength and record.
        """
        wanted = sorted(set(memory_ids))
        sheet: Sheet = {}
        for kind in ("memory", "deviation"):
            table = _HOMES[kind].table
            sheet |= await self._read(kind, table.c.memory_id.in_(wanted))
        for kind in ("cell", "noise", "strength", "record"):
            sheet |= await self._read(kind)
        return sheet | await self._read("effect", effect_day.c.day.in_(sorted(set(days))))

    async def everything(self) -> Sheet:
        """Every state there is; for the rebuild, corrections and previews."""
        sheet: Sheet = {}
        for kind in _HOMES:
            sheet |= await self._read(kind)
        return sheet

    async def following(self, agent_id: UUID, category_id: UUID) -> Sheet:
        """What a retrieval in this cell asks of learning: the agent's strengths, two records."""
        ours = await self._read("strength", strength.c.agent_id == agent_id)
        scope = ranker_record.c.category_id
        return ours | await self._read("record", or_(scope == category_id, scope.is_(None)))

    async def everything_of_cells(self) -> Sheet:
        """Strengths, effects of every feedback date, and the rankers' records."""
        sheet: Sheet = {}
        for kind in ("strength", "effect", "record"):
            sheet |= await self._read(kind)
        return sheet

    async def _read(self, kind: str, condition: ColumnElement[bool] | None = None) -> Sheet:
        home = _HOMES[kind]
        rows = select(home.table).where(home.table.c.namespace_id == self._namespace_id)
        if condition is not None:
            rows = rows.where(condition)
        return {
            home.subject(kind, row): Stored(
                tuple(row["state"]), row["touched_at"], by_ranker(row.get("by_ranker"))
            )
            for row in (await self._connection.execute(rows)).mappings()
        }

    async def save(self, states: Mapping[Subject, Stored | None]) -> None:
        """Write states, new or known, in the order of their subjects; None takes one away."""
        for kind, home in _HOMES.items():
            here = {s: state for s, state in states.items() if s.kind == kind}
            gone = [subject for subject, state in here.items() if state is None]
            kept = {s: state for s, state in here.items() if state is not None}
            if kept:
                rows = [self._row(home, s, kept[s]) for s in sorted(kept, key=_order)]
                await self._connection.execute(_written(home), rows)
            for subject in sorted(gone, key=_order):
                await self._connection.execute(_taken(home, subject, self._namespace_id))

    def _row(self, home: _Home, subject: Subject, state: Stored) -> dict[str, object]:
        row: dict[str, object] = {name: getattr(subject, name) for name in home.key}
        if "id" in home.table.c:
            row["id"] = new_id()
        if "by_ranker" in home.table.c:
            row["by_ranker"] = dict(state.by_ranker)
        return row | {
            "namespace_id": self._namespace_id,
            "state": list(state.values),
            "touched_at": state.touched_at,
        }

    async def add_controls(self, controls: Mapping[tuple[UUID, UUID], int]) -> None:
        """Add to the control outcomes that cells have had, in id order."""
        for (agent_id, category_id), n in sorted(controls.items()):
            await self._connection.execute(
                update(cell)
                .where(cell.c.namespace_id == self._namespace_id)
                .where(cell.c.agent_id == agent_id, cell.c.category_id == category_id)
                .values(n_control=cell.c.n_control + n)
            )

    async def count(self, counts: Mapping[UUID, Counts]) -> None:
        """Add to the counters of memories, in id order."""
        rows = [
            {"id": memory_id, "credited": c.credited, "helpful": c.helpful, "harmful": c.harmful}
            for memory_id, c in sorted(counts.items())
        ]
        if rows:
            await self._connection.execute(_COUNT, rows)

    async def controls(self, agent_id: UUID, category_id: UUID) -> int:
        """How many control outcomes the cell has."""
        n = await self._connection.scalar(
            select(cell.c.n_control).where(
                cell.c.agent_id == agent_id, cell.c.category_id == category_id
            )
        )
        return n or 0

    async def counts(self, memory_ids: Sequence[UUID]) -> dict[UUID, tuple[int, Counts]]:
        """For each memory: how often it was served, and its counters."""
        rows = await self._connection.execute(_COUNTS, {"ids": list(memory_ids)})
        return {
            row.memory_id: (row.served, Counts(row.n_credited, row.n_helpful, row.n_harmful))
            for row in rows
        }


_COUNT = text("""
    UPDATE memory_weight SET n_credited = n_credited + :credited,
        n_helpful = n_helpful + :helpful, n_harmful = n_harmful + :harmful
    WHERE memory_id = :id
""")


_COUNTS = text("""
    SELECT w.memory_id, w.n_credited, w.n_helpful, w.n_harmful,
        (SELECT count(*) FROM retrieval_item i WHERE i.namespace_id = w.namespace_id
            AND i.memory_id = w.memory_id AND i.served) AS served
    FROM memory_weight w WHERE w.memory_id = ANY(:ids)
""")


def by_ranker(stored: Mapping[str, Sequence[float]] | None) -> dict[str, tuple[float, float]]:
    """The numbers of each ranker, as they were stored; none where the subject is no record."""
    return {
        ranker: (float(closed), float(running))
        for ranker, (closed, running) in (stored or {}).items()
    }


def _written(home: _Home) -> Insert:
    made = insert(home.table)
    # A record is unique in its namespace, and the whole namespace's has no category.
    key = [*home.key, "namespace_id"] if home.table in (noise, ranker_record) else home.key
    numbers = {"state", "touched_at", "by_ranker"} & set(home.table.c.keys())
    return made.on_conflict_do_update(
        index_elements=key, set_={name: made.excluded[name] for name in sorted(numbers)}
    )


def _taken(home: _Home, subject: Subject, namespace_id: UUID) -> Delete:
    gone = delete(home.table).where(home.table.c.namespace_id == namespace_id)
    for name in home.key:
        gone = gone.where(home.table.c[name].is_not_distinct_from(getattr(subject, name)))
    return gone


def _order(subject: Subject) -> tuple[str, ...]:
    """Rows are written in one order by everyone, against deadlock."""
    return tuple(
        str(getattr(subject, name) or "")
        for name in ("memory_id", "agent_id", "category_id", "reward_kind", "day")
    )
