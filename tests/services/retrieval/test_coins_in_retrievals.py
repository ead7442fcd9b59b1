"""Coins over a real database: who is left out, what a receipt keeps of it, what it teaches."""

from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest

from memory.belief.inclusion import LOWEST, toss
from memory.belief.rankers import PLAIN
from memory.belief.store.states import StateStore
from memory.insight.service import get_weight, list_effects, list_ranker_records
from memory.kernel.engine import Engine
from memory.outcomes.applying import apply_now
from memory.receipts.entities import Fate
from memory.retrieval.entities import Advice
from memory.retrieval.explanation import explain_items
from memory.retrieval.service import explain, get_receipt
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import OPEN, Caller, a_namespace
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

P = 0.8943502263331446
"""Of a memory about which nothing is known: the normal distribution at 1."""


@pytest.fixture
async def coined(engine: Engine, operator) -> str:
    """A namespace whose retrievals toss coins, and leave nothing else to chance but the ranker."""
    return await a_namespace(engine, operator, settings=replace(OPEN, coins=True))


def a_task(call: Call, out: set[UUID], kept: set[UUID]) -> TaskDraft:
    """A task for which the coins of these new memories fall so."""

    def falls(key: str, memory_id: UUID) -> bool:
        return toss(call.namespace.secret, f"task {key}", memory_id) >= P

    key = next(
        key
        for key in (f"rain {n}" for n in count())
        if all(falls(key, one) for one in out) and not any(falls(key, one) for one in kept)
    )
    return TaskDraft("a forecast of rain", key=key, category="weather")


async def asked(engine: Engine, call: Call, **changes) -> Advice:
    """Served with memory by a ranker that looks at coins; they fall alike at each try."""
    for _ in range(20):
        answer = await served(engine, call, **({"arm": "on"} | changes))
        if answer.receipt.ranker != PLAIN:
            return answer
    raise AssertionError("the plain ranker was drawn twenty times")


async def without_the_first(engine: Engine, call: Call, **changes) -> tuple[Advice, UUID, UUID]:
    """Two memories that are always found together, the one of which a coin leaves out."""
    lessons = ("start from the base rate of the month", "look out of the window first")
    first, second = await remembered(engine, call, *(a_draft(lesson=one) for one in lessons))
    task = a_task(call, {first.id}, {second.id})
    return await asked(engine, call, task=task, **changes), first.id, second.id


async def absences(engine: Engine, call: Call, memory_id: UUID) -> int:
    async with engine.database.transaction(call.namespace.id) as connection:
        counts = await StateStore(connection, call.namespace.id).counts([memory_id])
    return counts[memory_id].absent


async def test_who_is_left_out_stands_in_the_receipt_and_not_in_the_answer(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)

    answer, out, kept = await without_the_first(engine, call)

    assert [memory.memory_id for memory in answer.memories] == [kept]
    assert "base rate" not in (answer.receipt.guideline.text or "")
    receipt = await explain(engine, call, answer.receipt.retrieval_id)
    assert receipt.reason == "caller_wants_on"
    one, other = receipt.items
    assert (one.memory_id, one.served, one.left_out, one.contender) == (kept, True, False, True)
    assert (other.memory_id, other.served, other.left_out) == (out, False, True)
    assert (other.cited, other.contender) == (False, True)
    assert one.inclusion == other.inclusion == pytest.approx(P)
    assert "left out by its coin, which keeps it with probability 0.89" in (other.sentence or "")


async def test_who_fell_below_the_floor_is_said_to_be_tried_again(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)
    answer, _, _ = await without_the_first(engine, call)
    kept, out = answer.receipt.items
    fallen = replace(out, inclusion=LOWEST, score=answer.receipt.gates.score / 2)

    said = explain_items(replace(answer.receipt, items=(kept, fallen))).items[1].sentence or ""

    assert "; left out: its weight took its score below the floor; it is tried again with" in said
    assert "by its coin" not in said


async def test_the_next_in_the_order_takes_the_place(engine: Engine, calls: Caller, coined: str):
    call = await calls(coined)

    answer, _, kept = await without_the_first(engine, call, k=1)

    assert [memory.memory_id for memory in answer.memories] == [kept]


async def test_asking_again_about_a_task_tosses_no_other_coins(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)
    answer, out, kept = await without_the_first(engine, call)
    task_id = answer.receipt.task_id
    again = [await asked(engine, call, task=None, task_id=task_id) for _ in range(5)]

    assert all([memory.memory_id for memory in one.memories] == [kept] for one in again)
    assert all(out in {i.memory_id for i in one.receipt.items if i.left_out} for one in again)


