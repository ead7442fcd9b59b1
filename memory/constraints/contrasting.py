"""Runs become pairs: of every task with new runs (the job), or of the runs that a caller names.

Pairs are formed in one transaction; each is there once, whoever forms it again. What can be
distilled waits in a queue; a caller's own pairs are worked off at once, as far as the time goes.
Without a language model they are stored and wait, and the answer says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from uuid import UUID

from memory.constraints.distilling import work_on
from memory.constraints.entities import (
    Contrast,
    Contrasted,
    ContrastFilter,
    ContrastRequest,
    Pair,
    RunSketch,
)
from memory.constraints.pairs import pairs_of
from memory.constraints.store.contrasts import ContrastStore, Formed
from memory.constraints.store.runs import PairingStore
from memory.constraints.store.trajectories import TrajectoryStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, NotFound, Rejected
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Act, Call, Clock, Namespace

LOOKED_AT = 5_000
"""So many tasks are looked at in one run; the rest in the next."""


AT_ONCE = 200
"""So many of them are in memory at a time."""


WITHOUT_MODEL = "no language model is configured: pairs are stored and wait"


@dataclass(slots=True)
class Forming:
    """Which pairs a run would form, or did."""

    distils: bool
    examined: int = 0
    pairs: list[Pair] = field(default_factory=list[Pair])

    def result(self) -> dict[str, object]:
        changes = [_change(pair) for pair in self.pairs]
        said: dict[str, object] = {"examined": self.examined, "changes": changes}
        return said if self.distils else said | {"distilled": False, "reason": WITHOUT_MODEL}


async def can_distil(engine: Engine, _namespace: Namespace, _times: object) -> bool:
    """Whether what a run pairs is distilled afterwards: a language model is configured."""
    return engine.writer is not None


async def form(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],
    *,
    dry: bool,
    plan: bool,
) -> Forming:
    """Pair the runs that came since their tasks were looked at, with each other and with older
    ones. `plan`: whether a language model distils them afterwards.
    """
    now, recorded_at = times
    done = Forming(plan)
    tasks = await PairingStore(connection, namespace.id).fresh_tasks(now, LOOKED_AT)
    formed = Formed(recorded_at, known_at=now)
    for start in range(0, len(tasks), AT_ONCE):
        some = tasks[start : start + AT_ONCE]
        runs = await PairingStore(connection, namespace.id).groups(some, now)
        fresh = [run.id for run in runs if run.fresh]
        known = await PairingStore(connection, namespace.id).known(some)
        pairs = [pair for pair in _pairs(runs) if _has_fresh(pair) and pair.ids not in known]
        done.examined += len(fresh)
        done.pairs += pairs
        if not dry:
            await ContrastStore(connection, namespace.id).add(pairs, formed)
            await TrajectoryStore(connection, namespace.id).mark_paired(fresh, recorded_at)
    return done


async def contrast(engine: Engine, call: Call, request: ContrastRequest) -> Contrasted:
    """Pair a task's runs, or these, and distil the pairs; what takes too long stays queued, and
    everything does where no language model is configured.
    """
    call.key.require(Act.REMEMBER)
    async with engine.database.transaction(call.namespace.id) as connection:
        pairs, known = await _formed(connection, call, request)
        found = await ContrastStore(connection, call.namespace.id).of_pairs(pairs)
    ids = [one.id for one in found]
    await work_on(engine, call.namespace, ids, call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await ContrastStore(connection, call.namespace.id).of_pairs(pairs)
    return Contrasted(found, new=any(pair.ids not in known for pair in pairs))


async def redo(engine: Engine, call: Call, contrast_id: UUID) -> Contrast:
    """Distil a pair again of which nothing came. Raises Conflict where something did, where
    nothing can, and while another process is at it.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ContrastStore(connection, call.namespace.id)
        known = await store.get(contrast_id)
        if not await store.again(contrast_id):
            raise Conflict(f"the contrast is {known.state}", code="contrast_closed")
    await work_on(engine, call.namespace, [contrast_id], call.now)
    return await get(engine, call, contrast_id)


async def get(engine: Engine, call: Call, contrast_id: UUID) -> Contrast:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ContrastStore(connection, call.namespace.id).get(contrast_id)


async def browse(
    engine: Engine, call: Call, wanted: ContrastFilter, page: Page
) -> Listed[Contrast]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ContrastStore(connection, call.namespace.id).browse(wanted, page)


async def _formed(
    connection: Connection, call: Call, request: ContrastRequest
) -> tuple[list[Pair], set[frozenset[UUID]]]:
    """The pairs of the request, which are stored now, and those of its task that were before."""
    namespace = call.namespace
    runs = await _runs(connection, call, request)
    pairs = pairs_of(runs)
    tasks = list({run.task_id for run in runs})
    known = await PairingStore(connection, namespace.id).known(tasks)
    known_at = call.now if namespace.clock is Clock.WALL else None
    await ContrastStore(connection, namespace.id).add(
        pairs, Formed(call.now, known_at, call.key.id)
    )
    if request.task_id is not None:
        fresh = [run.id for run in runs if run.fresh]
        await TrajectoryStore(connection, namespace.id).mark_paired(fresh, call.now)
    return pairs, known


async def _runs(connection: Connection, call: Call, request: ContrastRequest) -> list[RunSketch]:
    store = PairingStore(connection, call.namespace.id)
    if request.task_id is not None:
        await TaskStore(connection, call.namespace.id).get(request.task_id)
        return await store.groups([request.task_id], call.now)
    runs = await store.sketches(request.trajectory_ids)
    missing = set(request.trajectory_ids) - {run.id for run in runs}
    if missing:
        raise NotFound(
            f"no trajectory {min(missing)}", code="trajectory_not_found", field="trajectory_ids"
        )
    if len({run.task_id for run in runs}) > 1:
        raise Rejected(
            "runs of different tasks are not held against each other",
            code="other_task",
            field="trajectory_ids",
        )
    return runs


def _pairs(runs: Iterable[RunSketch]) -> list[Pair]:
    """Of runs in the order of their tasks."""
    groups = groupby(runs, key=lambda run: run.task_id)
    return [pair for _, group in groups for pair in pairs_of(list(group))]


def _has_fresh(pair: Pair) -> bool:
    return pair.preferred.fresh or pair.unpreferred.fresh


def _change(pair: Pair) -> dict[str, object]:
    return {
        "change": "contrast",
        "task_id": str(pair.preferred.task_id),
        "preferred_id": str(pair.preferred.id),
        "unpreferred_id": str(pair.unpreferred.id),
        "pair_class": pair.pair_class.value,
        "state": pair.state.value,
        "reason": pair.reason,
    }
