"""A dry run of any job names what it would change, one by one, and changes nothing at all."""

from dataclasses import replace
from typing import cast

import pytest
from sqlalchemy import text

from memory.jobs.service import JOBS
from memory.kernel.engine import Engine
from memory.kernel.postgres.tables import metadata
from memory.outcomes.applying import apply_now
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import Call, Key
from tests.fixtures.builders import a_draft
from tests.fixtures.contrast_steps import a_run as a_trajectory
from tests.fixtures.contrast_steps import ran
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace
from tests.fixtures.verification_steps import a_run, a_task_draft, job
from tests.storage.steps import a_call, remembered, reported, served

LATER = NOON + 40 * DAY
TEXT = (
    "start from the base rate of the month and move only a little unless the pressure has fallen "
    "for some days and the wind has turned to the west in the meantime"
)
TWINS = (TEXT, TEXT.upper())
CHANGING = ("decay", "acquire", "contrast", "tickets", "reflect", "merge", "relabel", "checks")
# Without a language model the job `revise` compares failures and makes nothing of them.
# Nothing here is old enough for `retention`: tests/services/retention has what is.
LOOKING = ("health", "rebuild", "revise", "retention")
NAMED = ("memory_id", "task_id", "outcome_id", "ticket_id")


@pytest.fixture
async def slug(engine: Engine, operator: Key) -> str:
    """A namespace in which every job that changes anything finds something to do."""
    made = await a_namespace(engine, operator, settings=replace(OPEN, meta_guidelines=True))
    call = await a_call(engine, operator, made)
    foreign = a_draft(lesson="look at the table", category=CategoryName("sport"))
    await remembered(engine, call, *(a_draft(lesson=lesson) for lesson in TWINS), foreign)
    prices = "the price of shares"
    for name, lesson in (("markets", "look at the yields"), ("general", "look at the bonds")):
        draft = a_draft(situation=prices, lesson=lesson, category=CategoryName(name))
        await remembered(engine, call, draft)
    wanted = a_draft(lesson="look at the wind", verify=True, task=a_task_draft())
    await remembered(engine, call, wanted)
    asked = await served(engine, call, task=a_task_draft(0), purpose="paired")
    acted = tuple(one.memory_id for one in asked.memories)
    await reported(engine, call, asked, reward=0.9, without={"reward": 0.3}, used=acted)
    await a_run(engine, call, 1, "never do so again", reward=0.1, without={"reward": 0.8})
    await apply_now(engine, call)
    await ran(engine, call, a_trajectory("alpha"), a_trajectory("beta", right=False))
    return made


async def digests(engine: Engine, call: Call) -> dict[str, tuple[int, str]]:
    """Every row of every table, as this namespace sees it."""
    found: dict[str, tuple[int, str]] = {}
    async with engine.database.transaction(call.namespace.id) as connection:
        for table in sorted(metadata.tables):
            rows = f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {table} t"
            count, digest = (await connection.execute(text(rows))).one()
            found[table] = (count, digest)
    return found


def changes(result: object) -> list[dict[str, object]]:
    assert isinstance(result, dict)
    return cast("list[dict[str, object]]", result["changes"])


@pytest.mark.parametrize("name", [*CHANGING, *LOOKING])
async def test_a_dry_run_changes_no_row_of_any_table(
    engine: Engine, operator: Key, slug: str, name: str
) -> None:
    call = await a_call(engine, operator, slug)
    before = await digests(engine, call)

    run = await job(engine, operator, slug, name, LATER, dry=True)

    assert await digests(engine, call) == before
    assert {table for table, (count, _) in before.items() if count} >= {
        "memory",
        "weight_event",
        "outcome",
        "ticket",
    }
    assert run.dry_run


@pytest.mark.parametrize("name", CHANGING)
async def test_a_dry_run_names_each_change_and_what_it_is_of(
    engine: Engine, operator: Key, slug: str, name: str
) -> None:
    run = await job(engine, operator, slug, name, LATER, dry=True)

    listed = changes(run.result)
    assert listed
    for one in listed:
        assert one["change"]
        assert any(one.get(key) for key in NAMED), one


@pytest.mark.parametrize("name", CHANGING)
async def test_the_run_itself_does_change_rows(
    engine: Engine, operator: Key, slug: str, name: str
) -> None:
    call = await a_call(engine, operator, slug)
    before = await digests(engine, call)

    await job(engine, operator, slug, name, LATER)

    after = await digests(engine, call)
    assert {table for table in after if after[table] != before[table]} > {"job_run"}


def test_every_job_is_rehearsed_here() -> None:
    assert {job.name for job in JOBS} == {*CHANGING, *LOOKING}
