"""Constraints bind a task by its category and by the tasks they were learned from."""

from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.belief.inclusion import toss
from memory.belief.rankers import PLAIN
from memory.inference.stand_ins import ScriptedLlm
from memory.insight.service import get_weight
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.memories.entities import Kind, Status, Trust
from memory.memories.service import get_memory
from memory.meta_guidelines.entities import MetaGuidelineDraft
from memory.meta_guidelines.service import add
from memory.outcomes.applying import apply_now
from memory.receipts.entities import Item
from memory.receipts.guideline_entities import Format
from memory.retrieval.entities import Advice
from memory.retrieval.service import explain, get_receipt
from memory.tasks.entities import AgentDraft, CategoryName, TaskDraft
from memory.tasks.service import add_agent
from memory.tenancy.entities import Call, Key, Role
from tests.fixtures.binding_builders import MATHS, Laid, copies, lay
from tests.fixtures.builders import a_draft, sentences_of
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.fixtures.llm_builders import with_llm
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

TICKET = "solve for the price of a ticket"
ASKED = TaskDraft(TICKET, category=MATHS.name, subcategory=MATHS.subcategory)
PRICE = Laid("a price is asked for")
FAR = CategoryName("gardening")


def bound(answer: Advice) -> list[Item]:
    return [item for item in answer.receipt.items if item.kind is Kind.CONSTRAINT]


async def binding(engine: Engine, call: Call, **changes: object) -> list[UUID]:
    """The constraints that a retrieval for the ticket serves, in their order."""
    return [i.memory_id for i in bound(await served(engine, call, **({"task": ASKED} | changes)))]


async def test_a_bank_of_constraints_alone_answers_any_agent(
    engine: Engine, calls: Caller, wall: str
):
    [laid] = await lay(engine, await calls(wall), PRICE)

    answer = await served(
        engine, await calls(wall), task=ASKED, agent="stranger", format=Format.FULL
    )

    [item] = bound(answer)
    assert (answer.receipt.arm, answer.receipt.eligible) == ("on", True)
    assert (item.memory_id, item.rank, item.served, item.cited) == (laid, 1, True, True)
    assert (item.similarity, item.propensity, item.scores) == (pytest.approx(1, abs=1e-3), 1, None)
    said = "«When a price is asked for, enforce the check for a price is asked for; avoid guessing»"
    assert f"- constraint by «memlift-contrast» (2026-03-01, weight 1.00, unverified): {said}" in (
        answer.receipt.guideline.text or ""
    )
    assert answer.memories == ()
    [told] = answer.constraints
    assert (told.memory_id, told.wording, told.origin) == (laid, PRICE.wording, "distilled")
    assert (told.support.contrasts, told.support.tasks, told.support.agent_pairs) == (1, 1, 1)
    assert len(told.task_ids) == 1
    assert (
        await get_receipt(engine, await calls(wall), answer.receipt.retrieval_id) == answer.receipt
    )
    told = await explain(engine, await calls(wall), answer.receipt.retrieval_id)
    assert sentences_of(told)[laid].startswith("A constraint: similarity 1.000 of the nearest task")


UNTRIED = 0.8943502263331446
"""The probability of a memory about which nothing is known: the normal distribution at 1.25."""


def a_coined_task(call: Call, out: UUID, kept: UUID) -> TaskDraft:
    """A task for which the coins of these constraints fall so."""

    def falls(key: str, memory_id: UUID) -> bool:
        return toss(call.namespace.secret, f"task {key}", memory_id) >= UNTRIED

    keys = (f"ticket {n}" for n in count())
    key = next(key for key in keys if falls(key, out) and not falls(key, kept))
    return replace(ASKED, key=key)


