"""Which agent predicts for which window: draft → receipt, task, event held → agent.

Everything is read for all drafts together; only tasks and agents that are new are written one by
one, in order of their names, as everyone does who makes several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.access import Call, Role
from memory.domain.prediction import Forecast, PredictionDraft
from memory.domain.task import Agent, Task
from memory.errors import Forbidden, MemoryFault, NotFound, Rejected
from memory.flows.actors import Names
from memory.flows.reckoning import require_answers
from memory.retrieval.rankers import rivals_of
from memory.storage.database import Connection
from memory.storage.predictions import PredictionStore
from memory.storage.receipts import Claim, ReceiptStore
from memory.storage.tasks import TaskStore


@dataclass(frozen=True, slots=True)
class Attempt:
    """A draft that was found good: who predicts for which window, and when that was known."""

    draft: PredictionDraft
    agent: Agent
    task: Task
    known_at: datetime


async def attempted(
    connection: Connection, call: Call, drafts: Sequence[PredictionDraft]
) -> list[Attempt | MemoryFault]:
    """Each draft with its agent and task, or why not; their events are held until commit."""
    receipts = ReceiptStore(connection, call.namespace.id)
    claims = await receipts.claims([d.retrieval_id for d in drafts if d.retrieval_id is not None])
    tasks = await _tasks(connection, call, drafts, claims)
    events = {event for draft in drafts if (event := _event(draft, claims, tasks)) is not None}
    await PredictionStore(connection, call.namespace.id).lock_events(sorted(events))
    # Read again: who held an event before may have said when a window closes.
    tasks = await _tasks(connection, call, drafts, claims)
    desk = _Desk(connection, call, claims, tasks)
    found: dict[int, Attempt | MemoryFault] = {}
    for position in sorted(range(len(drafts)), key=lambda place: _order(drafts[place])):
        try:
            found[position] = await desk.attempt(drafts[position])
        except MemoryFault as fault:
            found[position] = fault
    return [found[position] for position in range(len(drafts))]


@dataclass(frozen=True, slots=True)
class _Tasks:
    """Tasks that were there, by id and by key."""

    by_id: Mapping[UUID, Task]
    by_key: Mapping[str, Task]

    def known(self, draft: PredictionDraft, claims: Mapping[UUID, Claim]) -> Task | None:
        """The task a draft is about, if it is there."""
        if draft.task is not None:
            return None if draft.task.key is None else self.by_key.get(draft.task.key)
        task_id = _task_id(draft, claims)
        return None if task_id is None else self.by_id.get(task_id)


class _Desk:
    """Looks at one draft after another."""

    def __init__(
        self, connection: Connection, call: Call, claims: Mapping[UUID, Claim], tasks: _Tasks
    ) -> None:
        self._call = call
        self._claims = claims
        self._known = tasks
        self._tasks = TaskStore(connection, call.namespace.id)
        self._names = Names(connection, call)

    async def attempt(self, draft: PredictionDraft) -> Attempt:
        """Raises a fault where the draft cannot be taken."""
        self._call.key.require_agent(draft.agent)
        claim = self._claim(draft)
        known_at = self._call.namespace.known_at(draft.known_at, self._call.now)
        _require_answers(draft.forecast, claim)
        task = await self._task(draft, known_at)
        if task.group_key is None:
            raise Rejected("a window needs a group_key, its event", field="task.group_key")
        agent = await self._names.agent(draft.agent)
        if claim is not None and (claim.agent_id, claim.task_id) != (agent.id, task.id):
            raise Rejected("the receipt is of another agent or task", field="retrieval_id")
        return Attempt(draft, agent, task, known_at)

    def _claim(self, draft: PredictionDraft) -> Claim | None:
        if draft.retrieval_id is None:
            return None
        claim = self._claims.get(draft.retrieval_id)
        if claim is None:
            raise NotFound("no such retrieval", code="retrieval_not_found", field="retrieval_id")
        key = self._call.key
        if key.role is Role.AGENT and claim.key_id != key.id:
            raise Forbidden("another key opened this receipt", field="retrieval_id")
        return claim

    async def _task(self, draft: PredictionDraft, known_at: datetime) -> Task:
        known = self._known.known(draft, self._claims)
        if draft.task is None:
            if known is None:
                raise NotFound("no such task", code="task_not_found", field="task_id")
            return known
        if known is not None:
            return await self._tasks.agreed(known, draft.task)
        if draft.task.group_key is None:
            raise Rejected("a window needs a group_key, its event", field="task.group_key")
        task, _ = await self._names.task(draft.task, known_at)
        return task


async def _tasks(
    connection: Connection,
    call: Call,
    drafts: Sequence[PredictionDraft],
    claims: Mapping[UUID, Claim],
) -> _Tasks:
    ids = [key for draft in drafts if (key := _task_id(draft, claims)) is not None]
    keys = [d.task.key for d in drafts if d.task is not None and d.task.key is not None]
    found = await TaskStore(connection, call.namespace.id).some(ids, keys)
    return _Tasks(
        {task.id: task for task in found},
        {task.key: task for task in found if task.key is not None},
    )


def _task_id(draft: PredictionDraft, claims: Mapping[UUID, Claim]) -> UUID | None:
    """By what the draft names it, or by the receipt's."""
    if draft.task_id is not None:
        return draft.task_id
    claim = None if draft.retrieval_id is None else claims.get(draft.retrieval_id)
    return claim.task_id if claim is not None and draft.task is None else None


def _event(draft: PredictionDraft, claims: Mapping[UUID, Claim], tasks: _Tasks) -> str | None:
    """What is held: the event of the task that is there, else of the one to be made."""
    known = tasks.known(draft, claims)
    if known is not None:
        return known.group_key
    return None if draft.task is None else draft.task.group_key


def _order(draft: PredictionDraft) -> tuple[str, str]:
    return draft.agent, (draft.task.key or "") if draft.task is not None else ""


def _require_answers(forecast: Forecast, claim: Claim | None) -> None:
    """All rankers' answers or none, and only where the receipt has rivals."""
    if forecast.answers is not None:
        rivals = None if claim is None or not claim.rivals else rivals_of(claim.rankers)
        require_answers(forecast.answers, rivals)
