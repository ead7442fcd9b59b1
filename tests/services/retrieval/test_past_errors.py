"""What went wrong at a task like this one: asked for, quoted, counted, credited with nothing."""

import pytest

from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.inference.stand_ins import ScriptedLlm
from memory.kernel.engine import Engine
from memory.memories.entities import Visibility
from memory.outcomes.applying import apply_now
from memory.receipts.guideline_entities import Format, PastError
from memory.retrieval.entities import Advice
from memory.retrieval.service import get_receipt
from memory.tasks.entities import TaskDraft
from memory.tasks.run_entities import RunTrace, Step
from memory.tenancy.entities import Call, Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON, Caller
from tests.fixtures.llm_builders import with_llm
from tests.fixtures.verification_steps import a_run, job
from tests.storage.steps import a_call, remembered, served

WRONG = "the wind was never looked at"
KNOWN = "what everyone knows"
NEAR = TaskDraft("a forecast of rain 2 once more", category="weather")
FAR = TaskDraft("translate the letter of a shipping company", category="weather")
TOOL = RunTrace(
    steps=(
        Step(role="assistant", tool="gauge", arguments={"place": "pier"}),
        Step(role="tool", tool="gauge", error="Error: no such place as pier"),
    )
)


async def a_failure(engine: Engine, key: Key, slug: str, **changes: object) -> tuple[Call, Advice]:
    """Four runs of which one fails badly, as the job has found out."""
    call = await a_call(engine, key, slug)
    await remembered(engine, call, a_draft(lesson=KNOWN))
    failed: dict[str, object] = {"reward": 0.1, "lesson": WRONG} | changes
    answer = await a_run(engine, call, 2, **failed)  # pyright: ignore[reportArgumentType] - by name
    for number, reward in ((1, 0.9), (3, 0.8), (4, 0.85)):
        await a_run(engine, call, number, reward=reward)
    await apply_now(engine, call)
    await job(engine, key, slug, "acquire", NOON)
    return await a_call(engine, key, slug), answer


async def asked(engine: Engine, call: Call, **changes: object) -> Advice:
    wanted: dict[str, object] = {"task": NEAR, "arm": "on", "past_error": True}
    return await served(engine, call, **(wanted | changes))


async def error_of(engine: Engine, call: Call, answer: Advice) -> PastError | None:
    return (await get_receipt(engine, call, answer.receipt.retrieval_id)).past_error


async def test_the_agents_own_failure_at_a_near_task_stands_behind_the_notes(
    engine: Engine, operator: Key, wall: str
) -> None:
    call, failed = await a_failure(engine, operator, wall)

    answer = await asked(engine, call)

    receipt, error = answer.receipt, answer.receipt.past_error
    assert error is not None
    assert error.retrieval_id == failed.receipt.retrieval_id
    assert (error.reward, error.said_by, error.shown) == (0.1, "reporter", True)
    line = f"on «a forecast of rain 2» failed. What was said of it: «{WRONG}»"
    assert line in (error.text or "")
    text = receipt.guideline.text or ""
    assert text.endswith(f"\n{error.text}")
    assert KNOWN in text
    assert receipt.guideline.tokens == engine.counter.count(text) <= receipt.max_tokens
    # It is no memory: nothing is cited or credited.
    assert receipt.guideline.lines[-1].memory_ids == ()
    assert {item.memory_id for item in receipt.items if item.cited} == receipt.guideline.cited
    assert await get_receipt(engine, call, receipt.retrieval_id) == receipt


async def test_what_the_run_shows_is_told_where_nobody_said_what_went_wrong(
    engine: Engine, operator: Key, wall: str
) -> None:
    call, _ = await a_failure(engine, operator, wall, lesson=None, run=TOOL)

    error = (await asked(engine, call)).receipt.past_error

    assert error is not None
    assert error.said_by == "run"
    assert "`gauge`" in (error.text or "")


