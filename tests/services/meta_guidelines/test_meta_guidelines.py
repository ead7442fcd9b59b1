"""A guideline is compiled by at most one meta-guideline, and outcomes credit it like the others."""

from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.belief.inclusion import toss
from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.experiences.service import remember
from memory.guidelines.entities import CrossCategory, Directives
from memory.insight.service import get_weight
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, MemoryFault, Rejected
from memory.kernel.paging import Page
from memory.memories.entities import Kind, MemoryEdit, MemoryFilter, Remembered, Trust
from memory.memories.service import list_memories
from memory.meta_guidelines.entities import MetaGuideline, MetaGuidelineDraft
from memory.meta_guidelines.service import add, browse, get
from memory.outcomes.applying import apply_now
from memory.receipts.entities import Item
from memory.receipts.guideline_entities import Format
from memory.retrieval.entities import Advice
from memory.retrieval.service import explain, get_receipt, retrieve
from memory.tasks.entities import OWN_AGENT, CategoryName, TaskDraft
from memory.tasks.service import list_agents
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Clock, Key, Role
from tests.fixtures.builders import a_draft, an_ask, sentences_of
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

GUIDED = replace(OPEN, meta_guidelines=True)
PAGE = Page(200)
RAIN = "forecasts of rain went wrong because dry months were forgotten"


@pytest.fixture
async def guided(engine: Engine, operator) -> str:
    """A fresh namespace in which guidelines are compiled by meta-guidelines."""
    return await a_namespace(engine, operator, settings=GUIDED)


@pytest.fixture
async def guided_past(engine: Engine, operator) -> str:
    settings = replace(GUIDED, coins=True)
    return await a_namespace(engine, operator, settings=settings, clock=Clock.REPLAY)


def a_meta(**changes: object) -> MetaGuidelineDraft:
    fields: dict[str, object] = {
        "agent": "curator",
        "failure_reason": RAIN,
        "instruction": "read the month first",
        "category": "weather",
    }
    return MetaGuidelineDraft(**(fields | changes))  # pyright: ignore[reportArgumentType] - by name


def guide_of(answer: Advice) -> Item | None:
    found = [item for item in answer.receipt.items if item.kind is Kind.META_GUIDELINE]
    assert len(found) <= 1
    return found[0] if found else None


async def metas(engine: Engine, call: Call) -> list[MetaGuideline]:
    return list((await browse(engine, call, MemoryFilter(), PAGE)).items)


async def test_a_meta_guideline_that_was_brought_guides_the_guideline(
    engine: Engine, calls: Caller, guided: str
):
    [lesson] = await remembered(engine, await calls(guided), a_draft())
    meta = await add(engine, await calls(guided), a_meta())

    answer = await served(engine, await calls(guided), format=Format.FULL)

    guide = guide_of(answer)
    assert guide is not None
    assert (guide.served, guide.cited, guide.rank) == (True, True, 2)
    assert guide.memory_id == meta.id
    assert [memory.memory_id for memory in answer.memories] == [lesson.id]
    assert "How to use these notes, by «curator»" in (answer.receipt.guideline.text or "")
    assert answer.guidance is not None
    assert answer.guidance.instruction in (answer.receipt.guideline.text or "")


async def test_nothing_is_advised_that_nobody_learned_or_brought(
    engine: Engine, calls: Caller, guided: str
):
    await remembered(engine, await calls(guided), a_draft())

    answer = await served(engine, await calls(guided))

    assert (guide_of(answer), answer.guidance) == (None, None)
    assert await metas(engine, await calls(guided)) == []
    assert [one.name for one in (await list_agents(engine, await calls(guided), PAGE)).items] == [
        "solver"
    ]


async def test_what_is_below_the_raw_gate_guides_nothing(
    engine: Engine, calls: Caller, operator: Key
):
    gated = await a_namespace(engine, operator, settings=replace(GUIDED, raw_gate=0.2))
    await remembered(engine, await calls(gated), a_draft())
    await add(engine, await calls(gated), a_meta(failure_reason="zebra"))

    answer = await served(engine, await calls(gated))
    near = await add(engine, await calls(gated), a_meta())
    guide = guide_of(await served(engine, await calls(gated)))

    assert (guide_of(answer), answer.guidance) == (None, None)
    assert guide is not None
    assert guide.memory_id == near.id


