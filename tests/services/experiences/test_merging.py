"""Near-twins become one memory with the evidence of both, and nothing that was edited is lost."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.experiences import merging as flow
from memory.inference.stand_ins import ScriptedLlm
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from memory.kernel.postgres.leadership import JobRun
from memory.memories.entities import ExperienceDraft, Memory, MemoryEdit, Status, Visibility
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.outcomes.service import get_outcome
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import Call, Clock, Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, Caller, a_namespace
from tests.fixtures.llm_builders import with_llm
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

LESSON = (
    "start from the base rate of the month and move only a little unless the pressure has fallen "
    "for some days and the wind has turned to the west in the meantime"
)
TWIN = LESSON.replace("start from the base rate", "start from a base rate").replace(
    "the month", "month"
)
LATER = NOON + 40 * DAY


async def a_bank(engine: Engine, key: Key, *drafts: ExperienceDraft) -> tuple[Call, list[UUID]]:
    slug = await a_namespace(engine, key, clock=Clock.REPLAY)
    call = await a_call(engine, key, slug)
    return call, [lesson.id for lesson in await remembered(engine, call, *drafts)]


def twins(**second: object) -> tuple[ExperienceDraft, ExperienceDraft]:
    return (
        a_draft(lesson=LESSON, learned_at=NOON),
        a_draft(**{"lesson": TWIN, "learned_at": NOON + DAY} | second),
    )


async def merged(engine: Engine, call: Call, *, days: int = 40, dry: bool = False) -> JobRun:
    call = await a_call(engine, call.key, call.namespace.slug)
    return await run_job(engine, call, "merge", JobRequest(NOON + days * DAY, dry_run=dry))


def changes(run: JobRun) -> list[tuple[str, str, str]]:
    assert run.result is not None
    listed = run.result["changes"]
    assert isinstance(listed, list)
    return [(one["memory_id"], one["change"], one["into"]) for one in listed]


async def memories(engine: Engine, call: Call, ids: list[UUID]) -> list[Memory]:
    return [await get_memory(engine, call, memory_id) for memory_id in ids]


async def test_a_dry_run_names_the_pair_that_a_run_then_merges(
    engine: Engine, operator: Key
) -> None:
    call, [old, new] = await a_bank(engine, operator, *twins())

    dry = await merged(engine, call, dry=True)
    untouched = await memories(engine, call, [old, new])
    run = await merged(engine, call)

    assert changes(dry) == changes(run) == [(str(new), "merged", str(old))]
    assert [m.status for m in untouched] == [Status.ACTIVE, Status.ACTIVE]
    kept, gone = await memories(engine, call, [old, new])
    assert (kept.status, kept.evidence) == (Status.ACTIVE, 2)
    assert (gone.status, gone.status_reason, gone.evidence) == (Status.RETIRED, "merged", 1)
    assert (await a_call(engine, operator, call.namespace.slug)).namespace.n_memories == 1
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def test_the_one_with_more_credit_survives_and_keeps_its_own_belief(
    engine: Engine, operator: Key
) -> None:
    call, [old, new] = await a_bank(engine, operator, *twins())
    await credit(engine, call, new, 3)
    before, _ = await live_and_rebuilt(engine, call)

    run = await merged(engine, call)

    assert changes(run) == [(str(old), "merged", str(new))]
    assert await origins(engine, call, new) == [old]
    after, again = await live_and_rebuilt(engine, call)
    assert after == before == again


async def credit(engine: Engine, call: Call, memory_id: UUID, times: int) -> None:
    """As if so many outcomes had counted the memory."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(
            text("UPDATE memory_weight SET n_credited = :n WHERE memory_id = :id"),
            {"n": times, "id": memory_id},
        )


async def origins(engine: Engine, call: Call, memory_id: UUID) -> list[UUID]:
    async with engine.database.transaction(call.namespace.id) as connection:
        asked = text("SELECT derived_from FROM memory WHERE id = :id")
        return await connection.scalar(asked, {"id": memory_id}) or []


