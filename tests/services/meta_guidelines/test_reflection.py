"""A task that memory made worse leaves a meta-guideline behind: how the notes should have been
used.
"""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.guidelines.entities import CrossCategory, Directives, OnDisagreement
from memory.jobs.service import JobRequest, list_runs, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Page
from memory.kernel.postgres.leadership import JobRun
from memory.memories.entities import MemoryFilter, Trust
from memory.meta_guidelines.entities import PER_CATEGORY, MetaGuideline, MetaGuidelineDraft
from memory.meta_guidelines.reflection import ReflectionCase, deduce, has_fresh_harm
from memory.meta_guidelines.service import add, browse, get
from memory.meta_guidelines.store import CitedMemory, HarmfulPair
from memory.outcomes.applying import apply_now
from memory.receipts.guideline_entities import Format
from memory.tasks.entities import REFLECTOR, CategoryIds, CategoryName, TaskDraft
from memory.tenancy.entities import Call, Clock, Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

PAGE = Page(200)
GUIDED = replace(OPEN, meta_guidelines=True)
SPORT, WEATHER = CategoryName("sport"), CategoryName("weather")


@pytest.fixture
async def slug(engine: Engine, operator: Key) -> str:
    """A replay namespace with a lesson of the task's category and one of another."""
    made = await a_namespace(engine, operator, clock=Clock.REPLAY, settings=GUIDED)
    call = await a_call(engine, operator, made)
    foreign = a_draft(lesson="look at the table", category=SPORT, learned_at=NOON)
    await remembered(engine, call, a_draft(learned_at=NOON), foreign)
    return made


async def paired(engine: Engine, call: Call, at: datetime, gap: float, **ask: object) -> UUID:
    """One pair, applied, with `gap` between the run with memory and the run without."""
    fields = {"format": Format.MEMORIES, "purpose": "paired", "as_of": at, **ask}
    answer = await served(engine, call, **fields)
    half = {"reward": 0.5}
    known = at + DAY / 24
    one = await reported(engine, call, answer, reward=0.5 + gap, without=half, known_at=known)
    await apply_now(engine, call)
    return one.outcome.id


async def reflect(
    engine: Engine, key: Key, slug: str, now: datetime, *, dry: bool = False
) -> JobRun:
    call = await a_call(engine, key, slug)
    return await run_job(engine, call, "reflect", JobRequest(now, dry_run=dry))


def changes(run: JobRun) -> list[dict[str, object]]:
    assert run.result is not None
    found = run.result["changes"]
    assert isinstance(found, list)
    return found


async def reflections(engine: Engine, call: Call) -> list[MetaGuideline]:
    found = await browse(engine, call, MemoryFilter(agent=REFLECTOR), PAGE)
    return list(found.items)


def a_task(words: str, group: str | None = None) -> TaskDraft:
    return TaskDraft(f"a forecast of rain {words}", category=WEATHER.name, group_key=group)


