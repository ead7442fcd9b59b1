"""StateStore: what learning knows of memories, agents, cells and noise, seen through one namespace.

Whoever changes a state first takes the namespace's state lock, so that steps follow one another in
one order, and reads what it is about to change after that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.storage.tables import cell, memory_weight, noise, weight_deviation

_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


@dataclass(frozen=True, slots=True)
class Stored:
    """Policy numbers and when they were last touched."""

    values: tuple[float, ...]
    touched_at: datetime | None


@dataclass(slots=True)
class Counts:
    """What is counted of a memory, beside its state."""

    credited: int = 0
    helpful: int = 0
    harmful: int = 0


@dataclass(slots=True)
class StateSheet:
    """States by subject; missing subjects have none yet."""

    memories: dict[UUID, Stored] = field(default_factory=dict[UUID, Stored])
    deviations: dict[tuple[UUID, UUID], Stored] = field(
        default_factory=dict[tuple[UUID, UUID], Stored]
    )
    cells: dict[tuple[UUID, UUID], Stored] = field(default_factory=dict[tuple[UUID, UUID], Stored])
    noise: dict[str, Stored] = field(default_factory=dict[str, Stored])


class StateStore:
    """Live states of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def lock(self) -> None:
        """Until the end of the transaction, no one else changes a state of this namespace."""
        await self._connection.execute(_LOCK, {"name": f"states:{self._namespace_id}"})

    async def load(self, memory_ids: Iterable[UUID]) -> StateSheet:
        """States of these memories with all their deviations, and every cell and noise."""
        wanted = sorted(set(memory_ids))
        sheet = StateSheet()
        for row in await self._connection.execute(
            select(memory_weight).where(memory_weight.c.memory_id.in_(wanted))
        ):
            sheet.memories[row.memory_id] = Stored(tuple(row.state), row.touched_at)
        for row in await self._connection.execute(
            select(weight_deviation).where(weight_deviation.c.memory_id.in_(wanted))
        ):
            key = (row.memory_id, row.agent_id)
            sheet.deviations[key] = Stored(tuple(row.state), row.touched_at)
        for row in await self._connection.execute(
            select(cell).where(cell.c.namespace_id == self._namespace_id)
        ):
            key = (row.agent_id, row.category_id)
            sheet.cells[key] = Stored(tuple(row.state), row.touched_at)
        for row in await self._connection.execute(
            select(noise).where(noise.c.namespace_id == self._namespace_id)
        ):
            sheet.noise[row.reward_kind] = Stored(tuple(row.state), row.touched_at)
        return sheet

    async def save_memories(self, states: Mapping[UUID, Stored]) -> None:
        """Write states of memories, new or known, in id order."""
        rows = [
            {
                "memory_id": memory_id,
                "namespace_id": self._namespace_id,
                "state": list(states[memory_id].values),
                "touched_at": states[memory_id].touched_at,
            }
            for memory_id in sorted(states)
        ]
        if rows:
            made = insert(memory_weight)
            await self._connection.execute(
                made.on_conflict_do_update(
                    index_elements=["memory_id"],
                    set_={"state": made.excluded.state, "touched_at": made.excluded.touched_at},
                ),
                rows,
            )

    async def save_deviations(self, states: Mapping[tuple[UUID, UUID], Stored]) -> None:
        rows = [
            {
                "memory_id": memory_id,
                "agent_id": agent_id,
                "namespace_id": self._namespace_id,
                "state": list(states[memory_id, agent_id].values),
                "touched_at": states[memory_id, agent_id].touched_at,
            }
            for memory_id, agent_id in sorted(states)
        ]
        if rows:
            made = insert(weight_deviation)
            await self._connection.execute(
                made.on_conflict_do_update(
                    index_elements=["memory_id", "agent_id"],
                    set_={"state": made.excluded.state, "touched_at": made.excluded.touched_at},
                ),
                rows,
            )

    async def save_cells(
        self, states: Mapping[tuple[UUID, UUID], Stored], controls: Mapping[tuple[UUID, UUID], int]
    ) -> None:
        """Write cells; `controls` is how many control outcomes each gained."""
        for agent_id, category_id in sorted(states):
            stored = states[agent_id, category_id]
            made = insert(cell).values(
                agent_id=agent_id,
                category_id=category_id,
                namespace_id=self._namespace_id,
                state=list(stored.values),
                touched_at=stored.touched_at,
                n_control=controls.get((agent_id, category_id), 0),
            )
            await self._connection.execute(
                made.on_conflict_do_update(
                    index_elements=["agent_id", "category_id"],
                    set_={
                        "state": made.excluded.state,
                        "touched_at": made.excluded.touched_at,
                        "n_control": cell.c.n_control + made.excluded.n_control,
                    },
                )
            )

    async def save_noise(self, states: Mapping[str, Stored]) -> None:
        for kind in sorted(states):
            made = insert(noise).values(
                namespace_id=self._namespace_id,
                reward_kind=kind,
                state=list(states[kind].values),
                touched_at=states[kind].touched_at,
            )
            await self._connection.execute(
                made.on_conflict_do_update(
                    index_elements=["namespace_id", "reward_kind"],
                    set_={"state": made.excluded.state, "touched_at": made.excluded.touched_at},
                )
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

    async def all_memory_ids(self) -> list[UUID]:
        rows = await self._connection.execute(
            select(memory_weight.c.memory_id)
            .where(memory_weight.c.namespace_id == self._namespace_id)
            .order_by(memory_weight.c.memory_id)
        )
        return [row.memory_id for row in rows]


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