@pytest.mark.parametrize(
    "changes",
    [
        {"past_error": False},
        {"task": FAR},
        {"agent": "another"},
        {"arm": "off"},
        {"task": TaskDraft(NEAR.text, category="cooking")},
    ],
    ids=str,
)
async def test_there_is_none_where_it_is_not_asked_for_or_not_this_agents_or_not_near(
    *, engine: Engine, operator: Key, wall: str, changes: dict[str, object]
) -> None:
    call, _ = await a_failure(engine, operator, wall)

    answer = await asked(engine, call, **changes)

    assert answer.receipt.past_error is None
    assert WRONG not in (answer.receipt.guideline.text or "")


async def test_it_costs_no_note_its_place_and_is_told_as_data_where_data_was_asked_for(
    engine: Engine, operator: Key, wall: str
) -> None:
    call, _ = await a_failure(engine, operator, wall)

    small = await asked(engine, call, max_tokens=40)
    data = await asked(engine, call, format=Format.MEMORIES)

    for answer in (small, data):
        error = answer.receipt.past_error
        assert error is not None
        assert (error.shown, WRONG in (error.text or "")) == (False, True)
    assert KNOWN in (small.receipt.guideline.text or "")
    assert WRONG not in (small.receipt.guideline.text or "")


async def test_it_stands_behind_a_models_lines_too(
    engine: Engine, operator: Key, wall: str
) -> None:
    call, _ = await a_failure(engine, operator, wall)
    words = '{"lines": [{"text": "begin with the base rate", "cites": ["m1"]}]}'

    answer = await asked(with_llm(engine, ScriptedLlm([words])), call)

    text = answer.receipt.guideline.text or ""
    assert answer.receipt.compiler == "model/scripted"
    assert text.index("begin with the base rate") < text.index(WRONG)
    assert answer.receipt.guideline.tokens == engine.counter.count(text)


@pytest.mark.parametrize("whose", ["task", "agent", "memory"])
async def test_an_erasure_takes_its_words_out_of_later_receipts(
    engine: Engine, operator: Key, wall: str, whose: str
) -> None:
    call, failed = await a_failure(engine, operator, wall)
    answer = await asked(engine, call)
    [told] = [item.memory_id for item in failed.receipt.items]
    what = {
        "task": Erasure(task_id=failed.receipt.task_id),
        "agent": Erasure(agent="solver"),
        "memory": Erasure(memory_id=told),
    }

    await erase(engine, await a_call(engine, operator, wall), what[whose])

    receipt = await get_receipt(engine, call, answer.receipt.retrieval_id)
    assert receipt.past_error is not None
    assert receipt.past_error.text is None
    assert WRONG not in (receipt.guideline.text or "")
    assert all(WRONG not in line.text for line in receipt.guideline.lines)
    later = await asked(engine, await a_call(engine, operator, wall))
    assert later.receipt.past_error is None


async def test_a_run_told_of_private_memories_is_told_to_who_may_read_them(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    own = await calls(wall, agents=["solver"], verifies="test")
    await remembered(engine, own, a_draft(lesson="a private trick", visibility=Visibility.AGENT))
    await a_run(engine, own, 2, WRONG, reward=0.1)
    for number, reward in ((1, 0.9), (3, 0.8), (4, 0.85)):
        await a_run(engine, own, number, reward=reward)
    await apply_now(engine, await a_call(engine, operator, wall))
    await job(engine, operator, wall, "acquire", NOON)
    stranger = await a_call(engine, operator, wall)
    await remembered(engine, stranger, a_draft(lesson=KNOWN))

    answer = await asked(engine, own)
    other = await asked(engine, stranger)

    assert WRONG in (answer.receipt.guideline.text or "")
    assert other.receipt.past_error is None
    seen = await get_receipt(engine, stranger, answer.receipt.retrieval_id)
    assert seen.past_error is not None
    assert seen.past_error.text is None
    assert WRONG not in str(seen)
    mine = await error_of(engine, own, answer)
    assert mine == answer.receipt.past_error