async def test_without_a_key_each_retrieval_has_coins_of_its_own(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)
    await without_the_first(engine, call)
    task = TaskDraft("a forecast of rain", category="weather")

    sizes = {len((await asked(engine, call, task=task)).memories) for _ in range(40)}

    assert {1, 2} <= sizes


@pytest.mark.parametrize("changes", [{"explore": False}, {"gates": "off"}])
async def test_who_wants_no_coins_is_served_all(
    engine: Engine, calls: Caller, coined: str, changes
):
    call = await calls(coined)

    answer, out, kept = await without_the_first(engine, call, **changes)

    assert {memory.memory_id for memory in answer.memories} == {out, kept}
    assert {(i.inclusion, i.contender) for i in answer.receipt.items} == {(None, False)}


async def test_a_preview_says_the_probability_and_tosses_nothing(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)

    answer, out, kept = await without_the_first(engine, call, purpose="preview", explain=True)

    assert {memory.memory_id for memory in answer.memories} == {out, kept}
    assert answer.explanation is not None
    for one in answer.explanation.considered:
        assert (one.fate, one.inclusion) == (Fate.SERVED, pytest.approx(P))
        assert "an agent that acts gets it with probability 0.89" in one.why


async def test_an_outcome_counts_who_was_absent_and_a_withdrawn_one_counts_it_off(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)
    answer, out, kept = await without_the_first(engine, call)

    first = await reported(engine, call, answer, reward=0.2)
    await apply_now(engine, call)
    seen = [await absences(engine, call, one) for one in (out, kept)]
    again = await reported(engine, call, answer, reward=0.9, supersedes=first.outcome.id)
    await apply_now(engine, call)

    assert again.outcome.status == "accepted"
    assert seen == [1, 0]
    assert [await absences(engine, call, one) for one in (out, kept)] == [1, 0]
    live, rebuilt = await live_and_rebuilt(engine, call)
    assert live == rebuilt


async def test_a_control_run_is_no_absence(engine: Engine, calls: Caller, operator):
    settings = replace(OPEN, coins=True, control_rate=1.0)
    call = await calls(await a_namespace(engine, operator, settings=settings))

    answer, out, kept = await without_the_first(engine, call, arm="auto")
    await reported(engine, call, answer)
    await apply_now(engine, call)

    assert answer.receipt.arm == "control"
    assert {i.memory_id: i.left_out for i in answer.receipt.items} == {out: True, kept: False}
    assert [await absences(engine, call, one) for one in (out, kept)] == [0, 0]


async def test_where_coins_leave_nothing_the_outcome_reads_the_baseline_alone(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)
    lessons = ("start from the base rate of the month", "look out of the window first")
    drafts = [a_draft(lesson=one) for one in lessons]
    ids = {one.id for one in await remembered(engine, call, *drafts)}
    answer = await asked(engine, call, task=a_task(call, ids, set()))

    said = await reported(engine, call, answer, reward=1.0)
    await apply_now(engine, call)

    assert (answer.memories, answer.receipt.arm, answer.receipt.eligible) == ((), "forced_on", True)
    assert answer.receipt.reason == "left_out"
    assert said.outcome.evidence == "single"
    async with engine.database.transaction(call.namespace.id) as connection:
        states = await StateStore(connection, call.namespace.id).load_all()
    [cell], [strength] = states.cells.values(), states.strengths.values()
    assert cell.values[0] > 0.5, "the baseline rose"
    pairs, _, _, measured, effect, baseline, *_ = strength.values
    assert (pairs, measured, effect) == (0, 0, 0), "nothing was said about memory"
    assert baseline > 0.5
    assert {(await get_weight(engine, call, one, None)).effective_weight for one in ids} == {1.0}
    [view] = await list_effects(engine, call, None, None)
    assert view.feedback_dates == 0
    live, rebuilt = await live_and_rebuilt(engine, call)
    assert live == rebuilt


async def test_a_loss_is_shared_by_all_rankers_that_would_have_served_the_same(
    engine: Engine, calls: Caller, coined: str
):
    call = await calls(coined)
    answer, _, _ = await without_the_first(engine, call)
    receipt = await get_receipt(engine, call, answer.receipt.retrieval_id)

    await reported(engine, call, answer, reward=0.1)
    await apply_now(engine, call)

    [view, _] = sorted(await list_ranker_records(engine, call), key=lambda v: v.category is None)
    same = set(receipt.same_rankers or ())
    assert same == set(receipt.rankers) - {PLAIN}, "the plain one would have served both"
    shared = {view.losses[ranker] for ranker in same}
    assert len(shared) == 1
    assert shared.pop() > view.losses[PLAIN]
