"""Constraints as contrasts bring them: runs of two agents, their contrast, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import insert

from memory.constraints.admission import (
    AdmissionResult,
    NewConstraint,
    admit_constraints,
    embed_constraints,
)
from memory.constraints.contrast_entities import Contrast, ContrastState, PairClass
from memory.constraints.entities import DISTILLED, Wording
from memory.constraints.tables import contrast
from memory.constraints.trajectory_entities import Trajectory
from memory.inference.service import adopt_model
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.tasks.entities import DISTILLER, Task, TaskDraft
from memory.tasks.service import add_task
from memory.tasks.store.actors import ActorStore
from memory.tasks.tables import trajectory
from memory.tenancy.entities import Call
from tests.fixtures.engine import NOON

TRIGGER = "a sum of parts is asked for and the parts are given in several different units"
ENFORCE = "converting every part to the unit of the answer before adding any of them up"
AVOID = "adding the parts up as they stand in the text and converting the total afterwards"
WORDING = Wording(TRIGGER, ENFORCE, AVOID)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two agents whose runs differ, and how they are declared."""

    agents: tuple[str, str] = ("large", "small")
    families: tuple[str | None, str | None] = ("north", "south")
    keys: tuple[UUID, UUID] = field(default_factory=lambda: (new_id(), new_id()))
    pair_class: PairClass = PairClass.DISCORDANT
    verifier: str = "test"


async def a_task(engine: Engine, call: Call, text: str, **changes: object) -> Task:
    fields: dict[str, object] = {"category": "mathematics", "subcategory": "sums"}
    draft = TaskDraft(text, **(fields | changes))  # pyright: ignore[reportArgumentType] - by name
    return (await add_task(engine, call, draft, None))[0]


async def contrasted(
    engine: Engine, call: Call, task: Task, pair: Pair | None = None, **changes: object
) -> NewConstraint:
    """The runs and their contrast are stored; the constraint that came of them is not, yet."""
    pair = pair or Pair()
    async with engine.database.transaction(call.namespace.id) as connection:
        actors = ActorStore(connection, call.namespace.id)
        runs: list[Trajectory] = []
        for agent, family, key_id in zip(pair.agents, pair.families, pair.keys, strict=True):
            agent_id = (await actors.ensure_agent(agent, None, NOON)).id
            run = _run(task, (agent_id, agent, family, key_id), pair, good=not runs)
            await connection.execute(insert(trajectory).values(**_run_row(run, call.namespace.id)))
            runs.append(run)
        made = _contrast(task, (runs[0], runs[1]), pair)
        await connection.execute(insert(contrast).values(**_row(made, call.namespace.id)))
    fields: dict[str, object] = {
        "wording": WORDING,
        "category_ids": task.category_ids,
        "task_id": task.id,
        "lint": (),
        "contrast": made,
        "pair": (runs[0], runs[1]),
        "origin": DISTILLED,
        "agent": DISTILLER,
        "counts": True,
        "learned_at": NOON,
    }
    return NewConstraint(**(fields | changes))  # pyright: ignore[reportArgumentType] - by name


async def admitted(
    engine: Engine, call: Call, *news: NewConstraint, now: datetime = NOON
) -> list[AdmissionResult]:
    ready = await embed_constraints(engine, call.namespace, news)
    async with engine.database.transaction(call.namespace.id) as connection:
        model_id = await adopt_model(connection, engine, call.namespace)
        return await admit_constraints(
            connection, call.namespace, ready, model_id=model_id, now=now
        )


def _run(
    task: Task, who: tuple[UUID, str, str | None, UUID], pair: Pair, *, good: bool
) -> Trajectory:
    agent_id, agent, family, key_id = who
    right = pair.pair_class is PairClass.BOTH_RIGHT or (
        good and pair.pair_class is PairClass.DISCORDANT
    )
    return Trajectory(
        id=new_id(),
        task_id=task.id,
        task_key=task.key,
        agent_id=agent_id,
        agent=agent,
        family=family,
        size_class=None,
        category=task.category,
        subcategory=task.subcategory,
        n_steps=0,
        steps=(),
        result="worked out",
        reward=1.0 if right else 0.0,
        verifier=pair.verifier,
        cost=None,
        known_at=NOON,
        recorded_at=NOON,
        erased_at=None,
        key_id=key_id,
    )


def _run_row(run: Trajectory, namespace_id: UUID) -> Mapping[str, object]:
    named = ("id", "task_id", "agent_id", "result", "reward", "verifier", "known_at", "recorded_at")
    return {name: getattr(run, name) for name in named} | {
        "namespace_id": namespace_id,
        "steps": [],
        "key_id": run.key_id,
    }


def _contrast(task: Task, runs: tuple[Trajectory, Trajectory], pair: Pair) -> Contrast:
    return Contrast(
        id=new_id(),
        task_id=task.id,
        preferred_id=runs[0].id,
        unpreferred_id=runs[1].id,
        preferred_agent=runs[0].agent,
        unpreferred_agent=runs[1].agent,
        pair_class=pair.pair_class,
        self_contrast=runs[0].agent == runs[1].agent,
        supports=True,
        reason=None,
        state=ContrastState.DISTILLING,
        distiller="scripted",
        memory_ids=(),
        rejected=(),
        duration_ms=None,
        tokens=0,
        known_at=NOON,
        recorded_at=NOON,
        done_at=None,
    )


def _row(made: Contrast, namespace_id: UUID) -> Mapping[str, object]:
    skipped = {"preferred_agent", "unpreferred_agent", "memory_ids", "rejected"}
    row = {name: getattr(made, name) for name in Contrast.__slots__ if name not in skipped}
    return row | {"namespace_id": namespace_id}
