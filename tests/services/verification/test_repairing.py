"""A lesson that its trials turned down is written anew by a model, once."""

import json

import pytest

from memory.inference.stand_ins import ScriptedLlm
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Unavailable
from memory.memories.entities import Memory, Status
from memory.memories.service import get_memory, list_versions
from memory.outcomes.applying import apply_now
from memory.tasks.run_entities import RunTrace, Step
from memory.tenancy.entities import Key
from memory.verification.entities import Ticket
from memory.verification.service import cancel
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON
from tests.fixtures.llm_builders import on_record, with_llm
from tests.fixtures.verification_steps import a_run, claimed, job, tickets, tried
from tests.storage.steps import a_call, live_and_rebuilt, remembered

FIRST = "look at the clouds before anything else"
ANEW = {"situation": "a gauge answers with an error", "lesson": "ask for the nearest place instead"}
TOOL = RunTrace(steps=(Step(role="tool", tool="gauge", error="Error: no such place as pier"),))


async def a_rejected_lesson(engine: Engine, key: Key, slug: str) -> Ticket:
    """Drawn from a run that failed, tried by another agent, and no better than nothing."""
    call = await a_call(engine, key, slug)
    await remembered(engine, call, a_draft(lesson="what everyone knows"))
    for number, reward in ((1, 0.9), (3, 0.8), (4, 0.85)):
        await a_run(engine, call, number, reward=reward)
    await a_run(engine, call, 2, FIRST, reward=0.1, run=TOOL)
    await apply_now(engine, call)
    await job(engine, key, slug, "acquire", NOON)
    while True:
        ticket = await claimed(engine, await a_call(engine, key, slug))
        memory = await get_memory(engine, await a_call(engine, key, slug), ticket.memory_id)
        if memory.lesson == FIRST:
            break
    done = await tried(engine, await a_call(engine, key, slug), ticket, 0.1)
    assert done.ticket.decision == "rejected"
    return done.ticket


async def repaired(engine: Engine, key: Key, slug: str, llm: object, day: int = 0) -> None:
    asking = with_llm(engine, llm)  # pyright: ignore[reportArgumentType] - a stand-in
    await job(asking, key, slug, "acquire", NOON + day * DAY)


async def the_memory(engine: Engine, key: Key, slug: str, ticket: Ticket) -> Memory:
    return await get_memory(engine, await a_call(engine, key, slug), ticket.memory_id)


async def test_a_lesson_turned_down_is_proposed_anew_with_its_earlier_words_and_trials(
    engine: Engine, operator: Key, wall: str
) -> None:
    ticket = await a_rejected_lesson(engine, operator, wall)
    llm = ScriptedLlm([json.dumps(ANEW)])

    await repaired(engine, operator, wall, llm)

    memory = await the_memory(engine, operator, wall, ticket)
    assert (memory.status, memory.status_reason) == (Status.PROPOSED, "repaired")
    assert (memory.version, memory.lesson) == (2, ANEW["lesson"])
    call = await a_call(engine, operator, wall)
    versions = await list_versions(engine, call, memory.id)
    assert [one.lesson for one in versions] == [FIRST, ANEW["lesson"]]
    own = [one for one in await tickets(engine, call) if one.memory_id == memory.id]
    assert [(one.version, one.state) for one in own] == [(1, "decided"), (2, "open")]
    assert own[1].trials[0].reference == 0.1
    [asked] = llm.asked
    assert "no such place as pier" in asked.material
    assert FIRST in asked.material
    assert "gain_too_small" in asked.material
    assert "the same task: 0.100 and 0.100" in asked.material
    [kept] = await on_record(engine, call, role="repair")
    assert kept.memory_id == memory.id
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def test_there_is_one_try_whatever_comes_of_it(
    engine: Engine, operator: Key, wall: str
) -> None:
    ticket = await a_rejected_lesson(engine, operator, wall)
    llm = ScriptedLlm([json.dumps(ANEW)])
    await repaired(engine, operator, wall, llm)
    while True:
        second = await claimed(engine, await a_call(engine, operator, wall))
        if second.memory_id == ticket.memory_id:
            break
    await tried(engine, await a_call(engine, operator, wall), second, 0.1)

    await repaired(engine, operator, wall, llm, day=1)

    assert (await the_memory(engine, operator, wall, ticket)).status is Status.REJECTED
    assert len(llm.asked) == 1


@pytest.mark.parametrize(
    "said", [json.dumps(ANEW | {"lesson": FIRST}), "no JSON at all"], ids=["the same", "nothing"]
)
async def test_what_says_nothing_new_leaves_the_rejection_and_is_not_asked_again(
    engine: Engine, operator: Key, wall: str, said: str
) -> None:
    ticket = await a_rejected_lesson(engine, operator, wall)
    llm = ScriptedLlm([said])

    await repaired(engine, operator, wall, llm)
    asked = len(llm.asked)
    await repaired(engine, operator, wall, llm, day=1)

    assert (await the_memory(engine, operator, wall, ticket)).status is Status.REJECTED
    assert len(llm.asked) == asked == 3


async def test_a_model_that_is_away_has_not_spent_the_try(
    engine: Engine, operator: Key, wall: str
) -> None:
    ticket = await a_rejected_lesson(engine, operator, wall)
    away: list[str | MemoryFault] = [Unavailable("no key", code="llm_denied"), json.dumps(ANEW)]
    llm = ScriptedLlm(away)

    await repaired(engine, operator, wall, llm)
    assert (await the_memory(engine, operator, wall, ticket)).status is Status.REJECTED
    await repaired(engine, operator, wall, llm, day=1)

    assert (await the_memory(engine, operator, wall, ticket)).lesson == ANEW["lesson"]


async def test_what_a_manager_turned_down_and_what_was_never_drawn_from_a_run_stays_as_it_is(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft(lesson="what everyone knows"))
    for number, reward in ((1, 0.9), (3, 0.8), (4, 0.85)):
        await a_run(engine, call, number, reward=reward)
    await a_run(engine, call, 2, FIRST, reward=0.1, run=TOOL)
    await apply_now(engine, call)
    await job(engine, operator, wall, "acquire", NOON)
    for ticket in await tickets(engine, await a_call(engine, operator, wall)):
        await cancel(engine, await a_call(engine, operator, wall), ticket.id)
    llm = ScriptedLlm([json.dumps(ANEW)])

    await repaired(engine, operator, wall, llm)

    assert llm.asked == []
