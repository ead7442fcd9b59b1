"""What fades retires by the number that ranks; what is only repeated is no evidence."""

from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.experiences.service import remember
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.paging import Page
from memory.kernel.postgres.leadership import JobRun
from memory.memories.entities import MemoryEdit, MemoryFilter, Remembered, Status
from memory.memories.service import get_memory, list_memories
from memory.outcomes.applying import apply_now
from memory.outcomes.service import get_outcome
from memory.retrieval.entities import Advice
from memory.tenancy.entities import Call, Clock, Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, Caller, a_namespace
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

PAGE = Page(200)
LONG = "start from the base rate of the month and move little unless the pressure falls for days"


async def decayed(engine: Engine, call: Call, days: int, *, dry: bool = False) -> JobRun:
    call = await a_call(engine, call.key, call.namespace.slug)
    return await run_job(engine, call, "decay", JobRequest(NOON + days * DAY, dry_run=dry))


def retirements(run: JobRun) -> dict[UUID, tuple[str, float]]:
    assert run.result is not None
    listed = run.result["changes"]
    assert isinstance(listed, list)
    named = [one for one in listed if "reason" in one]
    return {UUID(one["memory_id"]): (one["reason"], one["weight_after"]) for one in named}


async def a_bank(engine: Engine, key: Key, *lessons: str) -> tuple[Call, list[UUID]]:
    slug = await a_namespace(engine, key, clock=Clock.REPLAY)
    call = await a_call(engine, key, slug)
    drafts = [a_draft(lesson=lesson, learned_at=NOON) for lesson in lessons]
    return call, [one.id for one in await remembered(engine, call, *drafts)]


async def blamed(engine: Engine, call: Call, memory_id: UUID, times: int) -> None:
    """So many bad outcomes of runs in which this memory alone was served."""
    done = 0
    while done < times:
        answer = await served(engine, call, as_of=NOON, k=1, purpose="paired")
        [item] = answer.receipt.items
        assert item.memory_id == memory_id
        await reported(
            engine, call, answer, reward=0.0, without={"reward": 0.9}, known_at=NOON + DAY
        )
        done += 1
    await apply_now(engine, call)


async def changed(engine: Engine, call: Call, memory_id: UUID, action: str) -> None:
    call = await a_call(engine, call.key, call.namespace.slug)
    await change_status(engine, call, memory_id, StatusChange(action))


async def test_the_memory_that_ranks_at_the_floor_is_the_one_a_dry_run_names(
    engine: Engine, operator: Key
) -> None:
    call, [bad, used, unused] = await a_bank(engine, operator, "bad advice", "used", "unused")
    for other in (used, unused):
        await changed(engine, call, other, "suspend")
    await blamed(engine, call, bad, 8)
    for other in (used, unused):
        await changed(engine, call, other, "restore")
    answer = await served(engine, call, as_of=NOON + 10 * DAY, k=3)
    by_weight = sorted(answer.receipt.items, key=lambda item: item.effective_weight)

    dry = await decayed(engine, call, 10, dry=True)

    lowest = by_weight[0]
    assert lowest.memory_id == bad
    assert lowest.effective_weight <= 0.2 < by_weight[1].effective_weight
    assert retirements(dry) == {
        bad: ("low_weight", pytest.approx(lowest.effective_weight, abs=1e-9))
    }


async def test_after_180_days_what_was_not_used_retires_and_what_was_stays(
    engine: Engine, operator: Key
) -> None:
    call, [one, other] = await a_bank(engine, operator, "start from the base rate", "watch clouds")
    answer = await served(engine, call, as_of=NOON + 90 * DAY, k=1)
    [used] = [item.memory_id for item in answer.receipt.items]
    [unused] = {one, other} - {used}

    early = await decayed(engine, call, 179)
    dry = await decayed(engine, call, 180, dry=True)
    run = await decayed(engine, call, 180)

    assert retirements(early) == {}
    assert retirements(dry) == retirements(run) == {unused: ("disuse", 1.0)}
    after = await served(engine, call, as_of=NOON + 181 * DAY, k=2)
    assert [item.memory_id for item in after.receipt.items] == [used]


async def test_on_probation_a_memory_retires_by_the_half_weight_it_ranks_with(
    engine: Engine, operator: Key
) -> None:
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    [lesson] = await remembered(engine, call, a_draft(learned_at=NOON, weight=0.38))
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text("UPDATE memory SET status = 'probation'"))
        await connection.execute(text("UPDATE memory_weight SET n_credited = 5"))
    answer = await served(engine, call, as_of=NOON, k=1)

    dry = await decayed(engine, call, 0, dry=True)

    [item] = answer.receipt.items
    assert retirements(dry) == {lesson.id: ("low_weight", item.effective_weight)}
    assert item.effective_weight == pytest.approx(0.19)


async def test_a_retired_memory_keeps_its_record_and_its_late_outcomes_are_answered(
    engine: Engine, operator: Key
) -> None:
    call, [bad] = await a_bank(engine, operator, "bad advice")
    late = await served(engine, call, as_of=NOON, k=1, purpose="paired")
    await blamed(engine, call, bad, 8)
    await decayed(engine, call, 3)
    before, _ = await live_and_rebuilt(engine, call)

    reply = await reported(
        engine, call, late, reward=0.9, without={"reward": 0.1}, known_at=NOON + 9 * DAY
    )
    await apply_now(engine, call)

    kept = await get_memory(engine, await a_call(engine, operator, call.namespace.slug), bad)
    assert (kept.status, kept.status_reason) == (Status.RETIRED, "low_weight")
    outcome = await get_outcome(engine, call, reply.outcome.id)
    assert (outcome.status, outcome.evidence) == ("applied", "paired")
    after, again = await live_and_rebuilt(engine, call)
    assert after == again
    assert after.memories[bad] != before.memories[bad]


