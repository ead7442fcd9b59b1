"""The health of learning says whether it is fed, moves, and carries a signal."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.entities import StatusChange
from memory.curation.service import change_status
from memory.insight.entities import OutcomeCoverage, WaitingByAge
from memory.insight.health import (
    get_learning_health,
    list_learning_health,
    load_health_gauges,
)
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.paging import Page
from memory.kernel.postgres.leadership import JobRun
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.retrieval.entities import Advice
from memory.retrieval.service import retrieve
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tenancy.entities import Call, Clock, Key
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.engine import DAY, NOON, a_namespace
from tests.storage.steps import a_call, remembered, reported, served

PAGE = Page(200)


async def retrievals(engine: Engine, call: Call, many: int, **ask: object) -> list[Advice]:
    answers = await retrieve(engine, call, [an_ask(**ask)] * many)
    assert not [answer for answer in answers if isinstance(answer, MemoryFault)]
    return [answer for answer in answers if isinstance(answer, Advice)]


async def checked(engine: Engine, call: Call, days: int, *, dry: bool = False) -> JobRun:
    call = await a_call(engine, call.key, call.namespace.slug)
    return await run_job(engine, call, "health", JobRequest(NOON + days * DAY, dry_run=dry))


async def a_replay(engine: Engine, key: Key) -> Call:
    return await a_call(engine, key, await a_namespace(engine, key, clock=Clock.REPLAY))


async def test_a_hundred_retrievals_with_one_outcome_are_a_coverage_of_one_percent(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, *(a_draft(lesson=f"rain lesson {name}") for name in "ABCDE"))
    answers = await retrievals(engine, call, 100, k=5)
    await reported(engine, call, answers[0])

    before = await get_learning_health(engine, call)
    await apply_now(engine, call)
    after = await get_learning_health(engine, call)

    assert before.coverage == after.coverage == OutcomeCoverage(100, 1, 0.01)
    assert (before.pending_outcomes, after.pending_outcomes) == (
        WaitingByAge(hour=1),
        WaitingByAge(),
    )
    assert before.pending_receipts == after.pending_receipts == WaitingByAge(hour=99)
    assert (before.evidence, after.evidence) == ({}, {"single": 1})


async def test_what_waits_is_told_by_age(engine: Engine, operator: Key) -> None:
    call = await a_replay(engine, operator)
    await remembered(engine, call, a_draft(learned_at=NOON - 99 * DAY))
    now = NOON + DAY
    ages = [timedelta(minutes=59), timedelta(hours=23), 6 * DAY, 29 * DAY, 31 * DAY, 99 * DAY]
    for age in ages:
        await served(engine, call, as_of=now - age)
    short = an_ask(as_of=now - 2 * DAY, expires_in=DAY.total_seconds())
    await retrieve(engine, call, [short])

    run = await checked(engine, call, 1)

    assert run.result is not None
    assert run.result["pending_receipts"] == {
        "hour": 1,
        "day": 1,
        "week": 1,
        "month": 1,
        "older": 2,
    }
    assert run.result["coverage"] == {"receipts": 5, "answered": 0, "share": 0.0, "noted": 0}


async def test_weights_at_the_bounds_and_below_the_floor_are_shares_of_the_living(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    lessons = await remembered(
        engine,
        call,
        *(a_draft(lesson=f"weight {weight}", weight=weight) for weight in (0.1, 0.2, 1.0, 2.0)),
        a_draft(lesson="gone", weight=2.0),
    )
    await change_status(engine, call, lessons[-1].id, StatusChange("retire"))

    weights = (await get_learning_health(engine, call)).weights

    assert weights.living == 4
    assert (weights.at_lower_bound, weights.at_upper_bound) == (0.25, 0.25)
    assert weights.below_floor == 0.5


async def test_repeated_and_merged_texts_count_as_duplicates(engine: Engine, operator: Key) -> None:
    call = await a_replay(engine, operator)
    long = "start from the base rate of the month and move little unless the pressure falls"
    drafts = [a_draft(lesson=said, learned_at=NOON) for said in (long, long.upper())]
    await remembered(engine, call, *drafts, drafts[0], a_draft(lesson="other", learned_at=NOON))

    before = await checked(engine, call, 0, dry=True)
    await run_job(
        engine, await a_call(engine, operator, call.namespace.slug), "merge", JobRequest(NOON)
    )
    after = await checked(engine, call, 0, dry=True)

    assert before.result is not None
    assert after.result is not None
    assert before.result["duplicates"] == {"remembered": 4, "duplicates": 1, "share": 0.25}
    assert after.result["duplicates"] == {"remembered": 4, "duplicates": 2, "share": 0.5}


async def test_growth_is_memories_for_a_thousand_retrievals_by_category(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, *(a_draft(lesson=f"rain lesson {i}") for i in range(3)))
    await remembered(engine, call, a_draft(category=CategoryName("sport")))
    await retrievals(engine, call, 5)

    egl = (await get_learning_health(engine, call)).egl

    assert egl == {"weather": 600.0, "sport": None}


async def resided(engine: Engine, call: Call, days: int, residuals: tuple[float, ...]) -> None:
    """As if the runs of so many days had shown these residuals of one memory, day by day."""
    await remembered(engine, call, a_draft(learned_at=NOON))
    for day in range(days):
        answers = await retrievals(engine, call, len(residuals), as_of=NOON + day * DAY, k=1)
        for answer in answers:
            await reported(engine, call, answer, known_at=NOON + day * DAY)
    await apply_now(engine, call)
    async with engine.database.transaction(call.namespace.id) as connection:
        ids = list(await connection.scalars(text("SELECT id FROM outcome ORDER BY known_at, id")))
        for place, outcome_id in enumerate(ids):
            await connection.execute(
                text("UPDATE outcome SET residual = :r WHERE id = :id"),
                {"r": residuals[place % len(residuals)], "id": outcome_id},
            )


@pytest.mark.parametrize(
    ("residuals", "alert"),
    [((0.2, 0.1), False), ((0.3, -0.3), True)],
    ids=["agree", "cancel"],
)
async def test_residuals_that_do_not_agree_between_dates_raise_the_alert(
    engine: Engine, operator: Key, residuals: tuple[float, ...], *, alert: bool
) -> None:
    call = await a_replay(engine, operator)
    await resided(engine, call, 11, residuals)

    run = await checked(engine, call, 12)

    assert run.result is not None
    found = run.result["item_variance"]
    assert isinstance(found, dict)
    # Eleven dates of two: 22 · 21 / 2 pairs less the eleven within a date.
    assert found["pairs"] == 220
    assert found["alert"] is alert
    assert found["mean"] == pytest.approx((sum(residuals) / 2) ** 2, abs=1e-9)


async def test_the_job_keeps_a_sample_a_day_for_four_hundred_days(
    engine: Engine, operator: Key
) -> None:
    call = await a_replay(engine, operator)
    await remembered(engine, call, a_draft(learned_at=NOON))
    days = (0, 1, 1, 400, 401)
    for day in days:
        await checked(engine, call, day)
    await checked(engine, call, 402, dry=True)

    samples = await list_learning_health(engine, call, PAGE)

    assert [one.known_at for one in samples.items] == [NOON + day * DAY for day in (1, 400, 401)]
    assert samples.total == 3
    first = await list_learning_health(engine, call, Page(2))
    rest = await list_learning_health(engine, call, Page(2, first.next))
    assert [*first.items, *rest.items] == list(samples.items)


async def test_a_check_up_moves_nothing(engine: Engine, operator: Key) -> None:
    call = await a_replay(engine, operator)
    await remembered(engine, call, a_draft(learned_at=NOON))
    call = await a_call(engine, operator, call.namespace.slug)

    await checked(engine, call, 3)

    assert await a_call(engine, operator, call.namespace.slug) == call


async def test_a_scraper_sees_the_newest_sample_of_every_namespace(
    engine: Engine, operator: Key
) -> None:
    before = await load_health_gauges(engine)
    call = await a_replay(engine, operator)
    await remembered(engine, call, *(a_draft(lesson=f"l {i}", learned_at=NOON) for i in range(3)))
    await checked(engine, call, 0)
    await remembered(engine, call, a_draft(lesson="more", learned_at=NOON))
    await checked(engine, call, 1)

    after = await load_health_gauges(engine)

    assert after["living"] - before.get("living", 0) == 4


async def test_the_one_that_helps_rises_above_those_that_are_served_with_it(
    engine: Engine, operator: Key
) -> None:
    """A is always served with others, which change; forty runs with A go well, others do not."""
    call = await a_replay(engine, operator)
    helpful, *others = [
        lesson.id
        for lesson in await remembered(
            engine,
            call,
            *(a_draft(lesson=f"rain lesson {name}", learned_at=NOON) for name in "ABCDE"),
        )
    ]
    for run in range(40):
        await only(engine, call, [helpful, *others], as_of=NOON + run * DAY, reward=0.9)
        await only(engine, call, others, as_of=NOON + run * DAY, reward=0.5)
    weights = [
        (await get_memory(engine, await a_call(engine, operator, call.namespace.slug), one))
        for one in (helpful, *others)
    ]

    best, *rest = [memory.effective_weight for memory in weights]
    assert best > 1.5
    assert best > max(rest) + 0.5


async def only(engine: Engine, call: Call, lessons: list[UUID], **run: object) -> None:
    """A run in which just these are served, and what came of it."""
    every = text(
        "UPDATE memory SET status = CASE WHEN id = ANY(:ids) THEN 'active' ELSE 'suspended' END"
    )
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(every, {"ids": lessons})
    task = TaskDraft("a forecast of rain", category="weather")
    answer = await served(engine, call, as_of=run["as_of"], k=5, task=task)
    assert {item.memory_id for item in answer.receipt.items} == set(lessons)
    await reported(engine, call, answer, reward=run["reward"], known_at=run["as_of"])
    await apply_now(engine, call)
