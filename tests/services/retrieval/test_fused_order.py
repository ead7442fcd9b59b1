"""With `rerank: fused` the words that a memory shares with a task find it and order it."""

from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.service import edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.memories.entities import MemoryEdit
from memory.memories.filter_entities import RetrievalFilter
from memory.outcomes.applying import apply_now
from memory.receipts.search_entities import ALONE, FUSED
from memory.retrieval.entities import Advice
from memory.retrieval.service import get_receipt, retrieve
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call, Clock, Key
from memory.tenancy.namespace_settings import NamespaceSettings, Rerank
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace
from tests.storage.steps import a_call, remembered, reported, served

# No raw gate: what the words say is seen apart from it.
WIDE = replace(OPEN, raw_gate=0.0, score_floor=0.0)


@pytest.fixture
async def call(engine: Engine, operator: Key) -> Call:
    return await a_call(engine, operator, await a_namespace(engine, operator, settings=WIDE))


async def keep(engine: Engine, call: Call, *texts: tuple[str, str], **changes: object):
    drafts = [a_draft(situation=one, lesson=two, **changes) for one, two in texts]
    return [one.id for one in await remembered(engine, call, *drafts)]


async def asked(engine: Engine, call: Call, task: str, **changes: object) -> Advice:
    wanted = {"rerank": Rerank.FUSED, "k": 2} | changes
    return await served(engine, call, task=TaskDraft(task), **wanted)


def ids(advice: Advice) -> list[UUID]:
    return [item.memory_id for item in advice.receipt.items]


SAID = ("deploying", "the", "service", "when")
CROWD = [
    (" ".join((*SAID[: 1 + n % 2], f"garden{n}", f"chair{n}")), f"watch the logs {n}")
    for n in range(40)
]
TASK = "deploying the service when kubelet hangs"


async def keep_wanted(engine: Engine, call: Call) -> UUID:
    """Its vector says little of the task, and it lies outside of the head."""
    await keep(engine, call, *CROWD)
    [wanted] = await keep(engine, call, ("deploying the chairs garden", "kubelet hangs: drain"))
    return wanted


async def test_a_shared_rare_word_in_the_lesson_finds_a_memory(engine: Engine, call: Call):
    wanted = await keep_wanted(engine, call)

    plain = await asked(engine, call, TASK, rerank=Rerank.NONE)
    fused = await asked(engine, call, TASK)

    assert wanted not in ids(plain)
    assert wanted in ids(fused)
    item = next(one for one in fused.receipt.items if one.memory_id == wanted)
    assert item.relevance == item.similarity
    assert item.score == item.effective_weight * item.relevance
    assert item.fused is not None
    assert item.fused > item.relevance


async def test_the_receipt_says_what_ordered(engine: Engine, call: Call):
    await keep(engine, call, *CROWD[:3])
    plain = await asked(engine, call, "deploying", rerank=None)
    fused = await asked(engine, call, "deploying")
    for one, rerank, by in ((plain, Rerank.NONE, ALONE), (fused, Rerank.FUSED, FUSED)):
        kept = await get_receipt(engine, call, one.receipt.retrieval_id)
        assert kept.search is not None
        assert (kept.search.rerank, kept.search.ordered_by) == (rerank, by)
        assert [item.fused for item in kept.items] == [item.fused for item in one.receipt.items]
    assert {item.fused for item in plain.receipt.items} == {None}


async def test_a_namespace_has_it_and_a_call_has_its_own(engine: Engine, operator: Key):
    settings = replace(WIDE, rerank=Rerank.FUSED)
    slug = await a_namespace(engine, operator, settings=settings)
    call = await a_call(engine, operator, slug)
    assert call.namespace.settings.rerank is Rerank.FUSED
    wanted = await keep_wanted(engine, call)

    own = await asked(engine, call, TASK, rerank=Rerank.NONE)
    left = await asked(engine, call, TASK, rerank=None)

    assert wanted in ids(left)
    assert wanted not in ids(own)
    assert own.receipt.search is not None
    assert own.receipt.search.rerank is Rerank.NONE