async def test_what_was_retired_stays_away(engine: Engine, calls: Caller, guided: str):
    await remembered(engine, await calls(guided), a_draft())
    await add(engine, await calls(guided), a_meta())
    await served(engine, await calls(guided))
    for meta in await metas(engine, await calls(guided)):
        retire = StatusChange("retire")
        await change_status(engine, await calls(guided), meta.id, retire)

    answer = await served(engine, await calls(guided))

    assert guide_of(answer) is None
    assert len(await metas(engine, await calls(guided))) == 1


async def test_a_meta_guideline_leaves_the_bank_of_experiences_and_the_callers_as_they_were(
    engine: Engine, calls: Caller, guided: str
):
    await add(engine, await calls(guided), a_meta(agent="solver"))
    async with engine.database.transaction((await calls(guided)).namespace.id) as connection:
        await ActorStore(connection, (await calls(guided)).namespace.id).ensure_agent(
            OWN_AGENT, None, NOON
        )
    mine = await calls(guided, role=Role.AGENT, agents=("solver",), verifies="test")
    [own] = await remembered(engine, mine, a_draft())
    answer = await served(engine, mine, purpose="paired")
    assert guide_of(answer) is not None
    await reported(engine, mine, answer, reward=1.0, without={"reward": 0.0})
    await apply_now(engine, mine)

    assert (await list_memories(engine, mine, MemoryFilter(), PAGE)).total == 1
    assert [agent.name for agent in (await list_agents(engine, mine, PAGE)).items] == [
        OWN_AGENT,
        "solver",
    ]
    # Were the server's own name a second agent, an author's word would no longer count.
    assert (await get_weight(engine, mine, own.id, None)).effective_weight > 1.0


async def test_a_preview_is_guided_and_stores_nothing(engine: Engine, calls: Caller, guided: str):
    await remembered(engine, await calls(guided), a_draft())

    before = await served(engine, await calls(guided), purpose="preview")
    stored = await metas(engine, await calls(guided))
    await add(engine, await calls(guided), a_meta())
    after = await served(engine, await calls(guided), purpose="preview")

    assert (guide_of(before), stored) == (None, [])
    assert guide_of(after) is not None


async def test_an_arm_without_memory_records_what_would_have_guided(
    engine: Engine, calls: Caller, guided: str
):
    await remembered(engine, await calls(guided), a_draft())
    await add(engine, await calls(guided), a_meta())

    answer = await served(engine, await calls(guided), arm="off")

    guide = guide_of(answer)
    assert guide is not None
    assert (guide.served, guide.cited, answer.guidance) == (False, False, None)
    assert answer.receipt.guideline.text == ""


async def test_the_receipt_reads_back_with_its_kinds(engine: Engine, calls: Caller, guided: str):
    await remembered(engine, await calls(guided), a_draft())
    await add(engine, await calls(guided), a_meta())
    answer = await served(engine, await calls(guided))

    receipt = await get_receipt(engine, await calls(guided), answer.receipt.retrieval_id)

    assert [item.kind for item in receipt.items] == [Kind.EXPERIENCE, Kind.META_GUIDELINE]
    assert receipt.items == answer.receipt.items


async def test_each_guideline_of_a_batch_is_guided(engine: Engine, calls: Caller, guided: str):
    await remembered(engine, await calls(guided), a_draft())
    await add(engine, await calls(guided), a_meta())

    answers = await retrieve(engine, await calls(guided), [an_ask(), an_ask(agent="rival")])

    assert all(isinstance(one, Advice) and guide_of(one) for one in answers)
    assert len(await metas(engine, await calls(guided))) == 1


async def test_no_caller_speaks_in_the_servers_name(engine: Engine, calls: Caller, guided: str):
    [answer] = await remember(engine, await calls(guided), [a_draft(agent=OWN_AGENT)])

    assert isinstance(answer, Rejected)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": Format.MEMORIES},
        {"format": Format.MEMORIES, "all_rankers": True},
        {"max_tokens": 0},
    ],
)
async def test_without_a_compiled_guideline_none_is_chosen(
    engine: Engine, calls: Caller, guided: str, changes: dict[str, object]
):
    await remembered(engine, await calls(guided), a_draft())
    await add(engine, await calls(guided), a_meta())

    answer = await served(engine, await calls(guided), **changes)

    assert guide_of(answer) is None
    assert answer.guidance is None