@pytest.mark.parametrize(
    "second",
    [
        {"lesson": TWIN.replace("for some days", "for 3 days")},
        {"lesson": TWIN.replace("and move only", "and never move only")},
        {"lesson": "watch the clouds"},
        {"situation": "a match between two teams of the second league"},
        {"category": CategoryName("sport")},
        {"visibility": Visibility.AGENT},
    ],
    ids=["number", "negation", "lesson", "situation", "category", "owner"],
)
async def test_what_differs_in_more_than_words_stays_two(
    engine: Engine, operator: Key, calls: Caller, second: dict[str, object]
) -> None:
    call, _ = await a_bank(engine, operator)
    await remembered(engine, await its_own(calls, call), *twins(**second))

    run = await merged(engine, call)

    assert changes(run) == []
    assert run.result is not None
    assert run.result["examined"] == 2


@pytest.mark.parametrize("visibility", Visibility)
async def test_twins_that_an_agent_wrote_for_the_same_readers_are_merged(
    engine: Engine, operator: Key, calls: Caller, visibility: Visibility
) -> None:
    call, _ = await a_bank(engine, operator)
    mine = await its_own(calls, call)
    first, second = twins(visibility=visibility)
    drafts = replace(first, visibility=visibility), second
    ids = [lesson.id for lesson in await remembered(engine, mine, *drafts)]

    run = await merged(engine, call)

    assert [change for _, change, _ in changes(run)] == ["merged"]
    kept, gone = await memories(engine, mine, ids)
    assert (kept.status, kept.evidence) == (Status.ACTIVE, 2)
    assert (gone.status, gone.status_reason) == (Status.RETIRED, "merged")


async def its_own(calls: Caller, call: Call) -> Call:
    """By a key bound to the agent that writes: it alone may write what only the agent reads."""
    return await calls(call.namespace.slug, agents=(a_draft().agent,))


async def test_of_two_pinned_ones_none_is_merged_and_of_one_the_other(
    engine: Engine, operator: Key
) -> None:
    call, [old, new] = await a_bank(engine, operator, *twins(pinned=True))
    assert changes(await merged(engine, call)) == [(str(old), "merged", str(new))]

    first = a_draft(lesson=LESSON, learned_at=NOON, pinned=True)
    call, _ = await a_bank(engine, operator, first, twins(pinned=True)[1])
    assert changes(await merged(engine, call)) == []


async def test_many_twins_of_one_all_carry_their_evidence_over(
    engine: Engine, operator: Key
) -> None:
    more = [a_draft(lesson=f"{LESSON}{mark}", learned_at=NOON + DAY) for mark in ("!", ".")]
    call, [old, *rest] = await a_bank(engine, operator, *twins(), *more)

    run = await merged(engine, call)

    assert sorted(changes(run)) == sorted((str(gone), "merged", str(old)) for gone in rest)
    [kept] = await memories(engine, call, [old])
    assert kept.evidence == 4
    assert await origins(engine, call, old) == sorted(rest)


async def test_an_edit_during_a_slow_merge_wins_and_nothing_is_lost(
    engine: Engine, operator: Key
) -> None:
    """The edit waits for the bank's version, and so does the merge, which has read the old text."""
    call, [old, new] = await a_bank(engine, operator, *twins())
    edit = MemoryEdit(lesson="watch the clouds instead", known_at=NOON + 2 * DAY)

    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(
            text("SELECT 1 FROM namespace WHERE id = :id FOR UPDATE"), {"id": call.namespace.id}
        )
        editing = asyncio.create_task(edit_memory(engine, call, new, edit, 1))
        await waiting(engine, 1)
        merging = asyncio.create_task(merged(engine, call))
        await waiting(engine, 2)
    edited, run = await asyncio.gather(editing, merging)

    assert changes(run) == [(str(new), "kept: it was changed meanwhile", str(old))]
    assert (edited.lesson, edited.status) == ("watch the clouds instead", Status.ACTIVE)
    kept = await memories(engine, call, [old, new])
    assert [(m.status, m.evidence) for m in kept] == [(Status.ACTIVE, 1)] * 2
    assert (await a_call(engine, operator, call.namespace.slug)).namespace.n_memories == 2


