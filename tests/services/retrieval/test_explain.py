"""A retrieval shows its explanation: what they say is what happened."""

from dataclasses import replace

import pytest

from memory.belief.rankers import RANKERS
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.outcomes.applying import apply_now
from memory.receipts.entities import Fate
from memory.receipts.guideline_entities import Format
from memory.retrieval.entities import RoutedBy
from memory.tasks.entities import CategoryName, TaskDraft
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.engine import OPEN, Caller, a_namespace
from tests.storage.steps import remembered, reported, served

UNROUTED = TaskDraft("a forecast of rain")
WORDS = ("base rates", "pressure", "wind from the west", "what the month is known for")


async def a_bank(engine: Engine, call, words=WORDS) -> None:
    """One lesson of each, the first nearest to a forecast of rain."""
    drafts = [
        a_draft(lesson=f"look at {word}", situation=f"a forecast of rain {'and snow ' * number}")
        for number, word in enumerate(words)
    ]
    await remembered(engine, call, *drafts)


async def explained(engine: Engine, call, **changes: object):
    answer = await served(engine, call, **({"explain": True, "purpose": "preview"} | changes))
    assert answer.explanation is not None
    return answer, answer.explanation


async def test_what_is_told_of_each_served_memory_is_what_it_was_chosen_by(
    engine: Engine, calls: Caller, wall: str
) -> None:
    await a_bank(engine, await calls(wall))

    answer, explanation = await explained(engine, await calls(wall), k=2)

    told = {one.memory_id: one for one in explanation.considered if one.served}
    assert told.keys() == {item.memory_id for item in answer.receipt.items}
    for item in answer.receipt.items:
        one = told[item.memory_id]
        for name in ("similarity", "relevance", "effective_weight", "ranking_weight", "score"):
            assert getattr(one, name) == getattr(item, name)
        assert (one.propensity, one.cited) == (item.propensity, item.cited)
    assert (explanation.matching, explanation.head) == (4, 4)


async def test_who_is_not_served_is_told_why(engine: Engine, calls: Caller, wall: str) -> None:
    await a_bank(engine, await calls(wall))

    _, explanation = await explained(engine, await calls(wall), k=1)

    fates = [one.fate for one in explanation.considered]
    assert fates == [Fate.SERVED, Fate.BEYOND_K, Fate.BEYOND_K, Fate.BEYOND_K]
    assert explanation.considered[1].why == "better placed memories have taken all 1 places"


async def test_a_candidate_below_the_gate_is_told_both_numbers(
    engine: Engine, calls: Caller, operator
) -> None:
    slug = await a_namespace(engine, operator, settings=replace(OPEN, raw_gate=0.5))
    call = await calls(slug)
    await remembered(engine, call, a_draft(situation="sorting numbers", lesson="pick pivots"))
    await a_bank(engine, call, ("base rates",))

    _, explanation = await explained(engine, await calls(slug))

    barred = explanation.considered[-1]
    assert barred.fate is Fate.RAW_GATE
    assert f"{barred.similarity:.3f} is below the gate 0.500" in barred.why


async def test_a_lesson_that_the_budget_cut_is_served_and_told_so(
    engine: Engine, calls: Caller, wall: str
) -> None:
    await a_bank(engine, await calls(wall))

    answer, explanation = await explained(engine, await calls(wall), k=4, max_tokens=40)

    cut = {one.memory_id for one in answer.receipt.guideline.cut}
    told = {one.memory_id for one in explanation.considered if "the budget was spent" in one.why}
    assert cut
    assert told == cut
    assert all(
        one.served and not one.cited for one in explanation.considered if one.memory_id in cut
    )


