"""What goes beside receipts and outcomes, and how: in slices, beside agents that report."""

import asyncio
from dataclasses import replace
from random import Random

import pytest
from sqlalchemy import text

import memory.retention.service as retention
from memory.jobs.attempts import NOT_LEADER
from memory.jobs.service import JobRequest, run_job
from memory.jobs.stopping import stop_run
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, NotFound
from memory.kernel.postgres.leadership import Leadership
from memory.outcomes.applying import apply_now
from memory.retention.entities import MIN_ROWS, SliceSize
from memory.retention.service import remove_old
from memory.retrieval.service import retrieve
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call, Key
from memory.tenancy.namespace_settings import NamespaceSettings
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.contrast_steps import a_run, contrasted, ran
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace
from tests.fixtures.verification_steps import job
from tests.services.retention.retention_steps import HOUR, LongPast, count, run_retention
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

SHORT = replace(OPEN, retention_days=31)
LATER = NOON + 60 * DAY


async def some_runs(engine: Engine, call: Call, runs: int = 8) -> None:
    """Reported receipts that expire within the hour."""
    await remembered(engine, call, a_draft(learned_at=NOON))
    for number in range(runs):
        at = NOON + number * HOUR
        run = await served(engine, call, as_of=at, expires_in=60.0)
        await reported(engine, call, run, reward=0.1 * number, known_at=at)
    await apply_now(engine, call)


async def test_a_run_that_is_cut_off_goes_on_where_it_stopped(
    engine: Engine, operator: Key, monkeypatch: pytest.MonkeyPatch
):
    slug = await a_namespace(engine, operator, clock="replay", settings=SHORT)
    call = await a_call(engine, operator, slug)
    await some_runs(engine, call)
    call = await a_call(engine, operator, slug)
    before, _ = await live_and_rebuilt(engine, call)

    with monkeypatch.context() as patched:
        patched.setattr(retention, "VISIT", -DAY)
        begun = await job(engine, operator, slug, "retention", LATER)
    assert begun.result is not None
    assert (begun.result["complete"], begun.result["rows_removed"]) == (False, 0)
    with pytest.raises(Conflict) as lost:
        await remove_old(engine, call.namespace, LATER, Leadership(-1, "a leader of old"))
    assert lost.value.kind == NOT_LEADER
    assert await count(engine, call, "outcome") == 8
    await remove_old(engine, call.namespace, LATER, None)

    assert await count(engine, call, "outcome") == 0
    assert await count(engine, call, "retrieval") == 0
    assert await live_and_rebuilt(engine, call) == (before, before)
    async with engine.database.transaction(call.namespace.id) as connection:
        result = await connection.scalar(
            text("SELECT result FROM job_run WHERE id = :id"), {"id": begun.id}
        )
    assert (result["complete"], result["rows_removed"]) == (True, begun.result["rows_to_remove"])
    assert result["slices"] > 0


async def test_a_run_that_somebody_stopped_removes_no_more_and_the_next_one_does(
    engine: Engine, operator: Key, monkeypatch: pytest.MonkeyPatch
):
    slug = await a_namespace(engine, operator, clock="replay", settings=SHORT)
    await some_runs(engine, await a_call(engine, operator, slug))
    call = await a_call(engine, operator, slug)
    with monkeypatch.context() as patched:
        patched.setattr(retention, "VISIT", -DAY)
        begun = await job(engine, operator, slug, "retention", LATER)
    other = await a_call(engine, operator, await a_namespace(engine, operator, settings=SHORT))
    with pytest.raises(NotFound):
        await stop_run(engine, other, begun.id)
    foreseen = await run_job(engine, call, "retention", JobRequest(dry_run=True, now=LATER))
    with pytest.raises(NotFound, match="a dry run changes nothing, is not kept"):
        await stop_run(engine, call, foreseen.id)

    stopped = await stop_run(engine, call, begun.id)
    await remove_old(engine, call.namespace, LATER, None)

    assert stopped.result is not None
    assert stopped.result["stopped"] is True
    assert await count(engine, call, "outcome") == 8
    with pytest.raises(Conflict) as again:
        await stop_run(engine, call, begun.id)
    assert again.value.detail == "nothing of this run is left to stop"
    done = await job(engine, operator, slug, "retention", LATER)
    assert done.result is not None
    assert (done.result["complete"], await count(engine, call, "outcome")) == (True, 0)
    with pytest.raises(Conflict):
        await stop_run(engine, call, done.id)


async def test_agents_report_and_learn_while_rows_go(engine: Engine, operator: Key):
    slug = await a_namespace(
        engine, operator, clock="replay", settings=replace(OPEN, retention_days=200)
    )
    past = LongPast(engine, operator, slug, Random(2))
    await past.begin()
    await past.go_on(12, 300)
    now = past.now + DAY
    answered: list[bool] = []
    over = asyncio.Event()

    async def write() -> None:
        while not over.is_set() or len(answered) < 3:
            past.day += 0.01
            await past.run_once(len(answered))
            answered.append(True)

    writing = asyncio.create_task(write())
    try:
        done = await run_retention(engine, operator, slug, now)
    finally:
        over.set()
        await writing

    assert done["outcomes"] > 0
    assert done["complete"]
    live, again = await live_and_rebuilt(engine, await past.call())
    assert live == again