@pytest.mark.parametrize(
    ("changes", "memories", "rerank"),
    [
        ({}, 299, Rerank.NONE),
        ({}, 300, Rerank.FUSED),
        ({}, 20_000, Rerank.FUSED),
        ({}, 20_001, Rerank.NONE),
        ({"clock": Clock.REPLAY}, 300, Rerank.NONE),
        ({"policy": "paper"}, 300, Rerank.NONE),
    ],
)
async def test_where_nobody_says_it_goes_by_how_many_memories_there_are(
    engine: Engine, operator: Key, changes: dict[str, object], memories: int, rerank: Rerank
):
    slug = await a_namespace(engine, operator, settings=WIDE, **changes)
    call = await a_call(engine, operator, slug)
    replayed = "clock" in changes
    await keep(engine, call, *CROWD[:2], **({"learned_at": NOON} if replayed else {}))
    call = replace(call, namespace=replace(call.namespace, n_memories=memories))

    as_of = NOON if replayed else None
    answer = await asked(engine, call, "deploying", rerank=None, as_of=as_of)

    assert answer.receipt.search is not None
    assert answer.receipt.search.rerank is rerank


def test_a_namespace_from_before_keeps_its_order():
    assert NamespaceSettings().rerank is None
    assert NamespaceSettings.read({"slot_rate": 0.0}).rerank is Rerank.NONE
    assert NamespaceSettings.read(NamespaceSettings().stored()).rerank is None
    # A process of the version before knows two values.
    assert NamespaceSettings().stored()["rerank"] in list(Rerank)


async def test_without_it_nothing_is_counted_or_moved(engine: Engine, call: Call):
    """Left out and `none` are one, to the letter; no item has another number."""
    await keep_wanted(engine, call)
    answers = [
        await asked(engine, call, TASK, rerank=rerank, purpose="preview", explain=True)
        for rerank in (None, Rerank.NONE)
    ]
    plain = [
        replace(one, receipt=replace(one.receipt, retrieval_id=call.namespace.id))
        for one in answers
    ]
    assert plain[0].memories == plain[1].memories
    assert plain[0].receipt.items == plain[1].receipt.items
    assert plain[0].receipt.search == plain[1].receipt.search
    assert plain[0].receipt.search is not None
    assert plain[0].receipt.search.stored().keys() == {"queries", "by", "cached", "reason"}


async def test_where_no_word_is_shared_the_order_is_that_of_relevance(engine: Engine, call: Call):
    await keep(engine, call, *CROWD[:9])
    answers = [
        await asked(engine, call, "übermorgen", rerank=rerank, k=5, gates="off")
        for rerank in Rerank
    ]
    assert ids(answers[0]) == ids(answers[1])
    assert all(item.fused == item.relevance for item in answers[1].receipt.items)


async def test_a_memory_below_the_raw_gate_is_not_served_for_its_words(
    engine: Engine, operator: Key
):
    """Words order; what may be served at all is the gate's, and a name's."""
    settings = replace(WIDE, raw_gate=0.3)
    call = await a_call(engine, operator, await a_namespace(engine, operator, settings=settings))
    await keep(engine, call, *CROWD)
    far = ("chairs of the garden", "kubelet hangs: drain")
    named = ("chairs in a row", "kubelet hangs by E4012: drain")
    [far_id, named_id] = await keep(engine, call, far, named)

    answer = await asked(engine, call, f"{TASK} E4012", k=20, gates="on")

    assert far_id not in ids(answer)
    found = {item.memory_id: item.identifiers for item in answer.receipt.items}
    assert found[named_id] == ("e4012",)
    # A name weighs twice: as a shared word, and half-way to 1.
    assert ids(answer)[0] == named_id


@pytest.mark.parametrize(
    ("task", "lesson", "run"),
    [
        ("登录后看到重排队列的错误", "先清空重排队列再登录", "重排队列"),
        ("ระบบแจ้งว่าปฏิกิริยาช้า", "ตรวจปฏิกิริยาก่อน", "ปฏิกิริยา"),
    ],
)
async def test_a_rare_word_of_a_script_without_spaces_finds_its_memory(
    engine: Engine, operator: Key, task: str, lesson: str, run: str
):
    settings = replace(WIDE, raw_gate=0.999)
    call = await a_call(engine, operator, await a_namespace(engine, operator, settings=settings))
    await keep(engine, call, *CROWD[:5])
    [memory_id] = await keep(engine, call, ("garden chairs", lesson))

    fused = await asked(engine, call, task)

    assert ids(await asked(engine, call, task, rerank=Rerank.NONE)) == []
    [item] = fused.receipt.items
    assert item.memory_id == memory_id
    assert item.identifiers == (run,)