async def waiting(engine: Engine, many: int) -> None:
    """Until so many sessions of this database wait for a row."""
    asked = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND wait_event_type = 'Lock'"
    )
    for _ in range(400):
        async with engine.database.login() as connection:
            if (await connection.scalar(text(asked)) or 0) >= many:
                return
        await asyncio.sleep(0.01)
    pytest.fail("nobody waited")


async def test_the_next_run_looks_at_what_changed_since_and_at_nothing_else(
    engine: Engine, operator: Key
) -> None:
    call, [old, _] = await a_bank(engine, operator, *twins(lesson="watch the clouds"))
    first = await merged(engine, call, days=40)
    idle = await merged(engine, call, days=41)
    [late] = await remembered(engine, call, a_draft(lesson=TWIN, learned_at=NOON + 2 * DAY))

    last = await merged(engine, call, days=42)

    assert [run.result and run.result["examined"] for run in (first, idle, last)] == [2, 0, 1]
    assert changes(last) == [(str(late.id), "merged", str(old))]


async def test_a_run_is_bounded_and_the_next_goes_on_where_it_ended(
    engine: Engine, operator: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "LIMIT", 2)
    drafts = [a_draft(lesson=word * 3, learned_at=NOON) for word in ("ab ", "cd ", "ef ")]
    call, ids = await a_bank(engine, operator, *drafts, *twins())

    runs = [await merged(engine, call, days=40 + day) for day in range(3)]

    seen = [(run.result["examined"], run.result["left"]) for run in runs if run.result]
    assert seen == [(2, 3), (2, 1), (1, 0)]
    assert [change for run in runs for change in changes(run)] == [
        (str(ids[4]), "merged", str(ids[3]))
    ]


async def test_what_was_learned_later_than_the_run_is_not_merged(
    engine: Engine, operator: Key
) -> None:
    call, _ = await a_bank(engine, operator, *twins())

    assert changes(await merged(engine, call, days=0)) == []


async def test_twins_that_someone_took_apart_again_stay_two(engine: Engine, operator: Key) -> None:
    call, [_, new] = await a_bank(engine, operator, *twins())
    await merged(engine, call)
    await change_status(engine, call, new, StatusChange("restore"))

    again = await merged(engine, call, days=50)

    assert changes(again) == []
    [restored] = await memories(engine, call, [new])
    assert restored.status is Status.ACTIVE


async def test_a_late_outcome_moves_the_memory_that_was_served_and_not_its_survivor(
    engine: Engine, operator: Key
) -> None:
    call, [old, new] = await a_bank(engine, operator, *twins())
    answer = await served(engine, call, as_of=NOON + 2 * DAY, k=2, purpose="paired")
    cited = {item.memory_id for item in answer.receipt.items if item.cited}
    await merged(engine, call)
    before, _ = await live_and_rebuilt(engine, call)

    late = await reported(
        engine, call, answer, reward=0.9, without={"reward": 0.1}, known_at=LATER + DAY
    )
    await apply_now(engine, call)

    outcome = await get_outcome(engine, call, late.outcome.id)
    assert (outcome.status, outcome.reason) == ("applied", None)
    after, again = await live_and_rebuilt(engine, call)
    assert after == again
    moved = {m for m in (old, new) if after.memories[m] != before.memories[m]}
    assert moved == cited
    [gone] = await memories(engine, call, [new])
    assert gone.status is Status.RETIRED