async def test_a_pair_that_memory_lost_becomes_a_candidate_of_its_category(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    outcome = await paired(engine, call, NOON + DAY, -0.3)

    run = await reflect(engine, operator, slug, NOON + 2 * DAY)

    [meta] = await reflections(engine, call)
    [change] = changes(run)
    assert (change["memory_id"], change["change"]) == (str(meta.id), "created")
    assert change["outcome_id"] == str(outcome)
    assert (meta.origin, meta.trust) == ("reflection", Trust.UNVERIFIED)
    assert CategoryName(meta.category, meta.subcategory) == WEATHER
    assert meta.effective_weight == pytest.approx(0.8)
    assert meta.directives == Directives(cross_category=CrossCategory.EXCLUDE)
    assert "worse by 0.30" in meta.failure_reason
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def test_a_candidate_guides_the_next_like_task_unverified(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    await paired(engine, call, NOON + DAY, -0.3)
    await reflect(engine, operator, slug, NOON + 2 * DAY)

    answer = await served(engine, call, as_of=NOON + 3 * DAY, format=Format.FULL)

    [meta] = await reflections(engine, call)
    assert answer.guidance is not None
    assert answer.guidance.memory_id == meta.id
    assert "by «memlift-reflection» (2026-03-03, weight 0.80, unverified)" in (
        answer.receipt.guideline.text or ""
    )
    assert {cut.reason for cut in answer.receipt.guideline.cut} == {"category"}


async def test_a_namespace_that_compiles_by_none_learns_none(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY, settings=OPEN)
    call = await a_call(engine, operator, slug)
    await remembered(engine, call, a_draft(learned_at=NOON))
    await paired(engine, call, NOON + DAY, -0.3)

    run = await reflect(engine, operator, slug, NOON + 2 * DAY)
    async with engine.database.transaction(call.namespace.id) as connection:
        due = await has_fresh_harm(connection, call.namespace)

    assert (changes(run), await reflections(engine, call), due) == ([], [], False)


@pytest.mark.parametrize("gap", [0.3, 0.0, -0.019])
async def test_a_gain_or_a_loss_within_the_dead_band_says_nothing(
    engine: Engine, operator: Key, slug: str, gap: float
):
    call = await a_call(engine, operator, slug)
    await paired(engine, call, NOON + DAY, gap)

    run = await reflect(engine, operator, slug, NOON + 2 * DAY)

    assert (changes(run), await reflections(engine, call)) == ([], [])


async def test_a_dry_run_says_what_a_run_then_does_and_writes_nothing(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    await paired(engine, call, NOON + DAY, -0.3)
    before = (await a_call(engine, operator, slug)).namespace

    dry = await reflect(engine, operator, slug, NOON + 2 * DAY, dry=True)

    assert (await a_call(engine, operator, slug)).namespace == before
    assert (await list_runs(engine, call, PAGE)).total == 0
    assert await reflections(engine, call) == []
    run = await reflect(engine, operator, slug, NOON + 2 * DAY)
    assert [{**one, "memory_id": None} for one in changes(run)] == changes(dry)
    assert len(changes(run)) == 1


async def test_a_group_of_tasks_gives_one_candidate_the_worst_of_it(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    await paired(engine, call, NOON + DAY, -0.1, task=a_task("here", "storm"))
    worst = await paired(engine, call, NOON + DAY, -0.4, task=a_task("there", "storm"))

    run = await reflect(engine, operator, slug, NOON + 2 * DAY)

    assert [change["outcome_id"] for change in changes(run)] == [str(worst)]


async def test_the_same_instruction_again_is_evidence_and_no_second_one(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    for number in (1, 2):
        await paired(engine, call, NOON + DAY, -0.3, task=a_task(f"in place {number}"))

    first = await reflect(engine, operator, slug, NOON + 2 * DAY)
    await paired(engine, call, NOON + 2 * DAY, -0.3, task=a_task("elsewhere"))
    second = await reflect(engine, operator, slug, NOON + 3 * DAY)

    assert [c["change"] for c in changes(first)] == ["created", "merged"]
    assert [c["change"] for c in changes(second)] == ["merged"]
    [meta] = await reflections(engine, call)
    assert meta.evidence == 3


async def test_a_failure_is_reflected_on_once(engine: Engine, operator: Key, slug: str):
    call = await a_call(engine, operator, slug)
    await paired(engine, call, NOON + DAY, -0.3)

    for day in (2, 3, 4):
        await reflect(engine, operator, slug, NOON + day * DAY)

    [meta] = await reflections(engine, call)
    assert meta.evidence == 1


async def test_what_is_not_known_yet_waits_for_a_later_run(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    await paired(engine, call, NOON + 5 * DAY, -0.3)

    early = await reflect(engine, operator, slug, NOON + 2 * DAY)
    late = await reflect(engine, operator, slug, NOON + 6 * DAY)

    assert (changes(early), len(changes(late))) == ([], 1)


async def fill(engine: Engine, call: Call, weight: float) -> list[UUID]:
    drafts = [
        MetaGuidelineDraft(
            "curator",
            f"reason {n}",
            f"advice {n}",
            category=WEATHER.name,
            weight=weight,
            learned_at=NOON,
        )
        for n in range(PER_CATEGORY)
    ]
    return [(await add(engine, call, draft)).id for draft in drafts]


async def test_a_full_category_gives_up_its_weakest_for_a_candidate(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    held = await fill(engine, call, 0.5)
    await paired(engine, call, NOON + DAY, -0.3)

    run = await reflect(engine, operator, slug, NOON + 2 * DAY)

    created, retired = changes(run)
    assert (created["change"], retired["change"]) == ("created", "retired: displaced")
    assert UUID(str(retired["memory_id"])) in held
    assert (await get(engine, call, UUID(str(retired["memory_id"])))).status == "retired"
    one_more = MetaGuidelineDraft("curator", "more", "more", category=WEATHER.name, learned_at=NOON)
    with pytest.raises(Rejected, match="holds 50"):
        await add(engine, call, one_more)


async def test_a_category_full_of_stronger_ones_keeps_them(
    engine: Engine, operator: Key, slug: str
):
    call = await a_call(engine, operator, slug)
    await fill(engine, call, 1.0)
    await paired(engine, call, NOON + DAY, -0.3)

    run = await reflect(engine, operator, slug, NOON + 2 * DAY)

    assert [str(c["change"]).split(":")[0] for c in changes(run)] == ["skipped"]
    assert await reflections(engine, call) == []


async def test_the_count_of_living_memories_holds(engine: Engine, operator: Key, slug: str):
    call = await a_call(engine, operator, slug)
    await served(engine, call, as_of=NOON + DAY)
    await fill(engine, call, 0.5)
    await paired(engine, call, NOON + DAY, -0.3)
    await reflect(engine, operator, slug, NOON + 2 * DAY)

    counted = (await a_call(engine, operator, slug)).namespace.n_memories
    async with engine.database.transaction(call.namespace.id) as connection:
        living = await connection.scalar(
            text("SELECT count(*) FROM memory WHERE namespace_id = :ns AND status <> 'retired'"),
            {"ns": call.namespace.id},
        )
    assert counted == living


def a_failure() -> HarmfulPair:
    return HarmfulPair(
        outcome_id=UUID(int=1),
        bank_version=1,
        retrieval_id=UUID(int=2),
        category_ids=CategoryIds(UUID(int=3)),
        category="weather",
        task_id=UUID(int=4),
        task="rain?",
        source_group="task:4",
        reward=0.2,
        without=0.5,
        guideline=None,
        known_at=NOON,
    )


def a_blamed(**changes: object) -> CitedMemory:
    fields: dict[str, object] = {
        "retrieval_id": UUID(int=2),
        "kind": "experience",
        "category": "weather",
        "effective_weight": 1.0,
        "credited": 9,
        "detail": {},
    }
    return CitedMemory(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name


@pytest.mark.parametrize(
    ("blamed", "directives"),
    [
        ([a_blamed()], Directives()),
        ([a_blamed(category="sport")], Directives(cross_category=CrossCategory.EXCLUDE)),
        (
            [a_blamed(effective_weight=1.4), a_blamed(effective_weight=0.6)],
            Directives(on_disagreement=OnDisagreement.STRONGEST),
        ),
        (
            [a_blamed(effective_weight=1.4), a_blamed(effective_weight=0.6, credited=1)],
            Directives(),
        ),
        ([a_blamed()] * 5, Directives(max_memories=2)),
    ],
)
def test_the_directives_answer_what_is_known_of_the_failure(
    blamed: list[CitedMemory], directives: Directives
):
    draft = deduce(ReflectionCase(a_failure(), tuple(blamed)))

    assert draft is not None
    assert draft.directives == directives
    assert draft.instruction


def test_what_had_been_told_and_failed_is_not_told_again():
    directives = Directives(cross_category=CrossCategory.EXCLUDE).stored()
    told = a_blamed(kind="meta_guideline", detail={"directives": directives})

    assert deduce(ReflectionCase(a_failure(), (a_blamed(category="sport"), told))) is None
    assert deduce(ReflectionCase(a_failure(), (a_blamed(), told))) is not None


def test_where_nothing_was_shown_nothing_is_to_blame():
    assert deduce(ReflectionCase(a_failure(), ())) is None
