"""Runs of tasks teach constraints, which serve agents of any model.

Runs are kept (`add_trajectories`) → those of one task become pairs (`pair_new_runs`, a job, or
`contrast_runs`, a caller's wish) → a language model distils each pair (`distillation_queue`) → what
it says is admitted to the bank (`admission`), beside what contradicts it (`contradictions`) →
whoever retrieves is served the constraints of the nearest tasks (`selection`).

No model is asked to keep a run, so that one costs the same however many there are. Pairs are formed
in one transaction; each is there once, whoever forms it again. What can be distilled waits in a
queue; a caller's own pairs are distilled at once, as far as the time goes. Without a language model
they are stored and wait, and the answer says so.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from uuid import UUID

from memory.constraints.contrast_entities import (
    Contrast,
    ContrastFilter,
    ContrastRequest,
    Contrasts,
    RunPair,
    RunSketch,
)
from memory.constraints.distillation_queue import distil_now
from memory.constraints.pairs import pairs_of
from memory.constraints.store.competence import CompetenceStore
from memory.constraints.store.contrasts import ContrastStore, PairingStamp
from memory.constraints.store.runs import PairingStore
from memory.constraints.store.trajectories import NewTrajectory, TrajectoryStore
from memory.constraints.trajectory_entities import (
    SUPPORTING,
    AddedTrajectory,
    AgentCategory,
    Trajectory,
    TrajectoryDraft,
    TrajectoryFilter,
    TrajectorySummary,
    VerifiedRuns,
)
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, MemoryFault, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.memories.service import hide_private, load_mask, viewer
from memory.receipts.store.receipts import ReceiptOwner, ReceiptStore
from memory.tasks.entities import Task, TaskDraft
from memory.tasks.run_entities import RunTrace
from memory.tasks.service import NameResolver
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tenancy.entities import Act, Call, Clock, Namespace, Role

RUNS_OF_RECEIPT = 16
"""So many runs are kept behind one receipt, whoever brought them."""


MAX_TASKS = 5_000
"""So many tasks are looked at in one run; the rest in the next."""


TASKS_AT_ONCE = 200
"""So many of them are in memory at a time."""


WITHOUT_MODEL = "no language model is configured: pairs are stored and wait"


AddedOrFault = AddedTrajectory | MemoryFault


async def add_trajectories(
    engine: Engine, call: Call, drafts: Sequence[TrajectoryDraft]
) -> list[AddedOrFault]:
    """Keep each run; the answers are in the drafts' order, each true by itself."""
    call.key.require(Act.REMEMBER)
    answers: list[AddedOrFault] = []
    new: list[NewTrajectory] = []
    counts: dict[AgentCategory, VerifiedRuns] = defaultdict(lambda: VerifiedRuns(0, 0.0))
    async with engine.database.effect(call.namespace.id) as connection:
        competence = CompetenceStore(connection, call.namespace.id)
        await competence.hold()
        resolver = _RunResolver(connection, call)
        await resolver.load_tasks(drafts)
        for draft in drafts:
            try:
                run, task = await resolver.resolve(draft)
            except MemoryFault as fault:
                answers.append(fault)
                continue
            new.append(run)
            answers.append(_added(run, task))
            if draft.reward is not None and draft.verifier in SUPPORTING:
                cell = AgentCategory(run.agent_id, task.category_id)
                n, total = counts[cell]
                counts[cell] = VerifiedRuns(n + 1, total + draft.reward)
        await TrajectoryStore(connection, call.namespace.id).add(new)
        await competence.add(counts)
    return answers


def _added(run: NewTrajectory, task: Task) -> AddedTrajectory:
    return AddedTrajectory(run.id, task.id, task.category, task.subcategory, run.draft.right)


