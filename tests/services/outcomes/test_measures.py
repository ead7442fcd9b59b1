"""What a category is measured by: fixed by what counts, free when none is left, or an admin's."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from sqlalchemy import text

from memory.erasure.rollback import roll_back
from memory.insight.entities import Rollback
from memory.insight.health import get_learning_health
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Page
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.measures import set_measure
from memory.outcomes.service import get_outcome, list_outcomes, report
from memory.receipts.list_entities import OutcomeFilter, ReceiptFilter
from memory.retrieval.entities import Advice
from memory.retrieval.service import list_receipts
from memory.tasks.entities import Category, CategoryName, Measure, TaskDraft
from memory.tasks.service import add_category, list_categories
from memory.tenancy.entities import AuditFilter, Call, Key, Learning, NamespaceChange, Role
from memory.tenancy.service import audit_trail, change_namespace
from tests.fixtures.builders import a_draft, a_report
from tests.fixtures.engine import Caller, an_engine
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

PAGE = Page(200)
BINARY = {"reward": 1.0, "reward_kind": "binary"}
REWARD, HIT = Measure("reward", "continuous"), Measure("reward", "binary")


async def weather(engine: Engine, call: Call) -> Category:
    found = (await list_categories(engine, call, PAGE)).items
    return next(one for one in found if one.name == "weather")


async def measured(engine: Engine, call: Call) -> tuple[str | None, str | None, str | None]:
    one = await weather(engine, call)
    return one.metric, one.reward_kind, one.fixed_by


async def answered(engine: Engine, call: Call, run: Advice, **changes: object) -> object:
    """Whatever a report is answered with, a refusal too."""
    [answer] = await report(
        engine, call, [ReceiptReport(run.receipt.retrieval_id, a_report(**changes))]
    )
    return answer


FREE = (None, None, None)
CONTINUOUS = ("reward", "continuous", "outcomes")


async def test_an_observational_first_report_fixes_nothing(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    off = await served(engine, call, arm="off")
    first = await reported(engine, call, off, **BINARY)
    await apply_now(engine, call)

    assert first.outcome.reason == "observational"
    assert [one.code for one in first.warnings] == ["observational"]
    assert await measured(engine, call) == FREE
    honest = await reported(engine, call, await served(engine, call), reward=0.7)
    await apply_now(engine, call)
    assert (await get_outcome(engine, call, honest.outcome.id)).status == "applied"
    assert await measured(engine, call) == CONTINUOUS


@pytest.mark.parametrize("why", ["expired", "other_version", "half_missing", "frozen"])
async def test_whatever_teaches_nothing_fixes_nothing(
    engine: Engine, calls: Caller, wall: str, why: str
):
    call = await calls(wall)
    [lesson] = await remembered(engine, call, a_draft())
    run = await served(engine, call, purpose="paired" if why == "half_missing" else "act")
    async with engine.database.transaction(call.namespace.id) as connection:
        if why == "expired":
            await connection.execute(
                text("UPDATE retrieval SET expires_at = known_at - interval '1 day'")
            )
        if why == "other_version":
            await connection.execute(
                text("UPDATE memory SET version = 2 WHERE id = :id"), {"id": lesson.id}
            )
    if why == "frozen":
        frozen = NamespaceChange(learning=Learning.FROZEN)
        await change_namespace(engine, call, frozen, call.namespace.version)
        call = await calls(wall)

    taken = await reported(engine, call, run, **BINARY)
    await apply_now(engine, await calls(wall))

    assert (taken.outcome.reason, [one.code for one in taken.warnings]) == (why, [why])
    assert await measured(engine, call) == FREE


async def test_a_report_measured_otherwise_is_refused_and_names_what_is_fixed(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    await reported(engine, call, await served(engine, call), reward=0.7)
    await apply_now(engine, call)
    fixed = {"metric": "reward", "reward_kind": "continuous"}

    kind = await answered(engine, call, await served(engine, call), **BINARY)
    brier = {"reward": None, "metric": "brier", "value": {"p": [0.7]}, "truth": {"y": [1]}}
    metric = await answered(engine, call, await served(engine, call), **brier)

    for refused, field in ((kind, "reward_kind"), (metric, "metric")):
        assert isinstance(refused, Conflict)
        assert (refused.kind, refused.field, refused.limit) == ("other_metric", field, fixed)
        assert "reward, continuous" in refused.detail
    assert (await list_outcomes(engine, call, OutcomeFilter(), PAGE)).total == 1


async def test_thirty_binary_reports_after_a_continuous_one_do_not_vanish_in_silence(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    await reported(engine, call, await served(engine, call), reward=0.7)
    await apply_now(engine, call)
    runs = [await served(engine, call) for _ in range(30)]

    answers = await report(
        engine,
        call,
        [ReceiptReport(run.receipt.retrieval_id, a_report(**BINARY)) for run in runs],
    )

    assert {getattr(one, "kind", None) for one in answers} == {"other_metric"}
    health = await get_learning_health(engine, call)
    assert (health.coverage.receipts, health.coverage.answered) == (31, 1)
    assert health.pending_receipts.total == 30


async def test_a_report_to_be_kept_is_a_note_and_its_receipt_is_reported(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    await reported(engine, call, await served(engine, call), reward=0.7)
    await apply_now(engine, call)
    run = await served(engine, call)

    note = await reported(engine, call, run, **BINARY, keep=True)
    again = await reported(engine, call, run, **BINARY, keep=True)

    assert (note.outcome.status, note.outcome.evidence) == ("ignored", "none")
    assert (note.outcome.reason, [one.code for one in note.warnings]) == (
        "other_metric",
        ["other_metric"],
    )
    assert (again.replayed, again.outcome.id, again.warnings) == (
        True,
        note.outcome.id,
        note.warnings,
    )
    noted = await list_receipts(engine, call, ReceiptFilter("noted"), PAGE)
    assert [one.retrieval_id for one in noted.items] == [run.receipt.retrieval_id]
    assert not (await list_receipts(engine, call, ReceiptFilter("pending"), PAGE)).items
    health = await get_learning_health(engine, call)
    assert (health.coverage.answered, health.coverage.noted) == (1, 1)
    assert health.pending_receipts.total == 0
    counted = await reported(engine, call, run, reward=0.4)
    assert (counted.outcome.evidence, counted.warnings) == ("single", ())


async def test_a_category_is_free_again_when_its_last_outcome_that_counts_is_taken_back(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    loud = await calls(wall, role=Role.ADMIN)
    for _ in range(2):
        await reported(engine, loud, await served(engine, call), **BINARY)
    await reported(engine, call, await served(engine, call), **BINARY)
    await apply_now(engine, call)

    await roll_back(engine, await calls(wall), Rollback(key_id=loud.key.id, dry_run=False))
    assert await measured(engine, call) == ("reward", "binary", "outcomes")
    await roll_back(engine, await calls(wall), Rollback(key_id=call.key.id, dry_run=False))
    assert await measured(engine, call) == FREE

    await remembered(engine, await calls(wall), a_draft(lesson="ask the almanac"))
    await reported(engine, call, await served(engine, await calls(wall)), reward=0.7)
    await apply_now(engine, call)
    assert await measured(engine, call) == CONTINUOUS
    live, again = await live_and_rebuilt(engine, await calls(wall))
    assert live == again


async def test_a_correction_that_counts_keeps_the_category_fixed(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    first = await reported(engine, call, await served(engine, call), **BINARY)
    await apply_now(engine, call)
    run = first.outcome.retrieval_id

    mended = a_report(**(BINARY | {"reward": 0.0}), supersedes=first.outcome.id)
    [corrected] = await report(engine, call, [ReceiptReport(run, mended)])
    await apply_now(engine, call)

    assert isinstance(corrected, Reported)
    assert (await get_outcome(engine, call, first.outcome.id)).status == "superseded"
    assert await measured(engine, call) == ("reward", "binary", "outcomes")


async def test_an_admin_changes_the_metric_for_later_outcomes_and_the_audit_says_so(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    old = await reported(engine, call, await served(engine, call), **BINARY)
    await apply_now(engine, call)
    before, _ = await live_and_rebuilt(engine, call)
    category = await weather(engine, call)

    changed = await set_measure(engine, call, category.id, REWARD)

    assert (changed.metric, changed.reward_kind, changed.fixed_by) == (
        "reward",
        "continuous",
        "admin",
    )
    assert (await live_and_rebuilt(engine, call))[0] == before
    assert (await get_outcome(engine, call, old.outcome.id)).status == "applied"
    refused = await answered(engine, call, await served(engine, call), **BINARY)
    assert isinstance(refused, Conflict)
    await reported(engine, call, await served(engine, call), reward=0.3)
    await apply_now(engine, call)
    live, again = await live_and_rebuilt(engine, await calls(wall))
    assert live == again != before
    entry = next(
        one
        for one in (await audit_trail(engine, call, AuditFilter(), PAGE)).items
        if one.action == "category.measure"
    )
    assert entry.subject == str(category.id)
    assert entry.detail == {"from": "reward, binary", "to": "reward, continuous"}


async def test_what_an_admin_fixed_stays_when_no_outcome_is_left(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    await reported(engine, call, await served(engine, call), reward=0.4)
    await apply_now(engine, call)
    category = await weather(engine, call)
    await set_measure(engine, call, category.id, REWARD)

    await roll_back(engine, await calls(wall), Rollback(key_id=call.key.id, dry_run=False))
    assert await measured(engine, call) == ("reward", "continuous", "admin")
    await set_measure(engine, call, category.id, Measure())
    assert await measured(engine, call) == FREE


async def test_a_note_counts_when_it_is_reported_again_after_the_metric_was_changed(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    await reported(engine, call, await served(engine, call), reward=0.7)
    await apply_now(engine, call)
    run = await served(engine, call)
    note = await reported(engine, call, run, **BINARY, keep=True)
    await set_measure(engine, call, (await weather(engine, call)).id, HIT)

    counted = await reported(engine, call, run, **BINARY)

    assert (counted.replayed, counted.outcome.evidence) == (False, "single")
    assert counted.outcome.id != note.outcome.id


async def test_only_a_manager_says_what_a_category_is_measured_by(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    made = await add_category(engine, call, CategoryName("weather", "rain"))

    with pytest.raises(Forbidden):
        await set_measure(engine, await calls(wall, role=Role.AGENT), made.id, REWARD)
    with pytest.raises(Rejected, match="weather"):
        await set_measure(engine, call, made.id, REWARD)
    with pytest.raises(NotFound):
        await set_measure(engine, call, new_id(), REWARD)
    with pytest.raises(Rejected):
        Measure("luck", "binary")
    with pytest.raises(Rejected):
        Measure("reward")


async def test_of_two_measures_that_wait_the_first_applied_wins_and_the_other_is_told_of_it(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    first = await reported(engine, call, await served(engine, call), reward=0.7)
    second = await reported(engine, call, await served(engine, call), **BINARY)

    await apply_now(engine, call)

    assert first.warnings == ()
    assert [one.code for one in second.warnings] == ["metric_contested"]
    lost = await get_outcome(engine, call, second.outcome.id)
    assert (lost.status, lost.reason) == ("ignored", "other_metric")
    assert await measured(engine, call) == CONTINUOUS


@pytest.fixture
async def other(engine: Engine, database_url: str) -> AsyncGenerator[Engine]:
    """A second process, as far as the database can tell."""
    opened = an_engine(database_url)
    opened.registered = engine.registered
    yield opened
    await opened.close()


async def test_two_processes_that_report_otherwise_at_once_leave_one_metric_and_lose_nothing(
    engine: Engine, other: Engine, operator: Key, wall: str
):
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft())
    runs = [await served(engine, call) for _ in range(24)]

    async def told(i: int) -> object:
        process = (engine, other)[i % 2]
        said = BINARY if i % 2 else {"reward": 0.7}
        answer = await answered(process, call, runs[i], **said)
        await apply_now(process, call)
        return answer

    answers = await asyncio.gather(*(told(i) for i in range(len(runs))))
    await apply_now(engine, call)

    metric, kind, by = await measured(engine, call)
    assert (metric, by) == ("reward", "outcomes")
    outcomes = (await list_outcomes(engine, call, OutcomeFilter(), PAGE)).items
    refused = [one for one in answers if isinstance(one, Conflict)]
    assert len(outcomes) + len(refused) == len(runs)
    for one in outcomes:
        expected = ("applied", None) if one.reward_kind == kind else ("ignored", "other_metric")
        assert (one.status, one.reason) == expected
    live, again = await live_and_rebuilt(engine, await a_call(engine, operator, wall))
    assert live == again


async def test_categories_are_measured_each_for_itself(engine: Engine, calls: Caller, wall: str):
    call = await calls(wall)
    await remembered(engine, call, a_draft(), a_draft(category="markets"))
    await reported(engine, call, await served(engine, call), reward=0.7)
    elsewhere = TaskDraft("a forecast of rain", category="markets")
    there = await served(engine, call, task=elsewhere)
    taken = await reported(engine, call, there, **BINARY)
    await apply_now(engine, call)

    assert taken.warnings == ()
    assert (await get_outcome(engine, call, taken.outcome.id)).status == "applied"
