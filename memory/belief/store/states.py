"""StateStore: what learning knows of memories, agents, cells and noise, seen through one namespace.

Whoever changes a state first takes the namespace's state lock, so that steps follow one another in
one order, and reads what it is about to change after that.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
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

from memory.belief.fold import Learned
from memory.belief.state_mapping import (
    SUBJECT_KEYS,
    MemoryCounters,
    StateChange,
    Subject,
    collect_states,
)
from memory.belief.states import State
from memory.belief.tables import (
    cell,
    effect_day,
    influence,
    memory_weight,
    noise,
    ranker_record,
    strength,
    usage,
    weight_deviation,
)
from memory.kernel.ids import new_id

_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


_TABLES: Mapping[str, Table] = {
    "memory": memory_weight,
    "deviation": weight_deviation,
    "influence": influence,
    "cell": cell,
    "noise": noise,
    "strength": strength,
    "effect": effect_day,
    "record": ranker_record,
    "usage": usage,
}
"""Where the states of each kind of subject are."""


class StateStore:
    """Live states of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def lock(self) -> None:
        """Until the end of the transaction, no one else changes a state of this namespace."""
        await self._connection.execute(_LOCK, {"name": f"states:{self._namespace_id}"})

    async def load(self, memory_ids: Iterable[UUID], days: Iterable[date] = ()) -> Learned:
        """States of these memories with all their deviations and influences, the effects of these
        days, and every cell, noise, strength, record and usage.
        """
        wanted = sorted(set(memory_ids))
        states: dict[Subject, State] = {}
        for kind in ("memory", "deviation", "influence"):
            states |= await self._read(kind, _TABLES[kind].c.memory_id.in_(wanted))
        for kind in ("cell", "noise", "strength", "record", "usage"):
            states |= await self._read(kind)
        states |= await self._read("effect", effect_day.c.day.in_(sorted(set(days))))
        return collect_states(states)

    async def load_all(self) -> Learned:
        """Every state there is; for the rebuild, corrections and previews."""
        return await self._load_kinds(SUBJECT_KEYS)

    async def load_for_cell(self, agent_id: UUID, category_id: UUID) -> Learned:
        """What a retrieval in this cell asks of learning: the agent's strengths, two records."""
        ours = await self._read("strength", strength.c.agent_id == agent_id)
        scope = ranker_record.c.category_id
        records = await self._read("record", or_(scope == category_id, scope.is_(None)))
        return collect_states(ours | records)

    async def load_usage(self, agent_id: UUID, category_id: UUID) -> State | None:
        """Which of the cell's last outcomes named what was used."""
        here = (usage.c.agent_id == agent_id) & (usage.c.category_id == category_id)
        return next(iter((await self._read("usage", here)).values()), None)

    async def load_cells(self) -> Learned:
        """Strengths, effects of every feedback date, and the rankers' records."""
        return await self._load_kinds(("strength", "effect", "record"))

    async def _load_kinds(self, kinds: Iterable[str]) -> Learned:
        states: dict[Subject, State] = {}
        for kind in kinds:
            states |= await self._read(kind)
        return collect_states(states)

    async def _read(
        self, kind: str, condition: ColumnElement[bool] | None = None
    ) -> dict[Subject, State]:
        table = _TABLES[kind]
        rows = select(table).where(table.c.namespace_id == self._namespace_id)
        if condition is not None:
            rows = rows.where(condition)
        return {
            _to_subject(kind, row): State(
                tuple(row["state"]), row["touched_at"], to_by_ranker(row.get("by_ranker"))
            )
            for row in (await self._connection.execute(rows)).mappings()
        }

    async def save(self, changes: Iterable[StateChange]) -> None:
        """Write what subjects changed to, in their order; where one changed more than once, what it
        came to. A subject back at its start loses its row.
        """
        states = {change.subject: change.after for change in changes}
        for kind in _TABLES:
            here = {s: state for s, state in states.items() if s.kind == kind}
            gone = [subject for subject, state in here.items() if state is None]
            kept = {s: state for s, state in here.items() if state is not None}
            if kept:
                rows = [self._to_row(s, kept[s]) for s in sorted(kept, key=_order)]
                await self._connection.execute(_upsert(kind), rows)
            for subject in sorted(gone, key=_order):
                await self._connection.execute(_delete(subject, self._namespace_id))

    def _to_row(self, subject: Subject, state: State) -> dict[str, object]:
        table, columns = _TABLES[subject.kind], subject.columns
        row: dict[str, object] = {name: columns[name] for name in SUBJECT_KEYS[subject.kind]}
        if "id" in table.c:
            row["id"] = new_id()
        if "by_ranker" in table.c:
            row["by_ranker"] = dict(state.by_ranker)
        return row | {
            "namespace_id": self._namespace_id,
            "state": list(state.values),
            "touched_at": state.touched,
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

    async def set_controls(self, controls: Mapping[tuple[UUID, UUID], int]) -> None:
        """Write how many control outcomes cells have had, where their rows were made anew."""
        for (agent_id, category_id), n in sorted(controls.items()):
            await self._connection.execute(
                update(cell)
                .where(cell.c.namespace_id == self._namespace_id)
                .where(cell.c.agent_id == agent_id, cell.c.category_id == category_id)
                .values(n_control=n)
            )

    async def count(self, counts: Mapping[UUID, MemoryCounters]) -> None:
        """Add to the counters of memories, in id order."""
        rows = [
            {
                "ns": self._namespace_id,
                "id": memory_id,
                "credited": c.credited,
                "helpful": c.helpful,
                "harmful": c.harmful,
                "absent": c.absent,
            }
            for memory_id, c in sorted(counts.items())
        ]
        if rows:
            await self._connection.execute(_COUNT, rows)

    async def controls(self, agent_id: UUID, category_id: UUID) -> int:
        """How many control outcomes the cell has."""
        n = await self._connection.scalar(
            select(cell.c.n_control).where(
                cell.c.namespace_id == self._namespace_id,
                cell.c.agent_id == agent_id,
                cell.c.category_id == category_id,
            )
        )
        return n or 0

    async def counts(self, memory_ids: Sequence[UUID]) -> dict[UUID, MemoryCounters]:
        """For each memory: its counters, and how often it was served."""
        rows = await self._connection.execute(
            _COUNTS, {"ns": self._namespace_id, "ids": list(memory_ids)}
        )
        return {
            row.memory_id: MemoryCounters(
                row.n_credited, row.n_helpful, row.n_harmful, row.served, row.n_absent
            )
            for row in rows
        }


_COUNT = text("""
    UPDATE memory_weight SET n_credited = n_credited + :credited,
        n_helpful = n_helpful + :helpful, n_harmful = n_harmful + :harmful,
        n_absent = n_absent + :absent
    WHERE namespace_id = :ns AND memory_id = :id
""")


_COUNTS = text("""
    SELECT w.memory_id, w.n_credited, w.n_helpful, w.n_harmful, w.n_absent,
        (SELECT count(*) FROM retrieval_item i WHERE i.namespace_id = w.namespace_id
            AND i.memory_id = w.memory_id AND i.served)
        + coalesce((SELECT t.n FROM receipt_tally t WHERE t.namespace_id = w.namespace_id
            AND t.kind = 'memory' AND t.subject_id = w.memory_id), 0) AS served
    FROM memory_weight w WHERE w.namespace_id = :ns AND w.memory_id = ANY(:ids)
""")


def to_by_ranker(stored: Mapping[str, Sequence[float]] | None) -> dict[str, tuple[float, float]]:
    """The numbers of each ranker, as they were stored; none where the subject is no record."""
    return {
        ranker: (float(closed), float(running))
        for ranker, (closed, running) in (stored or {}).items()
    }


def _to_subject(kind: str, row: RowMapping) -> Subject:
    ids = [row[name] for name in SUBJECT_KEYS[kind]]
    return Subject.of_key(kind, tuple(ids))


def _upsert(kind: str) -> Insert:
    table = _TABLES[kind]
    made = insert(table)
    numbers = {"state", "touched_at", "by_ranker"} & set(table.c.keys())
    return made.on_conflict_do_update(
        index_elements=["namespace_id", *SUBJECT_KEYS[kind]],
        set_={name: made.excluded[name] for name in sorted(numbers)},
    )


def _delete(subject: Subject, namespace_id: UUID) -> Delete:
    table, columns = _TABLES[subject.kind], subject.columns
    gone = delete(table).where(table.c.namespace_id == namespace_id)
    for name in SUBJECT_KEYS[subject.kind]:
        gone = gone.where(table.c[name].is_not_distinct_from(columns[name]))
    return gone


def _order(subject: Subject) -> tuple[str, ...]:
    """Rows are written in one order by everyone, against deadlock."""
    return tuple(str(value or "") for value in subject.columns.values())