async def test_caches_hear_of_both(engine: Engine, operator: Key) -> None:
    call, [old, new] = await a_bank(engine, operator, *twins())

    await merged(engine, call)

    async with engine.database.transaction(call.namespace.id) as connection:
        last = "SELECT kind, subjects FROM change ORDER BY bank_version DESC LIMIT 1"
        kind, subjects = (await connection.execute(text(last))).one()
    assert (kind, set(subjects)) == ("merged", {str(old), str(new)})


async def test_what_is_only_alike_is_listed_and_stays_two(engine: Engine, operator: Key) -> None:
    first, second = twins(lesson=LESSON.replace("some days", "three days"))
    call, [old, new] = await a_bank(engine, operator, first, second)

    run = await merged(engine, call)

    assert run.result is not None
    assert changes(run) == []
    assert [sorted(pair) for pair in run.result["alike"]] == [sorted([str(old), str(new)])]
    assert [m.status for m in await memories(engine, call, [old, new])] == [Status.ACTIVE] * 2


PARAPHRASE = LESSON.replace("move only a little", "move just a little")
SAME = '{"missing": "", "same": true}'
OTHER = '{"missing": "the first says only, the second just", "same": false}'


@pytest.mark.parametrize(
    ("answers", "is_merged", "asked", "judged"),
    [
        ([SAME, SAME], True, 2, {"answered": 1, "open": 0}),
        ([SAME, OTHER], False, 2, {"answered": 1, "open": 0}),
        ([OTHER], False, 1, {"answered": 1, "open": 0}),
        ([Unavailable("away", code="llm_denied")], False, 1, {"answered": 0, "open": 1}),
    ],
)
async def test_a_language_model_merges_what_it_calls_the_same_in_either_order(
    engine: Engine,
    operator: Key,
    *,
    answers: list[str],
    is_merged: bool,
    asked: int,
    judged: dict[str, int],
) -> None:
    call, [old, new] = await a_bank(engine, operator, *twins(lesson=PARAPHRASE))
    llm = ScriptedLlm(answers)

    dry = await merged(with_llm(engine, llm), call, dry=True)
    llm.asked.clear()
    run = await merged(with_llm(engine, llm), call)

    assert run.result is not None
    assert changes(dry) == changes(run) == ([(str(new), "merged", str(old))] if is_merged else [])
    assert run.result["judged"] == judged
    assert len(llm.asked) == asked
    assert all({LESSON, PARAPHRASE} <= set(_quoted(one.material)) for one in llm.asked)
    [_, gone] = await memories(engine, call, [old, new])
    assert (gone.status is Status.RETIRED) is is_merged
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


def _quoted(material: str) -> list[str]:
    return [line.removeprefix("  | ") for line in material.splitlines()]


async def test_an_edit_after_the_question_keeps_the_two_apart(
    engine: Engine, operator: Key
) -> None:
    call, [old, new] = await a_bank(engine, operator, *twins(lesson=PARAPHRASE))
    thinking = with_llm(engine, ScriptedLlm([SAME]))
    judgement = await flow.judge_alike(thinking, call.namespace, (LATER, call.now))
    await edit_memory(
        engine, call, new, MemoryEdit(lesson=f"{PARAPHRASE} or to the south", known_at=LATER), 1
    )

    async with engine.database.transaction(call.namespace.id) as connection:
        found = await flow.merge_twins(
            connection, call.namespace, (LATER, call.now), dry=False, plan=judgement
        )

    assert judgement.asked == 1
    assert found.merges == []
    assert [m.status for m in await memories(engine, call, [old, new])] == [Status.ACTIVE] * 2


async def test_texts_of_an_earlier_release_are_compared_in_their_normal_form(
    engine: Engine, operator: Key
) -> None:
    call, [old, new] = await a_bank(
        engine, operator, *twins(lesson=LESSON.upper().replace("START", "Start,"))
    )
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text("UPDATE memory_version SET normal_sha256 = NULL"))

    run = await merged(engine, call)

    assert changes(run) == [(str(new), "merged", str(old))]