async def a_taxonomy(engine: Engine, call: Call) -> None:
    """Sport is related to weather."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text(TAXONOMY), {"ns": call.namespace.id})


TAXONOMY = """
    INSERT INTO taxonomy (namespace_id, version, categories, allow_new, recorded_at)
    VALUES (:ns, 1, '[{"name": "weather", "related": ["sport"]}]', true, now())
"""


async def test_the_one_most_like_the_task_in_its_category_is_chosen(
    engine: Engine, calls: Caller, guided: str
):
    await remembered(engine, await calls(guided), a_draft())
    [near, far, foreign] = [
        await add(engine, await calls(guided), draft)
        for draft in (
            a_meta(),
            a_meta(failure_reason="snow was not expected", instruction="look north"),
            a_meta(failure_reason="a forecast of rain", category="sport"),
        )
    ]

    answer = await served(engine, await calls(guided))

    guide = guide_of(answer)
    assert guide is not None
    # Fewer than three are of the category, so that others count as well, at .7 of their similarity.
    assert guide.memory_id == foreign.id
    assert guide.relevance == pytest.approx(0.7 * guide.similarity)
    await a_taxonomy(engine, await calls(guided))
    related = guide_of(await served(engine, await calls(guided)))
    assert related is not None
    assert related.relevance == pytest.approx(0.8 * related.similarity)
    for name in ("third", "fourth"):
        await add(engine, await calls(guided), a_meta(failure_reason=f"quite {name}"))
    again = guide_of(await served(engine, await calls(guided)))
    assert again is not None
    assert (again.memory_id, far.id != near.id) == (near.id, True)


async def test_directives_shape_the_guideline_and_what_is_cut_is_named(
    engine: Engine, calls: Caller, guided: str
):
    [native, foreign] = await remembered(
        engine,
        await calls(guided),
        a_draft(),
        a_draft(lesson="look at the radar", category=CategoryName("sport")),
    )
    directives = Directives(cross_category=CrossCategory.EXCLUDE)
    meta = await add(engine, await calls(guided), a_meta(directives=directives))

    answer = await served(engine, await calls(guided))

    assert [(cut.memory_id, cut.reason) for cut in answer.receipt.guideline.cut] == [
        (foreign.id, "category")
    ]
    cited = {item.memory_id: item.cited for item in answer.receipt.items}
    assert cited == {native.id: True, foreign.id: False, meta.id: True}
    told = await explain(engine, await calls(guided), answer.receipt.retrieval_id)
    assert "leaves out other categories" in sentences_of(told)[foreign.id]
    assert "The meta-guideline of this guideline" in sentences_of(told)[meta.id]


async def test_without_a_coin_it_is_credited_with_nothing(
    engine: Engine, calls: Caller, guided: str
):
    [lesson] = await remembered(engine, await calls(guided), a_draft())
    meta = await add(engine, await calls(guided), a_meta())
    answer = await served(engine, await calls(guided), purpose="paired")

    await reported(engine, await calls(guided), answer, reward=0.9, without={"reward": 0.4})
    await apply_now(engine, await calls(guided))

    guide = guide_of(answer)
    assert guide is not None
    assert (guide.cited, guide.inclusion, guide.contender) == (True, None, False)
    earned = [await get_weight(engine, await calls(guided), i, None) for i in (lesson.id, meta.id)]
    assert [one.credited for one in earned] == [1, 0]
    assert earned[0].effective_weight > 1.0 == earned[1].effective_weight
    live, again = await live_and_rebuilt(engine, await calls(guided))
    assert live == again


@pytest.fixture
async def tossed(engine: Engine, operator: Key) -> str:
    """A namespace in which a coin decides whether a meta-guideline is followed."""
    return await a_namespace(engine, operator, settings=replace(GUIDED, coins=True))


def a_task(call: Call, meta_id: UUID, *, followed: bool) -> TaskDraft:
    """A task for which the coin of a meta-guideline at neutral falls so."""
    key = next(
        key
        for key in (f"rain {n}" for n in count())
        if (toss(call.namespace.secret, f"task {key}", meta_id) < 0.1) == followed
        and (toss(call.namespace.secret, f"task {key}", meta_id) < 0.9) == followed
    )
    return TaskDraft("a forecast of rain", key=key, category="weather")


@pytest.mark.parametrize("policy", ["belief", "steps", "delta"])
@pytest.mark.parametrize(("followed", "better"), [(True, True), (False, True), (False, False)])
async def test_its_coin_decides_and_an_outcome_credits_it_against_its_absence(
    engine: Engine, calls: Caller, operator: Key, policy: str, *, followed: bool, better: bool
):
    settings = replace(GUIDED, coins=True)
    slug = await a_namespace(engine, operator, settings=settings, policy=policy)
    [lesson] = await remembered(engine, await calls(slug), a_draft())
    meta = await add(engine, await calls(slug), a_meta())
    task = a_task(await calls(slug), meta.id, followed=followed)

    answer = await served(engine, await calls(slug), purpose="paired", task=task)
    rewards = (0.9, 0.4) if better else (0.1, 0.6)
    half = {"reward": rewards[1]}
    await reported(engine, await calls(slug), answer, reward=rewards[0], without=half)
    await apply_now(engine, await calls(slug))

    guide = guide_of(answer)
    assert guide is not None
    assert guide.inclusion == pytest.approx(0.5)
    assert (guide.contender, guide.left_out, guide.cited) == (True, not followed, followed)
    assert ("read the month first" in (answer.receipt.guideline.text or "")) == followed
    assert (answer.guidance is not None) == followed
    weight = await get_weight(engine, await calls(slug), meta.id, None)
    assert (weight.effective_weight > 1.0) == (followed == better)
    assert weight.credited == int(followed)
    own = await get_weight(engine, await calls(slug), lesson.id, None)
    assert (own.effective_weight > 1.0) == better
    told = await explain(engine, await calls(slug), answer.receipt.retrieval_id)
    said = sentences_of(told)[meta.id]
    assert ("left out by its coin, which keeps it with probability 0.50" in said) == (not followed)
    live, again = await live_and_rebuilt(engine, await calls(slug))
    assert live == again


async def test_one_that_changes_no_letter_is_credited_with_nothing(
    engine: Engine, calls: Caller, tossed: str
):
    await remembered(engine, await calls(tossed), a_draft())
    long = "read the month first and then " + "once more " * 40
    meta = await add(engine, await calls(tossed), a_meta(instruction=long))
    for followed in (True, False):
        task = a_task(await calls(tossed), meta.id, followed=followed)
        answer = await served(
            engine, await calls(tossed), purpose="paired", task=task, max_tokens=60
        )
        await reported(engine, await calls(tossed), answer, reward=0.9, without={"reward": 0.1})
        await apply_now(engine, await calls(tossed))
        guide = guide_of(answer)
        assert guide is not None
        assert (guide.contender, guide.cited) == (False, False)

    weight = await get_weight(engine, await calls(tossed), meta.id, None)
    assert (weight.effective_weight, weight.credited) == (1.0, 0)


async def test_a_pinned_one_is_always_followed_and_never_credited(
    engine: Engine, calls: Caller, tossed: str
):
    await remembered(engine, await calls(tossed), a_draft())
    meta = await add(engine, await calls(tossed), a_meta(pinned=True))
    task = a_task(await calls(tossed), meta.id, followed=False)

    answer = await served(engine, await calls(tossed), purpose="paired", task=task)
    await reported(engine, await calls(tossed), answer, reward=0.9, without={"reward": 0.1})
    await apply_now(engine, await calls(tossed))

    guide = guide_of(answer)
    assert guide is not None
    assert (guide.inclusion, guide.cited) == (1.0, True)
    weight = await get_weight(engine, await calls(tossed), meta.id, None)
    assert weight.effective_weight == 1.0


async def test_an_edited_one_that_was_left_out_learns_nothing_of_the_earlier_words(
    engine: Engine, calls: Caller, tossed: str
):
    await remembered(engine, await calls(tossed), a_draft())
    meta = await add(engine, await calls(tossed), a_meta())
    task = a_task(await calls(tossed), meta.id, followed=False)
    answer = await served(engine, await calls(tossed), purpose="paired", task=task)
    edit = MemoryEdit(lesson="read the year first")
    await edit_memory(engine, await calls(tossed), meta.id, edit, 1)

    await reported(engine, await calls(tossed), answer, reward=0.9, without={"reward": 0.1})
    await apply_now(engine, await calls(tossed))

    weight = await get_weight(engine, await calls(tossed), meta.id, None)
    assert weight.effective_weight == 1.0
    live, again = await live_and_rebuilt(engine, await calls(tossed))
    assert live == again


async def test_a_retrieval_in_the_past_is_guided_by_what_was_known_then(
    engine: Engine, calls: Caller, guided_past: str
):
    await remembered(engine, await calls(guided_past), a_draft(learned_at=NOON))
    early = a_meta(
        failure_reason="rain ran into letters that nobody had opened by then",
        instruction="read the year",
        learned_at=NOON,
    )
    await add(engine, await calls(guided_past), early)
    first = await served(engine, await calls(guided_past), as_of=NOON + DAY)
    late = a_meta(learned_at=NOON + 3 * DAY)
    meta = await add(engine, await calls(guided_past), late)
    now = await served(
        engine,
        await calls(guided_past),
        as_of=NOON + 4 * DAY,
        purpose="paired",
        task=a_task(await calls(guided_past), meta.id, followed=True),
    )
    half = {"reward": 0.1}
    await reported(
        engine, await calls(guided_past), now, without=half, reward=0.9, known_at=NOON + 5 * DAY
    )
    await apply_now(engine, await calls(guided_past))

    before = guide_of(await served(engine, await calls(guided_past), as_of=NOON + 2 * DAY))
    between = guide_of(await served(engine, await calls(guided_past), as_of=NOON + 4 * DAY))
    after = guide_of(await served(engine, await calls(guided_past), as_of=NOON + 6 * DAY))

    original = guide_of(first)
    assert original is not None
    assert before is not None
    assert between is not None
    assert after is not None
    assert before.memory_id == original.memory_id
    assert (between.memory_id, after.memory_id) == (meta.id, meta.id)
    assert between.effective_weight == 1.0 < after.effective_weight


async def test_the_same_words_again_are_one_and_with_other_directives_a_conflict(
    engine: Engine, calls: Caller, guided: str
):
    first = await add(engine, await calls(guided), a_meta())

    again = await add(engine, await calls(guided), a_meta())

    assert (again.id, again.deduplicated) == (first.id, True)
    assert (await get(engine, await calls(guided), first.id)).evidence == 2
    with pytest.raises(Conflict):
        await add(engine, await calls(guided), a_meta(directives=Directives(max_memories=1)))


async def test_how_memory_is_used_is_for_managers_to_say(
    engine: Engine, calls: Caller, guided: str
):
    agent = await calls(guided, role=Role.AGENT)
    meta = await add(engine, await calls(guided), a_meta())

    with pytest.raises(Forbidden):
        await add(engine, agent, a_meta())
    with pytest.raises(Forbidden):
        await change_status(engine, agent, meta.id, StatusChange("retire"))
    assert (await get(engine, agent, meta.id)).status == "active"


async def test_an_experience_is_no_meta_guideline(engine: Engine, calls: Caller, guided: str):
    [lesson] = await remembered(engine, await calls(guided), a_draft())

    with pytest.raises(MemoryFault, match="no such meta-guideline"):
        await get(engine, await calls(guided), lesson.id)


async def test_a_written_one_is_a_remembered_one(engine: Engine, calls: Caller, guided: str):
    made = await add(engine, await calls(guided), a_meta(weight=0.8))

    assert isinstance(made, Remembered)
    stored = await get(engine, await calls(guided), made.id)
    assert (stored.origin, stored.trust, stored.failure_reason) == (
        "written",
        Trust.TRUSTED,
        RAIN,
    )
    assert stored.effective_weight == pytest.approx(0.8)