async def test_a_coin_leaves_a_constraint_out_and_an_outcome_counts_its_absence(
    engine: Engine, operator: Key
):
    slug = await a_namespace(engine, operator, settings=replace(OPEN, coins=True))
    call = await a_call(engine, operator, slug)
    first, second = await lay(engine, call, *copies(PRICE, 2))
    task = a_coined_task(call, first, second)

    answer = await served(engine, call, task=task, purpose="paired")
    while answer.receipt.ranker == PLAIN:
        answer = await served(engine, call, task=task, purpose="paired")
    await reported(engine, call, answer, reward=0.9, without={"reward": 0.4})
    await apply_now(engine, call)

    told = {item.memory_id: item for item in bound(answer)}
    assert (told[first].left_out, told[first].served, told[first].contender) == (True, False, True)
    assert (told[second].served, told[second].cited) == (True, True)
    assert told[first].inclusion == told[second].inclusion == pytest.approx(UNTRIED)
    assert [one.memory_id for one in answer.constraints] == [second]
    weights = {one: await get_weight(engine, call, one, None) for one in (first, second)}
    assert weights[first].effective_weight == 1.0 < weights[second].effective_weight
    assert (weights[first].credited, weights[second].credited) == (0, 1)
    async with engine.database.transaction(call.namespace.id) as connection:
        absent = await connection.execute(
            text("SELECT n_absent FROM memory_weight WHERE memory_id = :id"), {"id": first}
        )
        assert absent.scalar_one() == 1
    sentences = sentences_of(await explain(engine, call, answer.receipt.retrieval_id))
    assert "left out by its coin, which keeps it with probability 0.89" in sentences[first]
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def test_a_constraint_alone_is_certain_of_its_place(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, settings=replace(OPEN, coins=True))
    call = await a_call(engine, operator, slug)
    [laid] = await lay(engine, call, PRICE)

    answer = await served(engine, call, task=ASKED, purpose="paired")
    while answer.receipt.ranker == PLAIN:
        answer = await served(engine, call, task=ASKED, purpose="paired")

    [item] = bound(answer)
    assert (item.memory_id, item.inclusion, item.left_out) == (laid, 1.0, False)


async def advised(engine: Engine, call: Call) -> None:
    """How memories are to be used, brought for tasks like the ticket."""
    said = "compare the price with the task before a note is used"
    await add(engine, call, MetaGuidelineDraft("curator", TICKET, said, category=MATHS.name))


async def test_constraints_stand_behind_the_experiences_and_before_the_meta_guideline(
    engine: Engine, operator: Key
):
    slug = await a_namespace(engine, operator, settings=replace(OPEN, meta_guidelines=True))
    call = await a_call(engine, operator, slug)
    draft = a_draft(situation=TICKET, lesson="write the equation down", category=MATHS)
    [lesson] = await remembered(engine, call, draft)
    laid = await lay(engine, call, *copies(PRICE, 2))
    await advised(engine, call)

    answer = await served(engine, await a_call(engine, operator, slug), task=ASKED, k=1)

    kinds = [item.kind for item in answer.receipt.items]
    assert kinds == [Kind.EXPERIENCE, Kind.CONSTRAINT, Kind.CONSTRAINT, Kind.META_GUIDELINE]
    assert [item.rank for item in answer.receipt.items] == [1, 2, 3, 4]
    assert all(item.served and item.cited for item in answer.receipt.items)
    assert [memory.memory_id for memory in answer.memories] == [lesson.id]
    assert [one.memory_id for one in answer.constraints] == sorted(laid)


async def test_a_bank_of_constraints_alone_is_guided_too(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, settings=replace(OPEN, meta_guidelines=True))
    call = await a_call(engine, operator, slug)
    await lay(engine, call, PRICE)
    await advised(engine, call)

    answer = await served(engine, await a_call(engine, operator, slug), task=ASKED)

    kinds = [item.kind for item in answer.receipt.items]
    assert kinds == [Kind.CONSTRAINT, Kind.META_GUIDELINE]


async def test_the_budget_holds_for_constraints_as_well(engine: Engine, calls: Caller, wall: str):
    await lay(engine, await calls(wall), *copies(PRICE, 3))
    whole = await served(engine, await calls(wall), task=ASKED)

    cut = await served(
        engine, await calls(wall), task=ASKED, max_tokens=whole.receipt.guideline.tokens - 1
    )

    assert len(whole.receipt.guideline.lines) == 3
    assert len(cut.receipt.guideline.lines) == 2
    assert cut.receipt.guideline.tokens < whole.receipt.guideline.tokens
    assert [one.reason for one in cut.receipt.guideline.cut] == ["budget"]
    assert [item.cited for item in bound(cut)] == [True, True, False]


