"""The loop over a real database: remember, retrieve, report, learn."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from memory.belief.rankers import ASKED
from memory.belief.store.states import StateStore
from memory.curation.service import edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.experiences.service import remember
from memory.insight.service import get_weight, list_effects, list_weight_events
from memory.kernel.engine import Engine
from memory.kernel.errors import Forbidden, MemoryFault, Rejected
from memory.kernel.paging import Page
from memory.memories.entities import MemoryEdit, Remembered, Visibility
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import get_outcome, report
from memory.receipts.guideline_entities import Format
from memory.receipts.list_entities import ReceiptFilter
from memory.receipts.rebuild import rebuilt
from memory.retrieval.entities import Advice
from memory.retrieval.service import get_receipt, list_receipts, retrieve
from memory.tasks.entities import TaskDraft
from memory.tasks.service import list_agents
from memory.tenancy.entities import Role
from memory.tenancy.namespace_settings import Taxonomy
from tests.fixtures.builders import a_draft, a_report, an_ask
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace


async def remembered(engine: Engine, call, *drafts) -> list[Remembered]:
    answers = await remember(engine, call, drafts)
    faults = [answer for answer in answers if isinstance(answer, MemoryFault)]
    assert not faults, faults
    return answers


async def served(engine: Engine, call, **changes) -> Advice:
    [answer] = await retrieve(engine, call, [an_ask(**changes)])
    assert isinstance(answer, Advice), answer
    return answer


async def reported(engine: Engine, call, answer: Advice, **changes) -> Reported:
    [answer] = await report(
        engine, call, [ReceiptReport(answer.receipt.retrieval_id, a_report(**changes))]
    )
    assert isinstance(answer, Reported), answer
    return answer


async def test_a_remembered_lesson_is_served_and_cited(engine: Engine, calls: Caller, wall: str):
    [lesson] = await remembered(engine, await calls(wall), a_draft())

    answer = await served(engine, await calls(wall))

    assert [item.memory_id for item in answer.receipt.items] == [lesson.id]
    assert answer.receipt.items[0].cited
    assert "base rate" in (answer.receipt.guideline.text or "")


async def test_fifty_equal_writes_at_once_are_one_memory(engine: Engine, calls: Caller, wall: str):
    call = await calls(wall)

    answers = await asyncio.gather(*(remember(engine, call, [a_draft()]) for _ in range(50)))

    first = {answer[0].id for answer in answers if isinstance(answer[0], Remembered)}
    assert len(first) == 1
    assert sum(not answer[0].deduplicated for answer in answers) == 1
    assert (await get_memory(engine, call, first.pop())).evidence == 50


async def test_texts_that_differ_by_a_number_are_two_memories(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)

    five, six = await remembered(
        engine,
        call,
        a_draft(lesson="the retry limit is 5"),
        a_draft(lesson="the retry limit is 6"),
    )

    assert five.id != six.id


async def test_a_good_outcome_raises_the_weight_and_a_bad_one_lowers_it(
    engine: Engine, calls: Caller, wall: str
):
    [lesson] = await remembered(engine, await calls(wall), a_draft())
    for reward, without in ((0.9, 0.4), (0.1, 0.6)):
        before = await get_weight(engine, await calls(wall), lesson.id, None)
        answer = await served(engine, await calls(wall), purpose="paired")
        await reported(
            engine, await calls(wall), answer, reward=reward, without={"reward": without}
        )
        await apply_now(engine, await calls(wall))
        after = await get_weight(engine, await calls(wall), lesson.id, None)

        assert (after.effective_weight > before.effective_weight) == (reward > without)


async def test_the_same_report_again_is_answered_as_before_and_moves_nothing(
    engine: Engine, calls: Caller, wall: str
):
    [lesson] = await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))
    first = await reported(engine, await calls(wall), answer)
    await apply_now(engine, await calls(wall))
    weight = await get_weight(engine, await calls(wall), lesson.id, None)

    again = await reported(engine, await calls(wall), answer)
    await apply_now(engine, await calls(wall))

    assert again.replayed
    assert again.outcome.id == first.outcome.id
    assert await get_weight(engine, await calls(wall), lesson.id, None) == weight


async def test_another_outcome_of_the_same_rank_is_kept_and_moves_nothing(
    engine: Engine, calls: Caller, wall: str
):
    await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))
    await reported(engine, await calls(wall), answer)

    second = await reported(engine, await calls(wall), answer, reward=0.1, evaluator="other")
    applied = await apply_now(engine, await calls(wall))

    assert (second.outcome.status, second.outcome.reason) == ("ignored", "disagrees")
    assert applied.applied == 1
    assert (await get_outcome(engine, await calls(wall), second.outcome.id)).reward == 0.1


async def test_a_better_verified_outcome_supersedes_one_that_waits(
    engine: Engine, calls: Caller, wall: str
):
    await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))
    weak = await reported(engine, await calls(wall), answer, verifier="self")

    strong = await reported(engine, await calls(wall), answer, verifier="human", reward=0.2)
    await apply_now(engine, await calls(wall))

    assert (await get_outcome(engine, await calls(wall), weak.outcome.id)).status == "superseded"
    assert (await get_outcome(engine, await calls(wall), strong.outcome.id)).status == "applied"


async def test_only_the_opener_an_evaluator_or_a_manager_may_report(
    engine: Engine, calls: Caller, wall: str
):
    await remembered(engine, await calls(wall), a_draft())
    mine = await calls(wall, role=Role.AGENT, agents=("solver",))
    other = await calls(wall, role=Role.AGENT, agents=("rival",))
    evaluator = await calls(wall, role=Role.EVALUATOR)
    answer = await served(engine, mine)

    [refused] = await report(
        engine, other, [ReceiptReport(answer.receipt.retrieval_id, a_report())]
    )
    [taken] = await report(
        engine, evaluator, [ReceiptReport(answer.receipt.retrieval_id, a_report())]
    )

    assert isinstance(refused, Forbidden)
    assert isinstance(taken, Reported)


async def test_one_namespace_never_sees_anothers_lessons(
    engine: Engine, calls: Caller, wall: str, past: str
):
    [lesson] = await remembered(engine, await calls(wall), a_draft())

    other = await served(engine, await calls(past), as_of=NOON)

    assert other.receipt.items == ()
    with pytest.raises(MemoryFault, match="no such memory"):
        await get_memory(engine, await calls(past), lesson.id)


async def test_a_private_lesson_is_served_to_its_agents_key_alone(
    engine: Engine, calls: Caller, wall: str
):
    mine = await calls(wall, role=Role.AGENT, agents=("solver",))
    [lesson] = await remembered(engine, mine, a_draft(visibility=Visibility.AGENT))

    to_me = await served(engine, mine)
    unbound = await served(engine, await calls(wall, role=Role.ADMIN))

    assert [item.memory_id for item in to_me.receipt.items] == [lesson.id]
    assert unbound.receipt.items == ()


async def test_an_author_cannot_praise_its_own_memory_where_others_see_it(
    engine: Engine, calls: Caller, wall: str
):
    mine = await calls(wall, role=Role.AGENT, agents=("solver",))
    rival = await calls(wall, role=Role.AGENT, agents=("rival",))
    await remembered(engine, rival, a_draft(agent="rival", lesson="another lesson"))
    [own] = await remembered(engine, mine, a_draft())
    answer = await served(engine, mine, purpose="paired")
    await reported(engine, mine, answer, reward=1.0, without={"reward": 0.0}, verifier="self")
    await apply_now(engine, await calls(wall))

    weight = await get_weight(engine, await calls(wall), own.id, None)

    assert weight.effective_weight == pytest.approx(1.0)


async def test_a_frozen_namespace_keeps_outcomes_and_moves_nothing(
    engine: Engine, calls: Caller, operator, wall: str
):
    frozen = await a_namespace(engine, operator, learning="frozen")
    [lesson] = await remembered(engine, await calls(frozen), a_draft())
    answer = await served(engine, await calls(frozen))
    one = await reported(engine, await calls(frozen), answer)
    await apply_now(engine, await calls(frozen))

    outcome = await get_outcome(engine, await calls(frozen), one.outcome.id)

    assert (outcome.status, outcome.reason) == ("ignored", "frozen")
    assert (await get_weight(engine, await calls(frozen), lesson.id, None)).credited == 0


async def test_every_state_rebuilds_from_the_ledger_bit_for_bit(
    engine: Engine, calls: Caller, past: str
):
    await remembered(
        engine,
        await calls(past),
        *(a_draft(lesson=f"rain lesson {i}", learned_at=NOON) for i in range(8)),
    )
    for day in range(1, 6):
        at = NOON + day * DAY
        for agent in ("solver", "rival"):
            answer = await served(engine, await calls(past), agent=agent, as_of=at, k=4)
            without = {"reward": 0.1 * day} if day % 2 else None
            await reported(
                engine, await calls(past), answer, reward=0.15 * day, without=without, known_at=at
            )
        await apply_now(engine, await calls(past))
    call = await calls(past)
    first = (await served(engine, call, as_of=NOON + 6 * DAY)).receipt.items[0].memory_id
    edit = MemoryEdit(lesson="said better", known_at=NOON + 7 * DAY)
    await edit_memory(engine, call, first, edit, 1)

    async with engine.database.transaction(call.namespace.id) as connection:
        folded = await rebuilt(connection, call.namespace)
        store = StateStore(connection, call.namespace.id)
        live = await store.load_all()

    assert len(folded.deviations) > 4
    assert folded == live


async def test_a_retrieval_in_the_past_sees_the_bank_of_that_time(
    engine: Engine, calls: Caller, past: str
):
    [lesson] = await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    for day in (1, 2, 3):
        at = NOON + day * DAY
        answer = await served(engine, await calls(past), as_of=at, purpose="paired")
        await reported(
            engine,
            await calls(past),
            answer,
            reward=0.9,
            without={"reward": 0.2},
            known_at=at + timedelta(hours=1),
        )
        await apply_now(engine, await calls(past))
    edit = MemoryEdit(lesson="said much later", known_at=NOON + 5 * DAY)
    await edit_memory(engine, await calls(past), lesson.id, edit, 1)
    await remembered(
        engine, await calls(past), a_draft(lesson="learned later", learned_at=NOON + 4 * DAY)
    )

    before_any = await served(engine, await calls(past), as_of=NOON + timedelta(hours=1))
    after_one = await served(engine, await calls(past), as_of=NOON + 2 * DAY)
    now = await served(engine, await calls(past), as_of=NOON + 6 * DAY)

    assert [item.memory_id for item in before_any.receipt.items] == [lesson.id]
    assert before_any.receipt.items[0].effective_weight == 1.0
    assert after_one.receipt.items[0].effective_weight > 1.0
    assert "base rate" in (after_one.receipt.guideline.text or "")
    assert len(now.receipt.items) == 2


async def test_an_outcome_for_an_older_text_is_kept_and_moves_nothing(
    engine: Engine, calls: Caller, wall: str
):
    [lesson] = await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))
    edit = MemoryEdit(lesson="quite another lesson")
    await edit_memory(engine, await calls(wall), lesson.id, edit, 1)

    one = await reported(engine, await calls(wall), answer)
    await apply_now(engine, await calls(wall))

    outcome = await get_outcome(engine, await calls(wall), one.outcome.id)
    assert (outcome.status, outcome.reason) == ("ignored", "other_version")


async def test_old_words_of_an_edited_memory_find_nothing(engine: Engine, calls: Caller, wall: str):
    [lesson] = await remembered(
        engine, await calls(wall), a_draft(situation="zebra crossing", lesson="look left")
    )
    edit = MemoryEdit(situation="harbour pilot")
    await edit_memory(engine, await calls(wall), lesson.id, edit, 1)

    old = await served(engine, await calls(wall), task=TaskDraft("zebra crossing"))
    new = await served(engine, await calls(wall), task=TaskDraft("harbour pilot"))

    # Hashed words may share a component by chance, never all of them.
    assert all(item.similarity < 0.2 for item in old.receipt.items)
    assert [item.memory_id for item in new.receipt.items] == [lesson.id]
    assert new.receipt.items[0].similarity == pytest.approx(1.0)


async def test_an_erased_memory_is_gone_from_answers_guidelines_and_search(
    engine: Engine, calls: Caller, wall: str
):
    [lesson] = await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall))

    erased = (await erase(engine, await calls(wall), Erasure(memory_id=lesson.id))).erased

    receipt = await get_receipt(engine, await calls(wall), answer.receipt.retrieval_id)
    assert (erased.memories, erased.versions, erased.embeddings, erased.lines) == (1, 1, 2, 1)
    assert "base rate" not in f"{receipt.guideline.text}{receipt.guideline.lines}"
    assert receipt.items[0].memory_id == lesson.id
    assert (await served(engine, await calls(wall))).receipt.items == ()
    with pytest.raises(MemoryFault, match="no such memory"):
        await get_memory(engine, await calls(wall), lesson.id)


async def test_memories_as_data_all_count_as_cited(engine: Engine, calls: Caller, wall: str):
    await remembered(engine, await calls(wall), a_draft(metadata={"outcome": 1}))

    answer = await served(engine, await calls(wall), format=Format.MEMORIES)

    assert answer.receipt.items[0].cited
    assert answer.memories[0].metadata == {"outcome": 1}
    assert answer.receipt.guideline.text == ""


async def test_the_second_level_of_a_category_shares_its_cell(
    engine: Engine, calls: Caller, wall: str
):
    await remembered(engine, await calls(wall), a_draft())
    for subcategory in ("rain", "snow"):
        task = TaskDraft("a forecast of rain", category="weather", subcategory=subcategory)
        answer = await served(engine, await calls(wall), task=task)
        await reported(engine, await calls(wall), answer)
    await apply_now(engine, await calls(wall))

    [cell] = await list_effects(engine, await calls(wall), None, None)

    assert (cell.category, cell.n) == ("weather", 2)


async def test_another_metric_in_a_category_is_kept_and_moves_nothing(
    engine: Engine, calls: Caller, wall: str
):
    await remembered(engine, await calls(wall), a_draft())
    first = await served(engine, await calls(wall))
    await reported(engine, await calls(wall), first)
    second = await served(engine, await calls(wall))
    one = await reported(
        engine,
        await calls(wall),
        second,
        reward=None,
        metric="brier",
        value={"p": [0.7]},
        truth={"y": [1]},
    )
    await apply_now(engine, await calls(wall))

    outcome = await get_outcome(engine, await calls(wall), one.outcome.id)
    assert (outcome.status, outcome.reason) == ("ignored", "other_metric")
    assert outcome.reward == pytest.approx(1 - 0.3**2)


async def test_every_change_of_weight_has_its_event(engine: Engine, calls: Caller, wall: str):
    [lesson] = await remembered(engine, await calls(wall), a_draft(weight=0.8))
    answer = await served(engine, await calls(wall))
    await reported(engine, await calls(wall), answer)
    await apply_now(engine, await calls(wall))

    events = (await list_weight_events(engine, await calls(wall), lesson.id, Page(10))).items

    assert [(e.subject, e.kind, e.reason) for e in events] == [
        ("memory", "set", "created"),
        ("memory", "learn", "single"),
        ("deviation", "learn", "single"),
    ]
    assert events[0].weight_after == pytest.approx(0.8)
    assert events[1].state_before == events[0].state_after
    assert events[1].bank_version > events[0].bank_version


async def test_a_wall_namespace_refuses_a_time_from_its_caller(
    engine: Engine, calls: Caller, wall: str
):
    [answer] = await remember(engine, await calls(wall), [a_draft(learned_at=NOON)])

    assert isinstance(answer, Rejected)
    assert answer.field == "learned_at"


async def test_a_replay_namespace_requires_it(engine: Engine, calls: Caller, past: str):
    [answer] = await remember(engine, await calls(past), [a_draft()])
    [ask] = await retrieve(engine, await calls(past), [an_ask()])

    assert isinstance(answer, Rejected)
    assert isinstance(ask, Rejected)
    assert (answer.field, ask.field) == ("learned_at", "as_of")


async def test_a_preview_leaves_no_trace(engine: Engine, calls: Caller, wall: str):
    await remembered(engine, await calls(wall), a_draft())

    answer = await served(engine, await calls(wall), agent="curious", purpose="preview")

    assert answer.receipt.items
    assert (await list_receipts(engine, await calls(wall), ReceiptFilter(), Page(5))).total == 0
    agents = (await list_agents(engine, await calls(wall), Page(5))).items
    assert [agent.name for agent in agents] == ["solver"]


async def test_long_answers_of_ten_rankers_are_kept(engine: Engine, calls: Caller, wall: str):
    await remembered(engine, await calls(wall), a_draft())
    answer = await served(engine, await calls(wall), all_rankers=True, format=Format.MEMORIES)
    forecast = {"p": [0.123456789] * 64}

    one = await reported(
        engine,
        await calls(wall),
        answer,
        reward=None,
        metric="brier",
        value=forecast,
        truth={"y": [0.0] * 64},
        answers=dict.fromkeys(ASKED, forecast),
    )

    assert one.outcome.status == "accepted"


async def test_a_closed_taxonomy_refuses_an_unknown_category(
    engine: Engine, calls: Caller, operator
):
    settings = replace(OPEN, categories=Taxonomy.CLOSED)
    closed = await a_namespace(engine, operator, settings=settings)

    [refused] = await remember(engine, await calls(closed), [a_draft()])
    [general] = await remembered(engine, await calls(closed), a_draft(category=None))

    assert isinstance(refused, Rejected)
    assert refused.field == "category"
    assert not general.deduplicated