class _RunResolver:
    """Ids for the names in the runs of one transaction; each agent and category is looked up once,
    and known tasks all at once.
    """

    def __init__(self, connection: Connection, call: Call) -> None:
        self._call = call
        self._connection = connection
        self._names = NameResolver(connection, call)
        self._store = TaskStore(connection, call.namespace.id)
        self._by_id: dict[UUID, Task] = {}
        self._by_key: dict[str, Task] = {}
        self._brought: dict[UUID, int] = {}

    async def load_tasks(self, drafts: Sequence[TrajectoryDraft]) -> None:
        """The tasks that are there already."""
        ids = {draft.task_id for draft in drafts if draft.task_id is not None}
        keys = {draft.task.key for draft in drafts if draft.task is not None and draft.task.key}
        for task in await self._store.some(sorted(ids), sorted(keys)):
            self._remember(task)

    async def resolve(self, draft: TrajectoryDraft) -> tuple[NewTrajectory, Task]:
        """The run with ids for names. Raises what is wrong with it."""
        call = self._call
        call.key.require_agent(draft.agent)
        call.key.require_claim(draft.verifier)
        known_at = call.namespace.known_at(draft.known_at, call.now)
        owner = await self._owner_of(draft)
        task = await self._task_of(draft, known_at, owner)
        agent = await self._names.ensure_agent(draft.agent)
        if owner is not None and owner.agent_id != agent.id:
            raise Rejected("another agent opened this receipt", field="agent")
        written = Provenance(call.key.id, known_at, call.now)
        return NewTrajectory(new_id(), draft, task.id, agent.id, written), task

    async def _owner_of(self, draft: TrajectoryDraft) -> ReceiptOwner | None:
        """Whose receipt the run stands behind; an agent's key attaches runs to its own alone."""
        if draft.retrieval_id is None:
            return None
        receipts = ReceiptStore(self._connection, self._call.namespace.id)
        owner = (await receipts.owners([draft.retrieval_id])).get(draft.retrieval_id)
        if owner is None:
            raise NotFound(
                f"no such retrieval: {draft.retrieval_id}",
                code="retrieval_not_found",
                field="retrieval_id",
            )
        key = self._call.key
        if key.role is Role.AGENT and owner.key_id != key.id:
            raise Forbidden("another key opened this receipt", field="retrieval_id")
        trajectories = TrajectoryStore(self._connection, self._call.namespace.id)
        known = await trajectories.count_of_receipt(draft.retrieval_id)
        brought = self._brought.get(draft.retrieval_id, 0)
        _require_room(known + brought, "retrieval_id")
        self._brought[draft.retrieval_id] = brought + 1
        return owner

    async def _task_of(
        self, draft: TrajectoryDraft, known_at: datetime, owner: ReceiptOwner | None
    ) -> Task:
        if draft.task is not None:
            return await self._ensure_task(draft.task, known_at)
        if owner is not None:
            task = await self._store.get(owner.task_id)
        else:
            found = None if draft.task_id is None else self._by_id.get(draft.task_id)
            if found is None:
                raise NotFound(
                    f"no such task: {draft.task_id}", code="task_not_found", field="task_id"
                )
            task = found
        if not task.text:
            # What a run says about an erased task would bring its words back.
            raise NotFound("the task was erased", code="task_not_found", field="task_id")
        return task

    async def _ensure_task(self, draft: TaskDraft, known_at: datetime) -> Task:
        """The task in its caller's words; its category is looked at even where it is known."""
        known = self._by_key.get(draft.key) if draft.key is not None else None
        if known is None:
            task, _ = await self._names.ensure_task(draft, known_at)
        else:
            if draft.category_name is not None:
                await self._names.ensure_category(draft.category_name)
            task = await self._store.agree(known, draft)
        self._remember(task)
        return task

    def _remember(self, task: Task) -> None:
        self._by_id[task.id] = task
        if task.key is not None:
            self._by_key[task.key] = task


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run that an outcome brings, and the verdict on it."""

    retrieval_id: UUID
    trace: RunTrace
    reward: float
    verifier: str
    known_at: datetime


async def hold_counts(connection: Connection, call: Call) -> None:
    """To be called before anything else is locked by whoever keeps runs later on."""
    await CompetenceStore(connection, call.namespace.id).hold()


async def keep_reported_run(connection: Connection, call: Call, run: ReportedRun) -> UUID | None:
    """Keep the run behind a receipt, once; what its key had said of the receipt's run before has
    no verdict any more. None where the task was erased: a run would bring its words back.
    """
    receipt = await ReceiptStore(connection, call.namespace.id).get(run.retrieval_id)
    assert receipt.task_id is not None
    task = await TaskStore(connection, call.namespace.id).get(receipt.task_id)
    if not task.text:
        return None
    trace = run.trace
    store = TrajectoryStore(connection, call.namespace.id)
    before = await store.of_receipt(run.retrieval_id, call.key.id)
    for one in before:
        if _is_trace(one, trace) and (one.reward, one.verifier) == (run.reward, run.verifier):
            return one.id
    draft = TrajectoryDraft(
        agent=receipt.agent,
        steps=trace.steps,
        result=trace.result,
        rationale=trace.rationale,
        reward=run.reward,
        verifier=run.verifier,
        retrieval_id=run.retrieval_id,
    )
    written = Provenance(call.key.id, run.known_at, call.now)
    new = NewTrajectory(new_id(), draft, task.id, receipt.agent_id, written)
    await store.withdraw([one.id for one in before], call.now)
    await store.add([new])
    counts: dict[AgentCategory, VerifiedRuns] = {}
    if run.verifier in SUPPORTING:
        gone = [one.reward or 0.0 for one in before if one.verifier in SUPPORTING]
        cell = AgentCategory(receipt.agent_id, task.category_id)
        counts[cell] = VerifiedRuns(1 - len(gone), run.reward - sum(gone))
    await CompetenceStore(connection, call.namespace.id).add(counts)
    return new.id


async def require_room_for_run(
    connection: Connection, call: Call, retrieval_id: UUID, trace: RunTrace
) -> None:
    """Raises Rejected where a report brings a run more than is kept behind its receipt; one that is
    there is no more.
    """
    store = TrajectoryStore(connection, call.namespace.id)
    known = await store.count_of_receipt(retrieval_id)
    if known >= RUNS_OF_RECEIPT:
        own = await store.of_receipt(retrieval_id, call.key.id)
        _require_room(known if not any(_is_trace(one, trace) for one in own) else 0, "run")


def _is_trace(run: Trajectory, trace: RunTrace) -> bool:
    return (run.steps, run.result, run.rationale) == (trace.steps, trace.result, trace.rationale)


def _require_room(known: int, field_name: str) -> None:
    """Raises Rejected where as many runs stand behind a receipt as are kept."""
    if known >= RUNS_OF_RECEIPT:
        raise Rejected(
            f"{known} runs are kept behind this receipt, and no more are",
            code="quota_exceeded",
            field=field_name,
            limit=RUNS_OF_RECEIPT,
        )


async def get_trajectory(engine: Engine, call: Call, trajectory_id: UUID) -> Trajectory:
    """A run with its words; without them where it was told of memories that the key may not read:
    whoever acts on advice quotes it.
    """
    async with engine.database.transaction(call.namespace.id) as connection:
        run = await TrajectoryStore(connection, call.namespace.id).get(trajectory_id)
        if run.retrieval_id is None:
            return run
        receipts = await ReceiptStore(connection, call.namespace.id).contexts([run.retrieval_id])
        told = receipts[run.retrieval_id].cited
        seen_by = await viewer(connection, call)
        mask = await load_mask(connection, call.namespace.id, seen_by, told)
        return run.without_words if mask.hides(told) else run


async def list_trajectories(
    engine: Engine, call: Call, wanted: TrajectoryFilter, page: Page
) -> Listed[TrajectorySummary]:
    """Oldest first unless asked otherwise, without their words."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await TrajectoryStore(connection, call.namespace.id).browse(wanted, page)


