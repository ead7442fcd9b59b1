"""A constraint that an unbound key brought is brought back by it as a proposal, never in use."""

from dataclasses import replace

from memory.constraints.bank import add_constraint
from memory.constraints.entities import Constraint, ConstraintDraft
from memory.curation.entities import StatusChange
from memory.curation.service import change_constraint
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.memories.entities import Status
from memory.memories.service import get_memory
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call
from tests.fixtures.engine import DAY, NOON, Caller


async def retired_and_restored(engine: Engine, manager: Call, author: Call) -> Constraint:
    """Disuse retires it, and its author brings it back."""
    draft = ConstraintDraft(
        agent="nobody",
        trigger="a price is asked for",
        enforce="solve the equation of the total",
        task=TaskDraft("How much is a ticket?", category="mathematics"),
    )
    made = await add_constraint(engine, author, draft)
    await run_job(engine, replace(manager, now=NOON + 181 * DAY), "decay", JobRequest())
    assert (await get_memory(engine, author, made.id)).status is Status.RETIRED
    return await change_constraint(engine, author, made.id, StatusChange("restore", None))


async def test_what_an_unbound_key_brings_back_waits(engine: Engine, calls: Caller, wall: str):
    author = await calls(wall, verifies="self")

    back = await retired_and_restored(engine, await calls(wall), author)

    assert (back.status, back.visibility) == (Status.PROPOSED, "agent")


async def test_an_agents_own_comes_back_into_use_for_it(engine: Engine, calls: Caller, wall: str):
    author = await calls(wall, agents=("nobody",))

    back = await retired_and_restored(engine, await calls(wall), author)

    assert (back.status, back.visibility) == (Status.ACTIVE, "agent")
