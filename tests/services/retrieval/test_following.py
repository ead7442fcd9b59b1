"""How far memory is followed, by which ranker, and what it did: learned from what came back."""

from datetime import timedelta
from itertools import pairwise

import pytest

from memory.belief.rankers import ASKED, PRIOR, RANKERS, YOUNG_PRIOR
from memory.insight.entities import Effect
from memory.insight.service import list_effects, list_ranker_records
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport
from memory.outcomes.service import report
from memory.receipts.guideline_entities import Format
from memory.retrieval.entities import Advice
from memory.tasks.entities import AgentDraft
from memory.tasks.service import add_agent
from memory.tenancy.entities import NamespaceSettings
from tests.fixtures.builders import a_draft, a_report
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

FORECAST = {"reward": None, "metric": "brier"}


async def a_pair(engine: Engine, calls: Caller, slug: str, day: int, **numbers: object) -> Advice:
    """A forecast with memory and without it, and what came true, on that day."""
    at = NOON + day * DAY
    run = await served(engine, await calls(slug), as_of=at, purpose="paired", agent="solver")
    await reported(engine, await calls(slug), run, **FORECAST, known_at=at, **numbers)
    await apply_now(engine, await calls(slug))
    return run


def forecast(on: float, off: float, truth: int) -> dict[str, object]:
    return {
        "value": {"p": [on]},
        "without": {"value": {"p": [off]}},
        "truth": {"y": [truth]},
    }


async def the_cell(engine: Engine, calls: Caller, slug: str) -> Effect:
    [cell] = await list_effects(engine, await calls(slug), None, None)
    return cell


async def test_strength_falls_where_memory_misleads_and_the_cell_is_suspended_on_ten_dates(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    strengths: list[float] = []
    for day in range(10):
        run = await a_pair(engine, calls, past, day, **forecast(0.1, 0.9, 1))
        assert run.receipt.arm == "paired"
        strengths.append(run.receipt.strength)

    asked = [await served(engine, await calls(past), as_of=NOON + 10 * DAY) for _ in range(60)]

    assert strengths[0] == 1
    assert all(later < earlier for earlier, later in pairwise(strengths[:4]))
    cell = await the_cell(engine, calls, past)
    assert (cell.suspended, cell.feedback_dates, cell.strength) == (True, 10, 0)
    assert cell.paired.mean == pytest.approx(0.01 - 0.81)
    assert {one.receipt.arm for one in asked} == {"suspended"}, "control is switched off here"
    assert asked[0].receipt.reason == "suspended_negative_transfer"
    assert not asked[0].memories
    assert not asked[0].receipt.guideline.text
    live, again = await live_and_rebuilt(engine, await calls(past))
    assert live == again


async def test_a_suspended_cell_is_retested_at_the_control_rate_and_returns(
    engine: Engine, calls: Caller, operator
):
    settings = NamespaceSettings(
        raw_gate=0.01, score_floor=0.001, control_rate=0.3, slot_rate=0.0, coins=False
    )
    slug = await a_namespace(engine, operator, clock="replay", settings=settings)
    await remembered(engine, await calls(slug), a_draft(learned_at=NOON))
    for day in range(10):
        await a_pair(engine, calls, slug, day, **forecast(0.6, 0.9, 1))
    asked = [await served(engine, await calls(slug), as_of=NOON + 10 * DAY) for _ in range(60)]
    arms = [one.receipt.arm for one in asked]
    assert {*arms} == {"suspended", "retest"}
    assert 6 <= arms.count("retest") <= 32
    retest = next(one for one in asked if one.receipt.arm == "retest")
    assert (retest.receipt.propensity, bool(retest.memories)) == (0.3, True)

    for day in range(10, 16):
        await a_pair(engine, calls, slug, day, **forecast(0.9, 0.1, 1))

    cell = await the_cell(engine, calls, slug)
    assert not cell.suspended
    assert cell.strength >= 0.1


async def test_strength_is_told_in_the_guideline(engine: Engine, calls: Caller, past: str):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    await a_pair(engine, calls, past, 0, **forecast(1.0, 0.0, 0))

    run = await served(engine, await calls(past), as_of=NOON + DAY)

    counts = 0.5 ** (1 / 90)  # what one move that was wrong counts a day later
    assert run.receipt.strength == pytest.approx(1 / (1 + counts) ** 2)
    assert "memory has earned 25 % of a full correction" in (run.receipt.guideline.text or "")


async def test_an_agent_with_information_of_its_own_starts_without_memory(
    engine: Engine, calls: Caller, past: str
):
    await add_agent(engine, await calls(past), AgentDraft("trader", own_information=True))
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))

    run = await served(engine, await calls(past), as_of=NOON, agent="trader")

    assert run.receipt.strength == 0


async def test_rewards_alone_teach_strength_too(engine: Engine, calls: Caller, past: str):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    for pair_number in range(18):
        at = NOON + pair_number // 2 * DAY
        run = await served(engine, await calls(past), as_of=at, purpose="paired")
        pair = {"reward": 0.0, "without": {"reward": 1.0}, "known_at": at}
        await reported(engine, await calls(past), run, **pair)
        await apply_now(engine, await calls(past))

    cell = await the_cell(engine, calls, past)

    assert cell.strength < 0.05
    assert not cell.suspended, "nine dates are too few"