@dataclass(slots=True)
class PairingRun:
    """Which pairs a run of the job would form, or did."""

    distils: bool
    examined: int = 0
    pairs: list[RunPair] = field(default_factory=list[RunPair])

    def result(self) -> dict[str, object]:
        changes = [_change(pair) for pair in self.pairs]
        result: dict[str, object] = {"examined": self.examined, "changes": changes}
        return result if self.distils else result | {"distilled": False, "reason": WITHOUT_MODEL}


async def can_distil(engine: Engine, _namespace: Namespace, _times: object) -> bool:
    """Whether what a run pairs is distilled afterwards: a language model is configured."""
    return engine.llm is not None


async def pair_new_runs(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],
    *,
    dry: bool,
    plan: bool,
) -> PairingRun:
    """Pair the runs that came since their tasks were looked at, with each other and with older
    ones. `plan`: whether a language model distils them afterwards.
    """
    now, recorded_at = times
    done = PairingRun(plan)
    tasks = await PairingStore(connection, namespace.id).fresh_tasks(now, MAX_TASKS)
    stamp = PairingStamp(recorded_at, known_at=now)
    for start in range(0, len(tasks), TASKS_AT_ONCE):
        some = tasks[start : start + TASKS_AT_ONCE]
        runs = await PairingStore(connection, namespace.id).groups(some, now)
        fresh = [run.id for run in runs if run.fresh]
        known = await PairingStore(connection, namespace.id).known(some)
        groups = groupby(runs, key=lambda run: run.task_id)
        every = [pair for _, group in groups for pair in pairs_of(list(group))]
        pairs = [pair for pair in every if _has_fresh(pair) and pair.ids not in known]
        done.examined += len(fresh)
        done.pairs += pairs
        if not dry:
            await ContrastStore(connection, namespace.id).add(pairs, stamp)
            await TrajectoryStore(connection, namespace.id).mark_paired(fresh, recorded_at)
    return done


