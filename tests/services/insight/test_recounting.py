"""A receipt is recounted: as it was served, with everything that was said of it since."""

from uuid import uuid4

import pytest

from memory.curation.service import edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.insight.receipt_details import get_receipt_details
from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.memories.entities import MemoryEdit
from memory.receipts.list_entities import ReceiptFilter
from memory.retrieval.service import list_receipts
from memory.tasks.entities import TaskDraft
from tests.fixtures.builders import a_draft, sentences_of
from tests.fixtures.engine import DAY, Caller
from tests.storage.steps import a_call, remembered, reported, served


async def test_the_words_are_those_that_were_served_whatever_became_of_them(
    engine: Engine, calls: Caller, wall: str
) -> None:
    [known] = await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))
    edit = MemoryEdit(lesson="look at the wind")
    await edit_memory(engine, await calls(wall), known.id, edit, 1)

    told = await get_receipt_details(engine, await calls(wall), answer.receipt.retrieval_id)

    assert told.receipt == answer.receipt
    assert told.texts[known.id].lesson == a_draft().lesson
    assert sentences_of(told.receipt).keys() == {known.id}
    assert told.task is not None
    assert told.task.text == "a forecast of rain"


async def test_an_erased_memory_leaves_its_place_without_words(
    engine: Engine, calls: Caller, wall: str
) -> None:
    [known] = await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))
    await erase(engine, await calls(wall), Erasure(memory_id=known.id))

    told = await get_receipt_details(engine, await calls(wall), answer.receipt.retrieval_id)

    assert [item.memory_id for item in told.receipt.items] == [known.id]
    assert told.texts == {}


async def test_of_several_outcomes_the_best_verified_is_in_effect(
    engine: Engine, calls: Caller, wall: str
) -> None:
    await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))
    await reported(engine, await calls(wall), answer, reward=0.9, verifier="self")
    judged = await reported(engine, await calls(wall), answer, reward=0.2, verifier="human")
    await reported(engine, await calls(wall), answer, reward=0.5, verifier="test")

    told = await get_receipt_details(engine, await calls(wall), answer.receipt.retrieval_id)

    assert [one.reward for one in told.outcomes] == [0.9, 0.2, 0.5]
    assert told.effective == judged.outcome.id


async def test_without_an_outcome_none_is_in_effect(
    engine: Engine, calls: Caller, wall: str
) -> None:
    answer = await served(engine, await calls(wall))

    told = await get_receipt_details(engine, await calls(wall), answer.receipt.retrieval_id)

    assert (told.outcomes, told.effective) == ((), None)
    with pytest.raises(NotFound):
        await get_receipt_details(engine, await calls(wall), uuid4())


async def test_receipts_are_listed_by_what_became_of_them(
    engine: Engine, operator, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    maths = TaskDraft("a proof", category="maths")
    answered = await served(engine, call)
    other = await served(engine, call, agent="other", task=maths, arm="off")
    await reported(engine, call, answered)
    late = await a_call(engine, operator, wall, call.now + 400 * DAY)

    async def found(when=call, **wanted: object) -> list:
        listed = await list_receipts(engine, when, ReceiptFilter(**wanted), Page(5))
        assert listed.total == len(listed.items)
        return [receipt.retrieval_id for receipt in listed.items]

    one, two = answered.receipt.retrieval_id, other.receipt.retrieval_id
    assert await found() == [one, two]
    assert await found(newest_first=True) == [two, one]
    assert await found(state="answered") == [one]
    assert await found(state="pending") == [two]
    assert await found(state="expired") == []
    assert await found(when=late, state="expired") == [two]
    assert await found(category="maths") == [two]
    assert await found(arm="forced_off", agent="other") == [two]
    assert await found(arm="empty", agent="other") == []


async def test_the_newest_come_first_on_every_page(
    engine: Engine, calls: Caller, wall: str
) -> None:
    made = [(await served(engine, await calls(wall))).receipt.retrieval_id for _ in range(5)]
    wanted, seen, after = ReceiptFilter(newest_first=True), [], None
    while True:
        listed = await list_receipts(engine, await calls(wall), wanted, Page(2, after))
        seen += [receipt.retrieval_id for receipt in listed.items]
        after = listed.next
        if after is None:
            break

    assert seen == made[::-1]