async def test_a_restored_memory_is_tried_anew_and_retires_again_only_on_new_evidence(
    engine: Engine, operator: Key
) -> None:
    call, [bad] = await a_bank(engine, operator, "bad advice")
    await blamed(engine, call, bad, 8)
    await decayed(engine, call, 3)
    await changed(engine, call, bad, "restore")

    next_day = await decayed(engine, call, 4)
    await blamed(engine, call, bad, 5)
    later = await decayed(engine, call, 5)

    assert retirements(next_day) == {}
    assert set(retirements(later)) == {bad}


async def test_restoring_what_was_not_used_gives_it_as_long_again(
    engine: Engine, operator: Key
) -> None:
    call, [unused] = await a_bank(engine, operator, "watch clouds")
    await decayed(engine, call, 200)
    await changed(engine, call, unused, "restore")

    soon, late = await decayed(engine, call, 379), await decayed(engine, call, 380)

    assert retirements(soon) == {}
    assert set(retirements(late)) == {unused}


async def transcript(engine: Engine, call: Call, answer: Advice, **changes: object) -> Remembered:
    """What an agent writes that writes down everything it saw."""
    told = f"The task was a forecast of rain.\n{answer.receipt.guideline.text}\nI answered 0.3."
    draft = a_draft(**{"situation": "what happened", "lesson": told} | changes)
    [answered] = await remember(engine, call, [draft])
    assert isinstance(answered, Remembered), answered
    return answered


async def bank(engine: Engine, call: Call) -> list[tuple[UUID, int, int]]:
    listed = await list_memories(engine, call, MemoryFilter(), PAGE)
    return [(memory.id, memory.version, memory.evidence) for memory in listed.items]


async def test_fifty_transcripts_with_the_guideline_in_them_change_nothing(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    lessons = await remembered(engine, call, a_draft(lesson=LONG), a_draft(lesson="watch clouds"))
    call = await a_call(engine, operator, wall)
    before = await bank(engine, call), await live_and_rebuilt(engine, call)

    for _ in range(50):
        answer = await served(engine, call)
        told = await transcript(engine, call, answer)
        assert told.echo
        assert set(told.echoes) == {lesson.id for lesson in lessons}
        assert told.id in told.echoes

    assert (await bank(engine, call), await live_and_rebuilt(engine, call)) == before
    assert await a_call(engine, operator, wall) == call


async def test_a_served_text_said_again_is_an_echo_and_no_second_piece_of_evidence(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    [lesson] = await remembered(engine, call, a_draft(lesson=LONG))
    [again] = await remembered(engine, call, a_draft(lesson=LONG))
    await served(engine, call)

    [echo] = await remembered(engine, call, a_draft(lesson=LONG))

    assert (again.deduplicated, again.echo) == (True, False)
    assert (echo.id, echo.deduplicated, echo.echoes) == (lesson.id, True, (lesson.id,))
    assert await bank(engine, call) == [(lesson.id, 1, 2)]


async def test_a_lesson_of_its_own_is_stored_beside_an_echo_in_one_batch(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    [lesson] = await remembered(engine, call, a_draft(lesson=LONG))
    await served(engine, call)

    echo, fresh, wrong = await remember(
        engine,
        call,
        [
            a_draft(lesson=f"The {LONG.upper()}!"),
            a_draft(lesson="ask the pilot"),
            a_draft(learned_at=NOON),
        ],
    )

    assert isinstance(echo, Remembered)
    assert isinstance(fresh, Remembered)
    assert isinstance(wrong, MemoryFault)
    assert (echo.echo, fresh.echo, fresh.deduplicated) == (True, False, False)
    assert {one[0] for one in await bank(engine, call)} == {lesson.id, fresh.id}


async def test_what_another_key_was_served_is_no_echo_of_mine(
    engine: Engine, calls: Caller, wall: str
) -> None:
    mine, theirs = await calls(wall, agents=("a",)), await calls(wall, agents=("b",))
    await remembered(engine, mine, a_draft(agent="a", lesson=LONG))
    await served(engine, theirs, agent="b")

    [again] = await remembered(engine, mine, a_draft(agent="a", lesson=LONG))
    [echo] = await remembered(engine, theirs, a_draft(agent="b", lesson=LONG))

    assert (again.deduplicated, again.echo, echo.echo) == (True, False, True)


async def test_after_thirty_days_the_same_words_are_evidence_again(
    engine: Engine, operator: Key
) -> None:
    call, [lesson] = await a_bank(engine, operator, LONG)
    await served(engine, call, as_of=NOON)

    [soon] = await remembered(engine, call, a_draft(lesson=LONG, learned_at=NOON + 30 * DAY))
    [late] = await remembered(engine, call, a_draft(lesson=LONG, learned_at=NOON + 31 * DAY))

    assert (soon.echo, late.echo, late.deduplicated) == (True, False, True)
    assert await bank(engine, call) == [(lesson, 1, 2)]


async def test_a_text_is_held_against_the_version_that_was_served(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    [lesson] = await remembered(engine, call, a_draft(lesson=LONG))
    await served(engine, call)
    await edit_memory(engine, call, lesson.id, MemoryEdit(lesson="ask the pilot"), 1)

    [echo] = await remembered(engine, call, a_draft(lesson=LONG))
    [other] = await remembered(engine, call, a_draft(lesson="ask the pilot"))

    assert (echo.id, echo.version, echo.echo) == (lesson.id, 2, True)
    assert (other.deduplicated, other.echo) == (True, False)