def _has_fresh(pair: RunPair) -> bool:
    return pair.preferred.fresh or pair.unpreferred.fresh


def _change(pair: RunPair) -> dict[str, object]:
    return {
        "change": "contrast",
        "task_id": str(pair.preferred.task_id),
        "preferred_id": str(pair.preferred.id),
        "unpreferred_id": str(pair.unpreferred.id),
        "pair_class": pair.pair_class.value,
        "state": pair.state.value,
        "reason": pair.reason,
    }


async def contrast_runs(engine: Engine, call: Call, request: ContrastRequest) -> Contrasts:
    """Pair a task's runs, or these, and distil the pairs; what takes too long stays queued, and
    everything does where no language model is configured.
    """
    call.key.require(Act.REMEMBER)
    async with engine.database.transaction(call.namespace.id) as connection:
        runs = await _load_runs(connection, call, request)
        pairs = pairs_of(runs)
        known = await _store_pairs(connection, call, request, runs=runs, pairs=pairs)
        found = await ContrastStore(connection, call.namespace.id).of_pairs(pairs)
    await distil_now(engine, call.namespace, [one.id for one in found], call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await ContrastStore(connection, call.namespace.id).of_pairs(pairs)
        found = await hide_private(connection, call, found)
    return Contrasts(found, new=any(pair.ids not in known for pair in pairs))


async def _load_runs(
    connection: Connection, call: Call, request: ContrastRequest
) -> list[RunSketch]:
    store = PairingStore(connection, call.namespace.id)
    if request.task_id is not None:
        await TaskStore(connection, call.namespace.id).get(request.task_id)
        return await store.groups([request.task_id], call.now)
    wanted = request.trajectory_ids or ()
    runs = await store.sketches(wanted)
    missing = set(wanted) - {run.id for run in runs}
    if missing:
        raise NotFound(
            f"no trajectory {min(missing)}", code="trajectory_not_found", field="trajectory_ids"
        )
    if len({run.task_id for run in runs}) > 1:
        raise Rejected(
            "runs of different tasks are not compared with each other",
            code="other_task",
            field="trajectory_ids",
        )
    return runs


async def _store_pairs(
    connection: Connection,
    call: Call,
    request: ContrastRequest,
    *,
    runs: Sequence[RunSketch],
    pairs: Sequence[RunPair],
) -> set[frozenset[UUID]]:
    """Returns the pairs of the task that were there before."""
    namespace = call.namespace
    tasks = list({run.task_id for run in runs})
    known = await PairingStore(connection, namespace.id).known(tasks)
    known_at = call.now if namespace.clock is Clock.WALL else None
    stamp = PairingStamp(call.now, known_at, call.key.id)
    await ContrastStore(connection, namespace.id).add(pairs, stamp)
    if request.task_id is not None:
        fresh = [run.id for run in runs if run.fresh]
        await TrajectoryStore(connection, namespace.id).mark_paired(fresh, call.now)
    return known


async def distil_again(engine: Engine, call: Call, contrast_id: UUID) -> Contrast:
    """Distil a pair again of which nothing came. Raises Conflict where something did, where
    nothing can, and while another process is at it.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ContrastStore(connection, call.namespace.id)
        known = await store.get(contrast_id)
        if not await store.queue_again(contrast_id):
            raise Conflict(f"the contrast is {known.state}", code="contrast_closed")
    await distil_now(engine, call.namespace, [contrast_id], call.now)
    return await get_contrast(engine, call, contrast_id)


async def get_contrast(engine: Engine, call: Call, contrast_id: UUID) -> Contrast:
    async with engine.database.transaction(call.namespace.id) as connection:
        known = await ContrastStore(connection, call.namespace.id).get(contrast_id)
        return await hide_private(connection, call, known)


async def list_contrasts(
    engine: Engine, call: Call, wanted: ContrastFilter, page: Page
) -> Listed[Contrast]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await ContrastStore(connection, call.namespace.id).browse(wanted, page)
        return await hide_private(connection, call, found)
