"""What a task names is found by its name, however far its vector lies."""

from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.service import edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.kernel.engine import Engine
from memory.memories.entities import MemoryEdit, Visibility
from memory.memories.filter_entities import RetrievalFilter
from memory.receipts.entities import Fate
from memory.receipts.search_entities import Query, Target
from memory.retrieval.entities import Advice
from memory.retrieval.service import explain, get_receipt
from memory.retrieval.store.search import names_at_most
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call, Clock, Key, KeyDraft, Role
from memory.tenancy.service import create_key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace
from tests.storage.steps import a_call, remembered, served

FAR = "an order of garden chairs arrives late"
TASK = "users see E4012 after login"
# Above the cosine of any of these texts.
GATED = replace(OPEN, raw_gate=0.999, score_floor=0.5)


@pytest.fixture
async def call(engine: Engine, operator: Key) -> Call:
    return await a_call(engine, operator, await a_namespace(engine, operator, settings=GATED))


async def asked(engine: Engine, call: Call, task: str = TASK, **changes: object) -> Advice:
    return await served(engine, call, task=TaskDraft(task), **changes)


def found(advice: Advice) -> dict[UUID, tuple[str, ...]]:
    return {item.memory_id: item.identifiers for item in advice.receipt.items}


async def keep(engine: Engine, call: Call, *lessons: str, **changes: object) -> list[UUID]:
    drafts = [a_draft(situation=FAR, lesson=lesson, **changes) for lesson in lessons]
    return [one.id for one in await remembered(engine, call, *drafts)]


async def test_a_code_and_a_path_find_their_memory_below_the_gate(engine: Engine, call: Call):
    code, path, _ = await keep(
        *(engine, call, "E4012 is a cookie of the old domain"),
        *("memory/retrieval/head.py rounds once", "E4013 is another matter"),
    )
    by_code = await asked(engine, call)
    by_path = await asked(engine, call, "memory/retrieval/head.py fails")

    assert found(by_code) == {code: ("e4012",)}
    assert found(by_path) == {path: ("memory/retrieval/head.py",)}
    [item] = by_code.receipt.items
    assert item.similarity < GATED.raw_gate
    assert item.relevance == item.similarity
    assert item.score == item.effective_weight * item.relevance
    assert [memory.identifiers for memory in by_code.memories] == [("e4012",)]


async def test_the_explanation_says_by_which(engine: Engine, call: Call):
    [code, other] = await keep(engine, call, "E4012 is a cookie", "chairs are stacked")
    preview = await asked(engine, call, purpose="preview", explain=True)
    assert preview.explanation is not None
    by_id = {one.memory_id: one for one in preview.explanation.considered}
    assert by_id[code].fate is Fate.SERVED
    assert by_id[code].identifiers == ("e4012",)
    assert by_id[code].why.endswith("; found by name: «e4012»")
    assert (by_id[other].fate, by_id[other].identifiers) == (Fate.RAW_GATE, ())

    acted = await asked(engine, call)
    [item] = (await explain(engine, call, acted.receipt.retrieval_id)).items
    assert item.identifiers == ("e4012",)
    assert item.sentence is not None
    assert "found by an identifier that the task names" in item.sentence


async def test_it_is_found_outside_of_the_head(engine: Engine, operator: Key):
    settings = replace(OPEN, raw_gate=0.0, score_floor=0.0)
    call = await a_call(engine, operator, await a_namespace(engine, operator, settings=settings))
    await remembered(
        engine,
        call,
        *(a_draft(situation=f"a login of {n}", lesson=f"seat {n}") for n in range(20)),
    )
    [code] = await keep(engine, call, "the code is E4012")
    answer = await asked(engine, call, k=1)
    assert found(answer) == {code: ("e4012",)}


async def test_what_says_the_same_stands_before_what_a_name_found(engine: Engine, operator: Key):
    settings = replace(OPEN, raw_gate=0.0, score_floor=0.0)
    call = await a_call(engine, operator, await a_namespace(engine, operator, settings=settings))
    [code] = await keep(engine, call, "the code is E4012")
    [same] = await remembered(
        engine, call, a_draft(situation="users see it after login", lesson="clear the cookie")
    )
    task = Query("users see it after login")
    answer = await asked(
        engine, call, queries=(task, Query("E4012", Target.LESSON)), gates="off", k=2
    )
    assert list(found(answer)) == [same.id, code]


