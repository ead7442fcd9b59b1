"""TrajectoryStore: runs of tasks by agents, seen through one namespace."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, RowMapping, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.trajectory_entities import (
    Step,
    Trajectory,
    TrajectoryDraft,
    TrajectoryFilter,
    TrajectorySummary,
)
from memory.kernel.errors import NotFound
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper
from memory.tasks.store.tasks import Provenance
from memory.tasks.tables import agent, category, task, trajectory

_sub = category.alias("sub")


_RUNS = (
    trajectory.join(task, task.c.id == trajectory.c.task_id)
    .join(agent, agent.c.id == trajectory.c.agent_id)
    .join(category, category.c.id == task.c.category_id)
    .outerjoin(_sub, _sub.c.id == task.c.subcategory_id)
)


_NAMES = (
    task.c.key.label("task_key"),
    agent.c.name.label("agent"),
    agent.c.family,
    agent.c.size_class,
    category.c.name.label("category"),
    _sub.c.name.label("subcategory"),
    func.jsonb_array_length(trajectory.c.steps, type_=Integer).label("n_steps"),
)


def _to_steps(row: RowMapping) -> tuple[Step, ...]:
    return tuple(Step.stored(step) for step in row["steps"])


# A page of whole runs could be eighty megabytes: a list tells how long they are.
_to_summary = RowMapper(TrajectorySummary, [*_NAMES, trajectory])


def _to_refused(row: RowMapping) -> str | None:
    return row["examined"] and row["examined"]["refused"]


_to_trajectory = RowMapper(
    Trajectory,
    [*_NAMES, trajectory],
    computed={"steps": _to_steps, "refused": _to_refused},
)


@dataclass(frozen=True, slots=True)
class NewTrajectory:
    """A draft whose agent and task have ids."""

    id: UUID
    draft: TrajectoryDraft
    task_id: UUID
    agent_id: UUID
    written: Provenance


class TrajectoryStore:
    """Runs of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._here = trajectory.c.namespace_id == namespace_id
        self._namespace_id = namespace_id

    async def add(self, runs: Sequence[NewTrajectory]) -> None:
        if runs:
            await self._connection.execute(insert(trajectory), [self._row(new) for new in runs])

    def _row(self, new: NewTrajectory) -> dict[str, object]:
        draft = new.draft
        return {
            "id": new.id,
            "namespace_id": self._namespace_id,
            "task_id": new.task_id,
            "agent_id": new.agent_id,
            "steps": [step.as_stored() for step in draft.steps],
            "result": draft.result,
            "rationale": draft.rationale,
            "reward": draft.reward,
            "verifier": draft.verifier,
            "cost": draft.cost,
            "task_variant": draft.task_variant,
            "retrieval_id": draft.retrieval_id,
            "known_at": new.written.known_at,
            "recorded_at": new.written.recorded_at,
            "key_id": new.written.key_id,
        }

    async def get(self, trajectory_id: UUID) -> Trajectory:
        found = await self._read(trajectory.c.id == trajectory_id)
        if not found:
            raise NotFound(
                f"no such trajectory: {trajectory_id}", code="trajectory_not_found", field="id"
            )
        return found[0]

    async def of_ids(self, trajectory_ids: Sequence[UUID]) -> list[Trajectory]:
        """Runs by id, as far as there are any; by id."""
        return await self._read(trajectory.c.id.in_(trajectory_ids))

    async def of_task(self, task_id: UUID) -> list[Trajectory]:
        """Every run of a task that still has its words, by id."""
        return await self._read(
            (trajectory.c.task_id == task_id) & trajectory.c.erased_at.is_(None)
        )

    async def of_receipt(self, retrieval_id: UUID, key_id: UUID) -> list[Trajectory]:
        """Runs behind a receipt that this key brought and that have a verdict, by id."""
        return await self._read(
            (trajectory.c.retrieval_id == retrieval_id)
            & (trajectory.c.key_id == key_id)
            & trajectory.c.erased_at.is_(None)
            & trajectory.c.withdrawn_at.is_(None)
        )

    async def count_of_receipt(self, retrieval_id: UUID) -> int:
        """How many runs stand behind a receipt, whoever brought them, withdrawn ones among them."""
        found = await self._connection.scalar(
            select(func.count())
            .select_from(trajectory)
            .where(self._here, trajectory.c.retrieval_id == retrieval_id)
        )
        return found or 0

    async def withdraw(self, trajectory_ids: Sequence[UUID], now: datetime) -> None:
        """These runs prove nothing any more: their verdict was withdrawn."""
        await self._connection.execute(
            update(trajectory)
            .where(self._here, trajectory.c.id.in_(trajectory_ids))
            .values(withdrawn_at=now)
        )

    async def unpaired(self, limit: int) -> list[Trajectory]:
        """Runs whose group was not looked at for pairs since they came, oldest first."""
        fresh = trajectory.c.paired_at.is_(None) & trajectory.c.erased_at.is_(None)
        return await self._read(fresh, limit)

    async def mark_paired(self, trajectory_ids: Sequence[UUID], now: datetime) -> None:
        await self._connection.execute(
            update(trajectory)
            .where(self._here, trajectory.c.id.in_(trajectory_ids))
            .values(paired_at=now)
        )

    async def browse(self, wanted: TrajectoryFilter, page: Page) -> Listed[TrajectorySummary]:
        """Without the words of the runs."""
        condition = self._here & _matching(wanted)
        order = trajectory.c.id.desc() if wanted.newest_first else trajectory.c.id
        rows = select(*_to_summary.columns).select_from(_RUNS).where(condition)
        rows = rows.order_by(order).limit(page.limit + 1)
        if page.after is not None:
            last = UUID(str(page.after[0]))
            below, above = trajectory.c.id < last, trajectory.c.id > last
            rows = rows.where(below if wanted.newest_first else above)
        found = [_to_summary(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(_RUNS).where(condition)
        )
        return listed(found, page, total, lambda run: (str(run.id),))

    async def _read(
        self, condition: ColumnElement[bool], limit: int | None = None
    ) -> list[Trajectory]:
        whole = select(
            *_to_trajectory.columns, trajectory.c.steps, trajectory.c.examined
        ).select_from(_RUNS)
        rows = await self._connection.execute(
            whole.where(self._here, condition).order_by(trajectory.c.id).limit(limit)
        )
        return [_to_trajectory(row) for row in rows.mappings()]


def _matching(wanted: TrajectoryFilter) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = trajectory.c.id.is_not(None)
    if wanted.agent is not None:
        condition &= agent.c.name == wanted.agent
    if wanted.task_id is not None:
        condition &= trajectory.c.task_id == wanted.task_id
    if wanted.category is not None:
        condition &= category.c.name == wanted.category
    if wanted.verifier is not None:
        condition &= trajectory.c.verifier == wanted.verifier
    if wanted.retrieval_id is not None:
        condition &= trajectory.c.retrieval_id == wanted.retrieval_id
    return condition