async def test_rankers_that_lose_are_believed_less(engine: Engine, calls: Caller, past: str):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    first = None
    for day in range(12):
        at = NOON + day * DAY
        run = await served(
            engine,
            await calls(past),
            as_of=at,
            all_rankers=True,
            format=Format.MEMORIES,
            purpose="paired",
        )
        first = first or run
        answers = {r: {"p": [0.9 if r.startswith("weighted") else 0.2]} for r in ASKED}
        told = forecast(0.3, 0.5, 0) | {"answers": answers}
        await reported(engine, await calls(past), run, **FORECAST, known_at=at, **told)
        await apply_now(engine, await calls(past))
    last = await served(
        engine, await calls(past), as_of=NOON + 12 * DAY, all_rankers=True, format=Format.MEMORIES
    )

    assert first is not None
    asked = {ranker: YOUNG_PRIOR[ranker] / (1 - YOUNG_PRIOR["plain"]) for ranker in ASKED}
    assert first.receipt.rankers == pytest.approx(asked)
    assert sum(last.receipt.rankers.values()) == pytest.approx(1)
    weighted = sum(p for r, p in last.receipt.rankers.items() if r.startswith("weighted"))
    assert weighted < 0.001 < sum(p for r, p in PRIOR.items() if r.startswith("weighted"))
    assert set(last.receipt.items[0].scores or {}) == set(ASKED)
    seen = {view.category: view for view in await list_ranker_records(engine, await calls(past))}
    assert set(seen) == {None, "weather"}
    assert seen["weather"].feedback_dates == 12
    assert seen["weather"].losses["weighted/none"] > seen["weather"].losses["flat/none"]
    live, again = await live_and_rebuilt(engine, await calls(past))
    assert live == again


async def test_without_all_rankers_one_is_drawn_and_weighed_by_the_chance_of_what_it_served(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    run = await served(engine, await calls(past), as_of=NOON)
    shares = run.receipt.rankers

    await reported(engine, await calls(past), run, reward=0.4, known_at=NOON)
    await apply_now(engine, await calls(past))

    assert set(shares) == set(RANKERS)
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) >= 0.01
    assert shares["flat/none"] == pytest.approx(0.01 + 0.89 * 0.98 * 0.8 * 0.6)
    [view, _] = sorted(
        await list_ranker_records(engine, await calls(past)), key=lambda v: v.category is None
    )
    lost = {ranker: loss for ranker, loss in view.losses.items() if loss}
    # All would have served the one memory, so one of them was drawn for certain.
    assert lost == dict.fromkeys(RANKERS, pytest.approx((0.5 - 0.4) / 2))


@pytest.mark.parametrize(
    "answers",
    [
        {"flat/none": {"p": [0.5]}},
        {ranker: {"p": [0.5]} for ranker in (*ASKED, "mine")},
        {ranker: {"p": [1.5]} for ranker in ASKED},
    ],
    ids=["some rankers", "an unknown one", "no probability"],
)
async def test_answers_that_do_not_score_every_ranker_are_refused(
    engine: Engine, calls: Caller, past: str, answers: dict[str, object]
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    run = await served(
        engine, await calls(past), as_of=NOON, all_rankers=True, format=Format.MEMORIES
    )
    told = forecast(0.3, 0.5, 0) | {"answers": answers}

    [fault] = await report(
        engine,
        await calls(past),
        [ReceiptReport(run.receipt.retrieval_id, a_report(**FORECAST, known_at=NOON, **told))],
    )

    assert isinstance(fault, Rejected)
    assert (fault.field or "").startswith("answers")


async def test_the_paper_has_neither_guard_nor_strength(engine: Engine, calls: Caller, operator):
    slug = await a_namespace(engine, operator, clock="replay", policy="paper", settings=OPEN)
    await remembered(engine, await calls(slug), a_draft(learned_at=NOON))
    for day in range(11):
        await a_pair(engine, calls, slug, day, **forecast(0.1, 0.9, 1))

    run = await served(engine, await calls(slug), as_of=NOON + 11 * DAY)

    assert (run.receipt.arm, run.receipt.strength) == ("on", 1)
    assert run.receipt.rankers == {"weighted/none": 1.0}


async def test_randomised_arms_show_an_effect_of_their_own(engine: Engine, calls: Caller, operator):
    settings = NamespaceSettings(
        raw_gate=0.01, score_floor=0.001, control_rate=0.5, slot_rate=0.0, coins=False
    )
    slug = await a_namespace(engine, operator, clock="replay", settings=settings)
    await remembered(engine, await calls(slug), a_draft(learned_at=NOON))
    for hour in range(48):
        at = NOON + hour * timedelta(hours=7)
        run = await served(engine, await calls(slug), as_of=at)
        reward = 0.8 if run.receipt.arm == "on" else 0.5
        reward += 0.01 * (hour % 3)
        await reported(engine, await calls(slug), run, reward=reward, known_at=at)
    await apply_now(engine, await calls(slug))

    cell = await the_cell(engine, calls, slug)

    assert (cell.paired.n, cell.randomised.n) == (0, 48)
    assert cell.randomised.dates == 15
    assert cell.randomised.mean == pytest.approx(0.3, abs=0.02)
    assert cell.randomised.low is not None
    assert cell.randomised.high is not None
    assert cell.randomised.low < 0.3 < cell.randomised.high
    assert "asymptotic" in cell.randomised.label