async def test_two_constraints_with_one_obligation_are_two_lines(
    engine: Engine, calls: Caller, wall: str
):
    class Same(Laid):
        @property
        def wording(self):
            return replace(Laid.wording.fget(self), enforce="a check")  # pyright: ignore[reportOptionalCall] - a property has one

    await lay(engine, await calls(wall), Same("prices differ"), Same("prices are equal"))

    answer = await served(engine, await calls(wall), task=ASKED)

    assert [len(line.memory_ids) for line in answer.receipt.guideline.lines] == [1, 1]


async def test_as_data_constraints_have_a_list_of_their_own_and_no_score_a_ranker(
    engine: Engine, calls: Caller, wall: str
):
    [laid] = await lay(engine, await calls(wall), PRICE)
    draft = a_draft(situation=TICKET, lesson="write the equation down", category=MATHS)
    [lesson] = await remembered(engine, await calls(wall), draft)
    data = {"task": ASKED, "format": Format.MEMORIES}

    plain = await served(engine, await calls(wall), **data)
    of_all = await served(engine, await calls(wall), all_rankers=True, **data)

    for answer in (plain, of_all):
        assert [memory.memory_id for memory in answer.memories] == [lesson.id]
        assert [one.memory_id for one in answer.constraints] == [laid]
        assert [(i.cited, i.scores, i.propensity) for i in bound(answer)] == [(True, None, 1.0)]
        assert answer.receipt.guideline.text == ""


async def test_an_arm_without_memory_keeps_constraints_back(
    engine: Engine, calls: Caller, wall: str
):
    [laid] = await lay(engine, await calls(wall), PRICE)

    answer = await served(engine, await calls(wall), task=ASKED, arm="off")

    assert (answer.constraints, answer.receipt.guideline.text) == ((), "")
    assert [(i.memory_id, i.served, i.cited) for i in bound(answer)] == [(laid, False, False)]
    assert answer.receipt.eligible


async def test_control_keeps_constraints_back_by_lot(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, settings=replace(OPEN, control_rate=1.0))
    await lay(engine, await a_call(engine, operator, slug), PRICE)

    answer = await served(engine, await a_call(engine, operator, slug), task=ASKED)

    assert (answer.receipt.arm, answer.constraints) == ("control", ())
    assert [item.served for item in bound(answer)] == [False]


@pytest.mark.parametrize(
    "changes",
    [
        {"trust": Trust.QUARANTINED},
        *({"status": s} for s in (Status.PROPOSED, Status.REJECTED, Status.SUSPENDED)),
        {"status": Status.RETIRED},
    ],
    ids=str,
)
async def test_what_is_not_admitted_binds_nobody(
    engine: Engine, calls: Caller, wall: str, changes: dict[str, object]
):
    await lay(engine, await calls(wall), replace(PRICE, **changes))

    answer = await served(engine, await calls(wall), task=ASKED)

    assert (answer.receipt.items, answer.receipt.arm) == ((), "empty")


async def test_a_callers_own_constraint_binds_its_agent_alone(
    engine: Engine, calls: Caller, wall: str
):
    [laid] = await lay(engine, await calls(wall), replace(PRICE, owner="solver", counts=False))
    mine = await calls(wall, role=Role.AGENT, agents=("solver",))
    other = await calls(wall, role=Role.AGENT, agents=("rival",))

    assert await binding(engine, mine) == [laid]
    assert await binding(engine, other, agent="rival") == []
    assert await binding(engine, await calls(wall)) == []


async def test_a_constraint_is_found_by_its_tasks_and_not_by_its_own_words(
    engine: Engine, calls: Caller, wall: str
):
    near, other = await lay(
        engine,
        await calls(wall),
        replace(PRICE, trigger="apples", tasks=["count the legs of a spider", TICKET]),
        replace(PRICE, trigger=TICKET, tasks=["name a capital city"]),
    )

    answer = await served(engine, await calls(wall), task=ASKED)

    assert bound(answer)[0].memory_id == near
    [told, *_] = answer.constraints
    assert (told.support.tasks, len(told.task_ids)) == (2, 2)
    similar = {item.memory_id: item.similarity for item in bound(answer)}
    assert similar.get(other, 0.0) < 0.5 < similar[near]