async def test_each_ranker_tells_its_order_and_the_age_in_it(
    engine: Engine, calls: Caller, past: str
) -> None:
    call = await calls(past)
    old = call.now.replace(year=call.now.year - 1)
    await remembered(engine, call, a_draft(learned_at=old))

    _, explanation = await explained(engine, await calls(past), as_of=call.now)

    [one] = explanation.considered
    assert one.rankers.keys() == set(RANKERS)
    assert one.rankers["flat/none"].order_score == one.relevance
    assert one.rankers["flat/180d"].knowledge_age == pytest.approx(2 ** (-365 / 180))
    assert one.rankers["flat/180d"].order_score == pytest.approx(one.relevance * 2 ** (-365 / 180))
    assert sum(explanation.shares.values()) == pytest.approx(1)


async def test_an_agents_own_record_is_told_apart_from_what_all_have_seen(
    engine: Engine, calls: Caller, wall: str
) -> None:
    await remembered(engine, await calls(wall), a_draft(agent="author"))
    answer = await served(engine, await calls(wall), agent="lucky", purpose="paired")
    await reported(engine, await calls(wall), answer, reward=0.6, without={"reward": 0.5})
    await apply_now(engine, await calls(wall))

    _, lucky = await explained(engine, await calls(wall), agent="lucky")
    _, other = await explained(engine, await calls(wall), agent="other")

    [own], [common] = lucky.considered, other.considered
    assert common.deviation == 0
    assert own.deviation > 0
    assert own.effective_weight == pytest.approx(common.effective_weight + own.deviation)


async def test_the_route_names_the_runners_up(engine: Engine, calls: Caller, wall: str) -> None:
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    await remembered(
        engine,
        call,
        a_draft(
            situation="a proof of a lemma on rain", lesson="induct", category=CategoryName("maths")
        ),
    )

    _, routed = await explained(engine, await calls(wall), task=UNROUTED)
    _, given = await explained(engine, await calls(wall))

    assert routed.routing.by is RoutedBy.NEAREST
    near = routed.routing.near
    assert [one.category for one in near] == ["weather", "maths"]
    assert routed.routing.confidence == pytest.approx(near[0].similarity - near[1].similarity)
    assert (given.routing.by, given.routing.near) == (RoutedBy.CALLER, near)


async def test_an_agent_that_acts_reads_no_text_it_was_not_served(
    engine: Engine, calls: Caller, wall: str
) -> None:
    await a_bank(engine, await calls(wall))

    _, acting = await explained(engine, await calls(wall), purpose="act", arm="off")
    _, looking = await explained(engine, await calls(wall), purpose="preview")

    assert {(one.situation, one.lesson) for one in acting.considered} == {(None, None)}
    assert all("the arm was forced_off" in one.why for one in acting.considered[:3])
    assert all(one.lesson for one in looking.considered)


async def test_all_rankers_say_how_many_rankers_serve_each(
    engine: Engine, calls: Caller, wall: str
) -> None:
    await a_bank(engine, await calls(wall))

    answer, explanation = await explained(
        engine, await calls(wall), k=1, all_rankers=True, format=Format.MEMORIES
    )

    served_ids = {item.memory_id for item in answer.receipt.items}
    told = {one.memory_id for one in explanation.considered if one.fate is Fate.SERVED}
    assert told == served_ids
    assert explanation.considered[0].why == "served by 10 of 10 rankers"


async def test_a_policy_without_guard_has_one_ranker(
    engine: Engine, calls: Caller, operator
) -> None:
    slug = await a_namespace(engine, operator, policy="paper")
    await a_bank(engine, await calls(slug))

    answer, explanation = await explained(engine, await calls(slug), k=1)

    assert explanation.shares == {"weighted/none": 1}
    assert {name for one in explanation.considered for name in one.rankers} == {"weighted/none"}
    assert [one.memory_id for one in explanation.considered if one.served] == [
        item.memory_id for item in answer.receipt.items
    ]


@pytest.mark.parametrize("purpose", ["paired", "replay"])
def test_only_who_acts_or_looks_is_told(purpose: str) -> None:
    with pytest.raises(Rejected) as fault:
        an_ask(explain=True, purpose=purpose)

    assert fault.value.field == "explain"
