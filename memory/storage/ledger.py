"""LedgerStore: the append-only record of every change of a state, seen through one namespace."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.domain.learning import WeightEvent
from memory.domain.task import Page
from memory.storage.states import Stored
from memory.storage.tables import agent, memory, weight_event


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose state an event is about: exactly the ids that name it are set."""

    kind: str
    memory_id: UUID | None = None
    agent_id: UUID | None = None
    category_id: UUID | None = None
    reward_kind: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One state's change in one version of the bank."""

    bank_version: int
    subject: Subject
    kind: str
    reason: str
    before: Stored | None
    after: Stored
    weights: tuple[float | None, float | None]
    outcome_id: UUID | None
    known_at: datetime


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
        before = step.before
        return {
            "namespace_id": self._namespace_id,
            "bank_version": step.bank_version,
            "position": position,
            "subject": step.subject.kind,
            "memory_id": step.subject.memory_id,
            "agent_id": step.subject.agent_id,
            "category_id": step.subject.category_id,
            "reward_kind": step.subject.reward_kind,
            "kind": step.kind,
            "reason": step.reason,
            "policy": policy,
            "state_before": None if before is None else list(before.values),
            "state_after": list(step.after.values),
            "touched_before": None if before is None else before.touched_at,
            "touched_after": step.after.touched_at,
            "weight_before": step.weights[0],
            "weight_after": step.weights[1],
            "outcome_id": step.outcome_id,
            "known_at": step.known_at,
            "recorded_at": now,
        }

    async def of_memory(self, memory_id: UUID, page: Page) -> tuple[list[WeightEvent], int]:
        """Events of one memory and its deviations, oldest first, one more than the page."""
        condition: ColumnElement[bool] = (weight_event.c.namespace_id == self._namespace_id) & (
            weight_event.c.memory_id == memory_id
        )
        rows = (
            select(weight_event, agent.c.name.label("agent"))
            .select_from(weight_event.outerjoin(agent, agent.c.id == weight_event.c.agent_id))
            .where(condition)
            .order_by(weight_event.c.bank_version, weight_event.c.position)
            .limit(page.limit + 1)
        )
        if page.after is not None:
            version, position = (int(str(part)) for part in page.after)
            rows = rows.where(
                (weight_event.c.bank_version > version)
                | ((weight_event.c.bank_version == version) & (weight_event.c.position > position))
            )
        found = [_event(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(weight_event).where(condition)
        )
        return found, total or 0

    async def sets(self) -> list[RowMapping]:
        """The `set` events of memories, in the ledger's order: what the fold replays beside
        outcomes.
        """
        rows = await self._connection.execute(
            select(weight_event, memory.c.start_weight)
            .join(memory, memory.c.id == weight_event.c.memory_id)
            .where(
                weight_event.c.namespace_id == self._namespace_id,
                weight_event.c.kind == "set",
                weight_event.c.subject == "memory",
                weight_event.c.superseded_by.is_(None),
            )
            .order_by(weight_event.c.bank_version, weight_event.c.position)
        )
        return list(rows.mappings())

    async def everything(self) -> list[RowMapping]:
        """The whole ledger in order; for the rebuild and its test."""
        rows = await self._connection.execute(
            select(weight_event)
            .where(weight_event.c.namespace_id == self._namespace_id)
            .order_by(weight_event.c.bank_version, weight_event.c.position)
        )
        return list(rows.mappings())


def _event(row: RowMapping) -> WeightEvent:
    return WeightEvent(**{name: row[name] for name in WeightEvent.__slots__})