async def test_a_full_category_needs_no_other_and_a_small_one_borrows(
    engine: Engine, calls: Caller, wall: str
):
    [far] = await lay(engine, await calls(wall), replace(PRICE, trigger="x", category=FAR))
    [parent] = await lay(
        engine, await calls(wall), replace(PRICE, trigger="y", category=CategoryName("mathematics"))
    )
    [related] = await lay(
        engine, await calls(wall), replace(PRICE, trigger="z", category=CategoryName("physics"))
    )
    await a_taxonomy(engine, await calls(wall))

    answer = await served(engine, await calls(wall), task=ASKED)

    counted = {i.memory_id: i.relevance / i.similarity for i in bound(answer)}
    # Three are there before the last step of the ladder only with the related one.
    assert counted == {parent: pytest.approx(0.9), related: pytest.approx(0.8), far: 0.7}

    own = await lay(engine, await calls(wall), *copies(PRICE, 3))
    assert await binding(engine, await calls(wall)) == sorted(own)


TAXONOMY = """
    INSERT INTO taxonomy (namespace_id, version, categories, allow_new, recorded_at)
    VALUES (:ns, 1, '[{"name": "mathematics", "related": ["gardening"]}]', true, now()),
        (:ns, 2, '[{"name": "physics"}, {"name": "mathematics", "related": ["physics", "?"]}]',
            true, now())
"""


async def a_taxonomy(engine: Engine, call: Call) -> None:
    """In its newest version physics is related to mathematics."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text(TAXONOMY), {"ns": call.namespace.id})


async def test_a_constraint_of_ones_own_model_counts_more(engine: Engine, calls: Caller, wall: str):
    call = await calls(wall)
    for name, model in (("small", "m-7b"), ("large", "m-70b"), ("reader", "m-7b"), ("new", None)):
        await add_agent(engine, call, AgentDraft(name, model=model))
    apart = "solve for the price of a very old blue ticket"
    await lay(engine, call, replace(PRICE, tasks=[apart]))

    async def counted(agent: str) -> float:
        [item] = bound(await served(engine, await calls(wall), task=ASKED, agent=agent))
        return item.relevance / item.similarity

    assert [await counted(name) for name in ("small", "reader")] == [pytest.approx(1.1)] * 2
    assert [await counted(name) for name in ("new", "unheard of")] == [pytest.approx(1.0)] * 2


COUNTED_LATER = """
    INSERT INTO constraint_support (id, namespace_id, memory_id, task_id, verifier, counts,
        known_at, recorded_at)
    SELECT gen_random_uuid(), namespace_id, memory_id, task_id, 'human', true, :at, :at
    FROM constraint_support WHERE memory_id = :id