async def test_words_are_counted_among_what_may_be_seen(engine: Engine, operator: Key):
    """What another namespace holds, or a filter leaves out, makes no word common."""
    slugs = [await a_namespace(engine, operator, settings=WIDE) for _ in range(2)]
    calls = [await a_call(engine, operator, slug) for slug in slugs]
    for call in calls:
        await keep_wanted(engine, call)
    alone = await asked(engine, calls[0], TASK, k=9)
    crowd = [(f"kubelet hangs {n}", f"kubelet hangs, wait {n}") for n in range(9)]
    await keep(engine, calls[1], *crowd, metadata={"tags": ["noise"]})
    await keep(engine, calls[0], *crowd, metadata={"tags": ["noise"]}, agent="other")

    only = RetrievalFilter(authors=("solver",))
    filtered = await asked(engine, calls[0], TASK, k=9, filter=only)

    assert [i.fused for i in filtered.receipt.items] == [i.fused for i in alone.receipt.items]
    assert ids(filtered) == ids(alone)
    mixed = await asked(engine, calls[1], TASK, k=9)
    assert [i.fused for i in mixed.receipt.items] != [i.fused for i in alone.receipt.items]


async def test_the_past_has_the_words_of_then(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, settings=WIDE, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    await keep(engine, call, *CROWD, learned_at=NOON)
    said = ("deploying the chairs garden", "kubelet hangs: drain")
    [wanted] = await keep(engine, call, said, learned_at=NOON)
    answer = await asked(engine, call, TASK, as_of=NOON + DAY)
    await reported(engine, call, answer, reward=0.5, known_at=NOON + 4 * DAY)
    await apply_now(engine, await a_call(engine, operator, slug))
    edit = MemoryEdit(lesson="paint them", known_at=NOON + 5 * DAY)
    await edit_memory(engine, await a_call(engine, operator, slug), wanted, edit, 1)

    call = await a_call(engine, operator, slug)
    then = await asked(engine, call, TASK, as_of=NOON + 2 * DAY)
    later = await asked(engine, call, TASK, as_of=NOON + 6 * DAY)

    assert wanted in ids(then)
    assert wanted not in ids(later)


async def test_texts_of_an_earlier_release_are_found_and_completed(engine: Engine, operator: Key):
    settings = replace(WIDE, raw_gate=0.999)
    call = await a_call(engine, operator, await a_namespace(engine, operator, settings=settings))
    await keep(engine, call, *CROWD[:5])
    [memory_id] = await keep(engine, call, ("garden chairs", "先清空重排队列再登录"))
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text("UPDATE memory_version SET raw_terms = NULL"))
    task = "登录后看到重排队列的错误"
    by_meaning = await asked(engine, call, "garden chairs", gates="off")
    assert ids(by_meaning)[0] == memory_id
    assert memory_id not in ids(await asked(engine, call, task))

    await run_job(engine, call, "merge", JobRequest())

    assert ids(await asked(engine, call, task)) == [memory_id]


async def test_a_policy_that_ranks_the_whole_bank_refuses_it(engine: Engine, operator: Key):
    with pytest.raises(
        Rejected, match=r"policy paper needs settings\.rerank: none, and it is fused"
    ) as refused:
        await a_namespace(
            engine, operator, policy="paper", settings=replace(OPEN, rerank=Rerank.FUSED)
        )
    assert refused.value.field == "settings.rerank"
    slug = await a_namespace(engine, operator, policy="paper", settings=OPEN)
    call = await a_call(engine, operator, slug)
    await keep(engine, call, *CROWD[:2])
    [fault] = await retrieve(engine, call, [an_ask(rerank=Rerank.FUSED)])
    assert isinstance(fault, Rejected)
    assert fault.field == "rerank"
    answer = await asked(engine, call, TASK, rerank=None)
    assert answer.receipt.search is not None
    assert answer.receipt.search.rerank is Rerank.NONE


async def test_erased_words_are_no_longer_counted(engine: Engine, call: Call):
    """Neither in the table nor in a copy that had them."""
    await keep(engine, call, *CROWD[:5])
    [gone] = await keep(engine, call, ("garden chairs", "先清空重排队列再登录"))
    before = await asked(engine, call, "重排队列", gates="off")
    assert gone in ids(before)

    await erase(engine, call, Erasure(memory_id=gone))

    after = await asked(engine, call, "重排队列", gates="off", k=9)
    assert gone not in ids(after)
    assert {item.fused == item.relevance for item in after.receipt.items} == {True}
    async with engine.database.transaction(call.namespace.id) as connection:
        query = text("SELECT raw_terms FROM memory_version WHERE memory_id = :id")
        assert await connection.scalar(query, {"id": gone}) == []
    kept = await get_receipt(engine, call, before.receipt.retrieval_id)
    assert {item.identifiers for item in kept.items} == {()}
