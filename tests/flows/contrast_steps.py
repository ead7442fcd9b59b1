"""Runs of a task by several agents, each under its own key, and what contrasting makes of them."""

import json
from collections.abc import Sequence
from uuid import UUID

from memory.constraints.contrast_entities import Contrast, ContrastFilter, ContrastRequest
from memory.constraints.service import add_trajectories, contrast_runs, list_contrasts
from memory.constraints.trajectory_entities import Step, TrajectoryDraft
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.paging import Page
from memory.memories.entities import Memory
from memory.memories.service import get_memory
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call

PAGE = Page(200)
TASK = TaskDraft(
    "Ann buys 6 boxes of 8 pens at 3 dollars a box. How much does she pay in all?",
    key="pens",
    category="mathematics",
)
RIGHT = ("The boxes are priced, not the pens.", "Multiply boxes by the price: 6 * 3 = 18.")
WRONG = ("There are 6 * 8 = 48 pens.", "Multiply pens by the price: 48 * 3 = 144.")
ENTRY = {
    "trigger": "a price is given for a container",
    "enforce": "counting containers before multiplying",
    "avoid": "counting what is inside the container",
}
SAID = json.dumps({"entries": [ENTRY]})


def a_run(agent: str, *, right: bool | None = True, **changes: object) -> TrajectoryDraft:
    fields: dict[str, object] = {
        "agent": agent,
        "task": TASK,
        "steps": tuple(Step(said) for said in (RIGHT if right else WRONG)),
        "reward": None if right is None else float(right),
        "verifier": "none" if right is None else "test",
    }
    return TrajectoryDraft(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name


async def ran(engine: Engine, call: Call, *drafts: TrajectoryDraft) -> list[UUID]:
    """The ids of runs that were kept."""
    answers = await add_trajectories(engine, call, drafts)
    kept = [one for one in answers if not isinstance(one, MemoryFault)]
    assert len(kept) == len(answers), answers
    return [one.id for one in kept]


async def contrasted(engine: Engine, call: Call, *run_ids: UUID) -> Sequence[Contrast]:
    return (await contrast_runs(engine, call, ContrastRequest(run_ids))).contrasts


async def contrasts(engine: Engine, call: Call, **wanted: object) -> Sequence[Contrast]:
    which = ContrastFilter(**wanted)  # pyright: ignore[reportArgumentType] - fields by name
    return (await list_contrasts(engine, call, which, PAGE)).items


async def memories_of(engine: Engine, call: Call, made: Contrast) -> list[Memory]:
    return [await get_memory(engine, call, memory_id) for memory_id in made.memory_ids]
