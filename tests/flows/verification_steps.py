"""Steps of verification that must succeed, with any engine and key."""

from datetime import datetime

from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.paging import Page
from memory.kernel.postgres.leadership import JobRun
from memory.memories.entities import Memory
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.retrieval.entities import Advice
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tenancy.entities import Call, Key
from memory.verification.entities import (
    ReportedLesson,
    Ticket,
    TicketClaim,
    TicketFilter,
    TrialReport,
    TrialResult,
    TrialsReported,
)
from memory.verification.service import claim, list_tickets, report_trials
from tests.fixtures.builders import a_draft
from tests.storage.steps import a_call, remembered, reported, served

PAGE = Page(200)
WEATHER = CategoryName("weather")


def a_task_draft(number: int = 0) -> TaskDraft:
    return TaskDraft(f"a forecast of rain {number}", key=f"task {number}", category=WEATHER.name)


async def a_run(
    engine: Engine,
    call: Call,
    number: int,
    lesson: str | None = None,
    **changes: object,
) -> Advice:
    """A served task with its outcome, which brings a lesson or none; paired where it brings both
    rewards.
    """
    how = {"purpose": "paired"} if "without" in changes else {"arm": "on"}
    answer = await served(engine, call, task=a_task_draft(number), **how)
    said = None if lesson is None else ReportedLesson(lesson)
    await reported(engine, call, answer, lesson=said, **changes)
    return answer


async def a_candidate(engine: Engine, key: Key, slug: str, **changes: object) -> Ticket:
    """The ticket of a memory that is to be verified before use, with a known reward of .4."""
    call = await a_call(engine, key, slug)
    await remembered(engine, call, a_draft(lesson="what everyone knows"))
    await a_run(engine, call, 0, reward=0.4)
    await apply_now(engine, call)
    call = await a_call(engine, key, slug)
    wanted: dict[str, object] = {"lesson": "look at the wind", "verify": True}
    await remembered(engine, call, a_draft(**(wanted | {"task": a_task_draft()} | changes)))
    return (await tickets(engine, call))[-1]


async def tickets(engine: Engine, call: Call) -> list[Ticket]:
    return list((await list_tickets(engine, call, TicketFilter(), PAGE)).items)


async def claimed(engine: Engine, call: Call, agent: str = "tester", **changes: object) -> Ticket:
    [ticket] = await claim(engine, call, TicketClaim(agent, **changes))  # pyright: ignore[reportArgumentType] - fields by name
    return ticket


def trials_of(ticket: Ticket, reward: float) -> tuple[TrialResult, ...]:
    """Every trial that is out brings this reward; anchors bring what they had."""
    return tuple(
        TrialResult(slot.slot, slot.reference if slot.purpose == "anchor" else reward)
        for slot in ticket.trials
        if slot.reward is None
    )


async def tried(
    engine: Engine, call: Call, ticket: Ticket, reward: float, **changes: object
) -> TrialsReported:
    fields: dict[str, object] = {
        "agent": "tester",
        "metric": "reward",
        "trials": trials_of(ticket, reward),
    }
    report = TrialReport(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name
    return await report_trials(engine, call, ticket.id, report)


async def memory_of(engine: Engine, call: Call, ticket: Ticket) -> Memory:
    return await get_memory(engine, call, ticket.memory_id)


async def job(
    engine: Engine, key: Key, slug: str, name: str, now: datetime, *, dry: bool = False
) -> JobRun:
    """A run of a job by hand; in a namespace with the wall clock `now` is the server's."""
    call = await a_call(engine, key, slug, now)
    known = now if call.namespace.clock.value == "replay" else None
    return await run_job(engine, call, name, JobRequest(known, dry_run=dry))
