"""Runs of tasks are kept: agent, task → trajectory → competence. No model is asked, so that a run
costs the same however many there are.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memory.constraints.competence import shrunken
from memory.constraints.store.competence import CompetenceStore
from memory.constraints.store.trajectories import NewTrajectory, TrajectoryStore
from memory.constraints.trajectory_entities import (
    SUPPORTING,
    Competence,
    Kept,
    Trajectory,
    TrajectoryBrief,
    TrajectoryDraft,
    TrajectoryFilter,
)
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.tasks.entities import Task, TaskDraft
from memory.tasks.service import NameResolver
from memory.tasks.store.actors import ActorStore
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tenancy.entities import Act, Call

Answer = Kept | MemoryFault


async def add(engine: Engine, call: Call, drafts: Sequence[TrajectoryDraft]) -> list[Answer]:
    """Keep each run; the answers are in the drafts' order, each true by itself."""
    call.key.require(Act.REMEMBER)
    answers: list[Answer] = []
    new: list[NewTrajectory] = []
    counts: dict[tuple[UUID, UUID], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    async with engine.database.transaction(call.namespace.id) as connection:
        competence = CompetenceStore(connection, call.namespace.id)
        await competence.hold()
        arrivals = _Arrivals(connection, call)
        await arrivals.look_up(drafts)
        for draft in drafts:
            try:
                run, task = await arrivals.resolved(draft)
            except MemoryFault as fault:
                answers.append(fault)
                continue
            new.append(run)
            answers.append(Kept(run.id, task.id, task.category_name, draft.right))
            if draft.reward is not None and draft.verifier in SUPPORTING:
                n, total = counts[run.agent_id, task.category_id]
                counts[run.agent_id, task.category_id] = (n + 1, total + draft.reward)
        await TrajectoryStore(connection, call.namespace.id).add(new)
        await competence.add(counts)
    return answers


class _Arrivals:
    """Runs of one transaction; each agent and category is looked up once, and known tasks all at
    once.
    """

    def __init__(self, connection: Connection, call: Call) -> None:
        self._call = call
        self._names = NameResolver(connection, call)
        self._store = TaskStore(connection, call.namespace.id)
        self._by_id: dict[UUID, Task] = {}
        self._by_key: dict[str, Task] = {}

    async def resolved(self, draft: TrajectoryDraft) -> tuple[NewTrajectory, Task]:
        """The run with ids for names. Raises what is wrong with it."""
        call = self._call
        call.key.require_agent(draft.agent)
        known_at = call.namespace.known_at(draft.known_at, call.now)
        task = await self._task(draft, known_at)
        agent = await self._names.ensure_agent(draft.agent)
        written = Provenance(call.key.id, known_at, call.now)
        return NewTrajectory(new_id(), draft, task.id, agent.id, written), task

    async def look_up(self, drafts: Sequence[TrajectoryDraft]) -> None:
        """The tasks that are there already."""
        ids = {draft.task_id for draft in drafts if draft.task_id is not None}
        keys = {draft.task.key for draft in drafts if draft.task is not None and draft.task.key}
        for task in await self._store.some(sorted(ids), sorted(keys)):
            self._known(task)

    def _known(self, task: Task) -> None:
        self._by_id[task.id] = task
        if task.key is not None:
            self._by_key[task.key] = task

    async def _task(self, draft: TrajectoryDraft, known_at: datetime) -> Task:
        if draft.task is not None:
            return await self._said(draft.task, known_at)
        assert draft.task_id is not None
        if draft.task_id not in self._by_id:
            raise NotFound("no such task", code="task_not_found", field="task_id")
        task = self._by_id[draft.task_id]
        if not task.text:
            # What a run says about an erased task would bring its words back.
            raise NotFound("the task was erased", code="task_not_found", field="task_id")
        return task

    async def _said(self, draft: TaskDraft, known_at: datetime) -> Task:
        """The task in its caller's words; its category is looked at even where it is known."""
        known = self._by_key.get(draft.key) if draft.key is not None else None
        if known is None:
            task, _ = await self._names.ensure_task(draft, known_at)
        else:
            if draft.category_name is not None:
                await self._names.ensure_category(draft.category_name)
            task = await self._store.agree(known, draft)
        self._known(task)
        return task


async def get(engine: Engine, call: Call, trajectory_id: UUID) -> Trajectory:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await TrajectoryStore(connection, call.namespace.id).get(trajectory_id)


async def browse(
    engine: Engine, call: Call, wanted: TrajectoryFilter, page: Page
) -> Listed[TrajectoryBrief]:
    """Oldest first, without their words."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await TrajectoryStore(connection, call.namespace.id).browse(wanted, page)


async def competences(
    engine: Engine, call: Call, as_of: datetime | None, page: Page
) -> Listed[Competence]:
    """Of every agent in every category it has verified runs in, by name; those known by `as_of`."""
    async with engine.database.transaction(call.namespace.id) as connection:
        counts = await CompetenceStore(connection, call.namespace.id).all(as_of)
        store = ActorStore(connection, call.namespace.id)
        agents = {agent.id: agent.name for agent in await store.every_agent()}
        categories = await store.names()
    values = shrunken(counts)
    rows = sorted(
        (agents[cell[0]], categories[cell[1]], n, total / n, values[cell])
        for cell, (n, total) in counts.items()
    )
    after = () if page.after is None else page.after
    found = [Competence(*row) for row in rows if row[:2] > after]
    return listed(found[: page.limit + 1], page, len(rows), lambda row: (row.agent, row.category))