"""


async def test_the_past_is_bound_by_what_was_known_then(engine: Engine, calls: Caller, past: str):
    early = replace(PRICE, known_at=NOON)
    later = replace(PRICE, trigger="later", known_at=NOON + 5 * DAY)
    first, second = await lay(engine, await calls(past), early, later)
    # Its first support came before anything that counts.
    doubtful = replace(PRICE, trigger="doubtful", counts=False)
    [third] = await lay(engine, await calls(past), doubtful)
    call = await calls(past)
    async with engine.database.transaction(call.namespace.id) as connection:
        values = {"id": third, "at": NOON + 8 * DAY}
        await connection.execute(text(COUNTED_LATER), values)
    lesson = a_draft(situation=TICKET, lesson="look", category=MATHS, learned_at=NOON)
    await remembered(engine, await calls(past), lesson)
    at = {"task": ASKED, "as_of": NOON + 9 * DAY, "purpose": "paired"}
    answer = await served(engine, await calls(past), **at)
    outcome = {"reward": 1.0, "without": {"reward": 0.0}, "known_at": NOON + 9 * DAY}
    await reported(engine, await calls(past), answer, **outcome)
    await apply_now(engine, await calls(past))

    async def then(days: int) -> list[tuple[UUID, float]]:
        asked = {"task": ASKED, "as_of": NOON + days * DAY}
        items = bound(await served(engine, await calls(past), **asked))
        return [(item.memory_id, item.effective_weight) for item in items]

    assert await then(2) == [(first, 1.0)]
    assert dict(await then(6)) == {first: 1.0, second: 1.0}
    assert all(weight > 1.0 for _, weight in await then(10))
    assert {first, second} < set(dict(await then(10)))


async def test_outcomes_move_a_constraint_as_they_move_an_experience_and_each_agent_apart(
    engine: Engine, calls: Caller, wall: str
):
    [laid] = await lay(engine, await calls(wall), PRICE)

    async def ran(agent: str, reward: float) -> None:
        answer = await served(engine, await calls(wall), task=ASKED, agent=agent, purpose="paired")
        halves = {"reward": reward, "without": {"reward": 0.5}}
        await reported(engine, await calls(wall), answer, **halves)

    for _ in range(6):
        await ran("lucky", 0.6)
        await ran("unlucky", 0.5)
    await apply_now(engine, await calls(wall))

    async def weight(agent: str | None) -> float:
        return (await get_weight(engine, await calls(wall), laid, agent)).effective_weight

    assert await weight(None) > 1.0
    assert await weight("lucky") > await weight(None) > await weight("unlucky")
    [item] = bound(await served(engine, await calls(wall), task=ASKED, agent="lucky"))
    assert item.effective_weight == await weight("lucky")
    assert item.score == pytest.approx(item.effective_weight * item.relevance)


async def test_a_constraint_that_does_harm_retires_and_binds_nobody(
    engine: Engine, calls: Caller, past: str
):
    [laid] = await lay(engine, await calls(past), PRICE)
    asked = {"task": ASKED, "as_of": NOON}
    for _ in range(12):
        answer = await served(engine, await calls(past), purpose="paired", **asked)
        halves = {"reward": 0.0, "without": {"reward": 0.9}, "known_at": NOON}
        await reported(engine, await calls(past), answer, **halves)
    await apply_now(engine, await calls(past))

    await run_job(engine, await calls(past), "decay", JobRequest(NOON))

    gone = await get_memory(engine, await calls(past), laid)
    assert (gone.status, gone.status_reason) == (Status.RETIRED, "low_weight")
    assert await binding(engine, await calls(past), as_of=NOON) == []


async def test_the_job_that_merges_twins_leaves_constraints_to_admission(
    engine: Engine, calls: Caller, past: str
):
    said = "a price is asked for and nothing else of all that is told about the ticket matters"
    laid = await lay(
        engine,
        await calls(past),
        replace(PRICE, trigger=f"{said} here"),
        replace(PRICE, trigger=f"{said} now"),
    )

    run = await run_job(engine, await calls(past), "merge", JobRequest(NOON + DAY))

    assert run.result is not None
    assert (run.result["examined"], run.result["changes"]) == (0, [])
    kept = [await get_memory(engine, await calls(past), one) for one in laid]
    assert [memory.status for memory in kept] == [Status.ACTIVE] * 2


async def test_a_model_that_writes_the_guideline_is_given_the_constraints(
    engine: Engine, calls: Caller, wall: str
):
    [laid] = await lay(engine, await calls(wall), PRICE)
    said = '{"lines": [{"text": "check the price, never guess", "cites": ["m1"]}]}'

    answer = await served(with_llm(engine, ScriptedLlm([said])), await calls(wall), task=ASKED)

    assert answer.receipt.compiler.startswith("model/")
    assert [line.memory_ids for line in answer.receipt.guideline.lines] == [(laid,)]
    assert [(item.memory_id, item.cited) for item in bound(answer)] == [(laid, True)]


async def test_a_preview_shows_constraints_and_stores_nothing(
    engine: Engine, calls: Caller, wall: str
):
    [laid] = await lay(engine, await calls(wall), PRICE)

    answer = await served(engine, await calls(wall), task=ASKED, purpose="preview")

    assert [one.memory_id for one in answer.constraints] == [laid]