async def test_a_common_identifier_finds_nothing(engine: Engine, call: Call):
    most = names_at_most(10)
    assert (most, names_at_most(1_000), names_at_most(10_000)) == (3, 10, 50)
    await keep(engine, call, *(f"E4012 again, the {n}th chair" for n in range(most)))
    assert len(found(await asked(engine, call, k=10))) == most
    await keep(engine, call, "E4012 once more")
    assert found(await asked(engine, call, k=10)) == {}


async def test_a_weight_still_keeps_it_out(engine: Engine, call: Call):
    [memory_id] = await keep(engine, call, "E4012 is a cookie", weight=0.2)
    answer = await asked(engine, call, purpose="preview", explain=True)
    assert answer.explanation is not None
    [one] = answer.explanation.considered
    fates = {ranker: by.fate for ranker, by in one.rankers.items()}
    assert one.memory_id == memory_id
    assert fates["flat/none"] is Fate.SERVED
    assert fates["weighted/none"] is Fate.SCORE_FLOOR


async def test_edits_filters_and_the_past_keep_it_current(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, settings=GATED, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    [memory_id] = await keep(engine, call, "E4012 is a cookie", learned_at=NOON)
    edit = MemoryEdit(lesson="E4099 is a cookie", known_at=NOON + 2 * DAY)
    await edit_memory(engine, call, memory_id, edit, 1)
    call = await a_call(engine, operator, slug)

    later = NOON + 3 * DAY
    assert found(await asked(engine, call, as_of=later)) == {}
    assert found(await asked(engine, call, "E4099?", as_of=later)) == {memory_id: ("e4099",)}
    wanted = RetrievalFilter(tags=("none",))
    assert found(await asked(engine, call, "E4099?", as_of=later, filter=wanted)) == {}


async def test_a_namespace_may_switch_it_off(engine: Engine, operator: Key):
    settings = replace(GATED, identifiers=False)
    call = await a_call(engine, operator, await a_namespace(engine, operator, settings=settings))
    await keep(engine, call, "E4012 is a cookie")
    assert found(await asked(engine, call)) == {}


@pytest.mark.parametrize("whose", ["memory", "task"])
async def test_erased_words_leave_identifiers_too(engine: Engine, call: Call, whose: str):
    [memory_id] = await keep(engine, call, "E4012 is a cookie")
    receipt = (await asked(engine, call)).receipt
    gone = Erasure(memory_id=memory_id) if whose == "memory" else Erasure(task_id=receipt.task_id)
    await erase(engine, call, gone)
    kept = await get_receipt(engine, call, receipt.retrieval_id)
    assert [item.identifiers for item in kept.items] == [()]
    async with engine.database.transaction(call.namespace.id) as connection:
        query = text("SELECT identifiers FROM memory_version WHERE memory_id = :id")
        held = await connection.scalar(query, {"id": memory_id})
    assert held == ([] if whose == "memory" else ["e4012"])


async def test_who_may_not_read_a_memory_is_not_told_what_it_holds(engine: Engine, call: Call):
    """The operator asks for the agent and is no agent that may read it."""
    bound = KeyDraft(
        role=Role.AGENT, name="bound", namespace=call.namespace.slug, agents=("solver",)
    )
    key, _ = await create_key(engine, call.key, bound, NOON)
    own = replace(call, key=key)
    [memory_id] = await keep(engine, own, "E4012 is a cookie", visibility=Visibility.AGENT)
    receipt = (await asked(engine, own)).receipt
    assert found(await asked(engine, own)) == {memory_id: ("e4012",)}

    read = await get_receipt(engine, own, receipt.retrieval_id)
    hidden = await get_receipt(engine, call, receipt.retrieval_id)
    assert [item.identifiers for item in read.items] == [("e4012",)]
    assert [item.identifiers for item in hidden.items] == [()]
    assert found(await asked(engine, call)) == {}