async def test_words_of_runs_go_and_what_a_constraint_rests_on_stays(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, clock="replay", settings=SHORT)
    call = await a_call(engine, operator, slug)
    pair = [a_run("alpha", known_at=NOON), a_run("beta", right=False, known_at=NOON)]
    await contrasted(engine, call, *await ran(engine, call, *pair))
    other = TaskDraft("another task", key="other", category="mathematics")
    await ran(engine, call, a_run("alpha", task=other, known_at=NOON))

    done = await run_retention(engine, operator, slug, LATER)

    assert done["texts_of_runs"] == 1
    assert await count(engine, call, "trajectory") == 3
    assert await count(engine, call, "trajectory", "steps = '[]' AND erased_at IS NOT NULL") == 1
    assert await count(engine, call, "trajectory", "reward IS NOT NULL") == 3
    assert await count(engine, call, "contrast") == 1


OLD_CALL = text("""
    INSERT INTO writing (id, namespace_id, role, model, attempt, prompt, answer, tokens,
        duration_ms, status, memory_ids, recorded_at)
    VALUES (gen_random_uuid(), :ns, 'summarise', 'm', 1, 'a prompt', 'an answer', 9, 1.0, 'done',
        '{}', :at)
""")
OLD_DAY = text("INSERT INTO writing_budget (namespace_id, day, spent) VALUES (:ns, :at, 9)")


async def test_calls_of_the_language_model_and_their_budget_go_by_the_servers_clock(
    engine: Engine, operator: Key
):
    slug = await a_namespace(engine, operator, settings=SHORT)
    here = (await a_call(engine, operator, slug)).namespace.id
    async with engine.database.transaction(here) as connection:
        for at in (NOON, NOON + 40 * DAY):
            await connection.execute(OLD_CALL, {"ns": here, "at": at})
            await connection.execute(OLD_DAY, {"ns": here, "at": at})

    done = await run_retention(engine, operator, slug, LATER)

    call = await a_call(engine, operator, slug)
    assert (done["llm_calls"], done["llm_budget_days"]) == (1, 1)
    assert await count(engine, call, "writing") == 1
    assert await count(engine, call, "writing_budget") == 1


async def test_an_open_receipt_stays_with_all_that_was_learned_since(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, clock="replay", settings=SHORT)
    call = await a_call(engine, operator, slug)
    await remembered(engine, call, a_draft(learned_at=NOON))
    open_one = await served(engine, call, as_of=NOON, expires_in=90 * 24 * 3600.0)
    await reported(engine, call, open_one, reward=0.2, known_at=NOON)
    await some_runs(engine, call, 3)

    done = await run_retention(engine, operator, slug, LATER)

    assert (done["outcomes"], done["receipts"], done["complete"]) == (0, 0, True)
    after = await run_retention(engine, operator, slug, NOON + 130 * DAY)
    assert (after["outcomes"], after["receipts"]) == (4, 4)


@pytest.mark.parametrize("days", [30, 0, -1, 36_501])
def test_a_time_out_of_bounds_is_refused_by_name(days: int):
    with pytest.raises(MemoryFault, match="retention_days") as refused:
        NamespaceSettings(retention_days=days)
    assert (refused.value.field, refused.value.limit) == (
        "settings.retention_days",
        [31, 36_500],
    )


def test_a_slice_that_took_long_is_followed_by_a_smaller_one():
    size = SliceSize(1_000)
    size.adapt(0.8)
    assert size.rows == 50
    size.adapt(30.0)
    assert size.rows == MIN_ROWS
    size.adapt(0.001)
    assert size.rows == 2 * MIN_ROWS


async def test_a_task_goes_after_its_receipt_and_stays_while_anything_names_it(
    engine: Engine, operator: Key
):
    slug = await a_namespace(engine, operator, clock="replay", settings=SHORT)
    call = await a_call(engine, operator, slug)
    await some_runs(engine, call)
    kept = TaskDraft("a task that a run was made of", key="kept")
    await ran(engine, call, a_run("solver", task=kept, known_at=NOON))
    asked = TaskDraft("a task that is asked for again", key="again")
    first = await served(engine, call, task=asked, as_of=NOON, expires_in=60.0)
    await served(engine, call, task=asked, as_of=LATER - HOUR)
    call = await a_call(engine, operator, slug)
    tasks = await count(engine, call, "task")

    foreseen = await run_retention(engine, operator, slug, LATER, dry=True)
    done = await run_retention(engine, operator, slug, LATER)

    assert done["tasks"] == foreseen["tasks"] == done["removed"]["tasks"] > 0
    assert await count(engine, call, "task") == tasks - done["tasks"] == 2
    again = await served(engine, call, task=asked, as_of=LATER)
    assert again.receipt.task_id == first.receipt.task_id


async def test_a_key_of_a_task_that_has_gone_names_a_new_task(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, clock="replay", settings=SHORT)
    call = await a_call(engine, operator, slug)
    task = TaskDraft("a task of long ago", key="old")
    old = await served(engine, call, task=task, as_of=NOON, expires_in=60.0)
    await run_retention(engine, operator, slug, LATER)
    call = await a_call(engine, operator, slug)

    new = await served(engine, call, task=task, as_of=LATER)
    [gone] = await retrieve(
        engine, call, [an_ask(task=None, task_id=old.receipt.task_id, as_of=LATER)]
    )

    assert new.receipt.task_id != old.receipt.task_id
    assert isinstance(gone, NotFound)
