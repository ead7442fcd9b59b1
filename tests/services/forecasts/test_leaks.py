"""Nothing is used before it was known: whoever asks as of a moment gets what there was then."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from memory.curation.service import edit_memory
from memory.kernel.engine import Engine
from memory.memories.entities import MemoryEdit
from memory.outcomes.applying import apply_now
from memory.receipts.guideline_entities import Format
from memory.retrieval.entities import Advice
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call
from tests.fixtures.builders import a_draft, a_forecast, a_prediction, a_window, yes_or_no
from tests.fixtures.engine import DAY, NOON, Caller
from tests.storage.steps import predicted, remembered, served, settled

MICROSECOND = timedelta(microseconds=1)
LATER = NOON + 10 * DAY
MEMORIES: Mapping[str, object] = {"format": Format.MEMORIES, "all_rankers": True, "k": 5}


async def asked(engine: Engine, call: Call, as_of: datetime, **changes: object) -> Advice:
    return await served(engine, call, as_of=as_of, **(MEMORIES | changes))


def seen(answer: Advice) -> list[object]:
    """All that ranking came to, and what was read."""
    texts = {memory.memory_id: (memory.situation, memory.lesson) for memory in answer.memories}
    return [
        (item.memory_id, item.version, item.score, item.scores, texts.get(item.memory_id))
        for item in answer.receipt.items
    ]


async def learned(engine: Engine, call: Call, p: float, known_at: datetime, event: str) -> None:
    """A forecast that followed memory, and its event, known and applied."""
    task = a_window(key=event, group_key=event)
    run = await asked(engine, call, known_at - DAY, task=task)
    forecast = a_forecast(p, baseline_probabilities=yes_or_no(0.5))
    draft = a_prediction(
        forecast=forecast, retrieval_id=run.receipt.retrieval_id, known_at=known_at - DAY
    )
    await predicted(engine, call, draft)
    await settled(engine, call, event=event, known_at=known_at)
    await apply_now(engine, call)


@pytest.fixture
async def call(engine: Engine, calls: Caller, past: str) -> Call:
    """Into a namespace that knows two lessons."""
    for lesson in ("start from the base rate", "ask the neighbour"):
        await remembered(engine, await calls(past), a_draft(lesson=lesson, learned_at=NOON - DAY))
    return await calls(past)


async def test_what_was_learned_later_is_not_served_to_the_microsecond(engine: Engine, call: Call):
    [late] = await remembered(engine, call, a_draft(lesson="it did rain", learned_at=NOON))
    await learned(engine, call, 0.9, NOON + 5 * DAY, "another event")

    before = await asked(engine, call, NOON - MICROSECOND)
    then = await asked(engine, call, NOON)

    assert late.id not in {item.memory_id for item in before.receipt.items}
    assert late.id in {item.memory_id for item in then.receipt.items}


async def test_an_edited_text_is_not_seen_before_its_edit(engine: Engine, calls: Caller, past: str):
    [lesson] = await remembered(engine, await calls(past), a_draft(learned_at=NOON - DAY))
    edit = MemoryEdit(lesson="it did rain", situation="a forecast of rain: yes", known_at=NOON)
    await edit_memory(engine, await calls(past), lesson.id, edit, 1)

    before = await asked(engine, await calls(past), NOON - MICROSECOND)
    then = await asked(engine, await calls(past), NOON)

    assert [memory.lesson for memory in before.memories] == [a_draft().lesson]
    assert [memory.lesson for memory in then.memories] == ["it did rain"]
    assert "it did rain" not in repr(before)


async def test_weights_that_later_settlements_moved_are_not_seen_before_them(
    engine: Engine, calls: Caller, past: str, call: Call
):
    untouched = await asked(engine, call, NOON)
    for day, p in enumerate((1.0, 0.95, 0.9)):
        await learned(engine, await calls(past), p, NOON + (day + 1) * DAY, f"event {day}")

    before = await asked(engine, await calls(past), NOON + DAY - MICROSECOND)
    then = await asked(engine, await calls(past), NOON + DAY)

    weights = [
        [item.effective_weight for item in answer.receipt.items]
        for answer in (untouched, before, then)
    ]
    assert weights[0] == weights[1] == [1.0, 1.0]
    assert max(weights[2]) > 1.0
    assert before.receipt.strength == untouched.receipt.strength
    assert before.receipt.rankers == untouched.receipt.rankers


async def test_a_settlement_that_is_not_known_yet_moves_nothing_for_who_asks_before(
    engine: Engine, calls: Caller, past: str, call: Call
):
    before = await asked(engine, call, NOON + DAY)
    # It comes from the end of the stream, as a caller who knows the answers would send it.
    await learned(engine, await calls(past), 1.0, LATER, "rain")

    after = await asked(engine, await calls(past), NOON + DAY)

    assert seen(after) == seen(before)


async def test_a_retrieval_replayed_gives_the_same_memories_and_scores_as_then(
    engine: Engine, calls: Caller, past: str, call: Call
):
    await learned(engine, await calls(past), 0.9, NOON, "first")
    times = [NOON + day * DAY for day in range(1, 4)]
    then: list[Advice] = []
    for day, at in enumerate(times):
        then.append(await asked(engine, await calls(past), at))
        await learned(engine, await calls(past), (0.9, 0.2, 0.7)[day], at + DAY / 2, f"e{day}")
        await remembered(
            engine, await calls(past), a_draft(lesson=f"day {day}", learned_at=at + DAY / 2)
        )
    [first, *_] = then[0].receipt.items
    edit = MemoryEdit(lesson="quite another", known_at=LATER)
    await edit_memory(engine, await calls(past), first.memory_id, edit, 1)

    again = [await asked(engine, await calls(past), at, purpose="replay") for at in times]

    assert [seen(answer) for answer in again] == [seen(answer) for answer in then]
    assert [answer.receipt.rankers for answer in again] == [
        answer.receipt.rankers for answer in then
    ]
    assert [answer.receipt.strength for answer in again] == [
        answer.receipt.strength for answer in then
    ]
    assert len({len(answer.receipt.items) for answer in then}) == len(times)


@pytest.mark.parametrize("form", [Format.BRIEF, Format.MEMORIES])
async def test_a_price_in_a_tasks_metadata_reaches_nobody_else(
    engine: Engine, calls: Caller, past: str, form: Format
):
    price = 0.4321098
    priced = TaskDraft(
        "a forecast of rain", key="priced", group_key="rain", metadata={"price": price}
    )
    mine = await calls(past)
    await remembered(engine, mine, a_draft(task=priced, learned_at=NOON))
    await served(engine, mine, task=priced, as_of=NOON)
    draft = a_prediction(price, task=priced, rationale=f"the market says {price}", known_at=NOON)
    await predicted(engine, mine, draft)
    await settled(engine, mine, crowd=yes_or_no(price), known_at=NOON + DAY)

    answer = await served(
        engine, await calls(past), agent="another", as_of=NOON + 2 * DAY, format=form
    )

    assert answer.receipt.items
    assert str(price) not in repr(answer)
