"""CompetenceStore: how agents fare by category, seen through one namespace."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.tables import competence
from memory.constraints.trajectory_entities import SUPPORTING, AgentCategory, VerifiedRuns
from memory.tasks.tables import task, trajectory


class CompetenceStore:
    """Verified runs of one namespace, counted by agent and category."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def hold(self, *, alone: bool = False) -> None:
        """Until commit tasks keep their categories while runs of them are counted; `alone`: nothing
        is counted while tasks move.
        """
        how = _HOLD_ALONE if alone else _HOLD
        await self._connection.execute(how, {"name": f"competence/{self._namespace_id}"})

    async def add(self, counts: Mapping[AgentCategory, VerifiedRuns]) -> None:
        """So many verified runs more, and their rewards; in one order, against deadlock."""
        for cell in sorted(counts):
            row = insert(competence).values(
                agent_id=cell.agent_id,
                category_id=cell.category_id,
                namespace_id=self._namespace_id,
                n=counts[cell].n,
                total=counts[cell].total,
            )
            sums = {
                "n": competence.c.n + row.excluded.n,
                "total": competence.c.total + row.excluded.total,
            }
            keys = ["namespace_id", "agent_id", "category_id"]
            await self._connection.execute(
                row.on_conflict_do_update(index_elements=keys, set_=sums)
            )

    async def all(self, as_of: datetime | None = None) -> dict[AgentCategory, VerifiedRuns]:
        """Runs and the sum of their rewards by agent and category; those known by `as_of`."""
        if as_of is not None:
            return await self._counted(as_of)
        rows = await self._connection.execute(
            select(competence).where(competence.c.namespace_id == self._namespace_id)
        )
        return {
            AgentCategory(row.agent_id, row.category_id): VerifiedRuns(row.n, row.total)
            for row in rows
        }

    async def recount(self) -> None:
        """Count anew: tasks have moved to other categories."""
        await self._connection.execute(
            delete(competence).where(competence.c.namespace_id == self._namespace_id)
        )
        await self.add(await self._counted(None))

    async def _counted(self, as_of: datetime | None) -> dict[AgentCategory, VerifiedRuns]:
        """From the runs themselves. A task's category is the one it has today."""
        verified = (
            (trajectory.c.namespace_id == self._namespace_id)
            & trajectory.c.verifier.in_(SUPPORTING)
            & trajectory.c.reward.is_not(None)
            & trajectory.c.withdrawn_at.is_(None)
        )
        if as_of is not None:
            verified &= trajectory.c.known_at <= as_of
        cell = (trajectory.c.agent_id, task.c.category_id)
        rows = await self._connection.execute(
            select(*cell, func.count().label("n"), func.sum(trajectory.c.reward).label("total"))
            .select_from(trajectory.join(task, task.c.id == trajectory.c.task_id))
            .where(verified)
            .group_by(*cell)
        )
        return {
            AgentCategory(row.agent_id, row.category_id): VerifiedRuns(row.n, row.total)
            for row in rows
        }


_HOLD = text("SELECT pg_advisory_xact_lock_shared(hashtextextended(:name, 0))")


_HOLD_ALONE = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
