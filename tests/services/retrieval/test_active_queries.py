"""Queries that a model writes for a task: searched for beside its text, in time or not at all."""

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest

from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.inference.stand_ins import ScriptedLlm
from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from memory.kernel.ports import Prompt, Reply
from memory.llm.replies import Malformed
from memory.receipts.entities import Purpose
from memory.receipts.search_entities import NoQueries, QueriesBy, Query, Search, Target
from memory.retrieval.active_queries import read_queries
from memory.retrieval.entities import Advice
from memory.retrieval.service import explain, get_receipt, retrieve
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call, NamespaceChange
from memory.tenancy.service import change_namespace
from tests.fixtures.builders import a_draft, an_ask, sentences_of
from tests.fixtures.engine import Caller
from tests.fixtures.llm_builders import on_record, with_llm
from tests.storage.steps import remembered, served

METHOD = "count how often it happened before"
WRITTEN = {
    "queries": [
        {"text": "estimates of rare events", "target": "situation"},
        {"text": METHOD, "target": "lesson"},
    ]
}
QUERIES = (Query("estimates of rare events"), Query(METHOD, Target.LESSON))
TASK = TaskDraft("will the harbour freeze", key="harbour", category="weather")


def writing(*said: object) -> ScriptedLlm:
    return ScriptedLlm([one if not isinstance(one, dict) else json.dumps(one) for one in said])


def asking(engine: Engine, llm: object, **limits: float) -> Engine:
    """With a model for queries alone."""
    fields = {"querying": 20.0, "compiling": 0.0} | limits
    return with_llm(engine, llm, **fields)  # pyright: ignore[reportArgumentType] - a stand-in


async def far_lessons(engine: Engine, call: Call) -> None:
    """One shares its method with a query, the other a word with the task."""
    drafts = (
        a_draft(situation="a flood somewhere", lesson=METHOD),
        a_draft(situation="the harbour in June", lesson="look at the ice"),
    )
    await remembered(engine, call, *drafts)


async def test_what_the_words_of_the_task_do_not_find_a_query_finds(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    model = writing(WRITTEN)

    plain = await served(engine, call, task=TASK, arm="on", k=5)
    answer = await served(asking(engine, model), call, task=TASK, arm="on", k=5)

    before = {one.lesson: one.similarity for one in plain.memories}
    assert before.get(METHOD, 0.0) < 0.5
    found = {one.lesson: one.similarity for one in answer.memories}
    assert found[METHOD] > 0.99
    receipt = answer.receipt
    assert receipt.search == Search(QueriesBy.MODEL, QUERIES)
    assert {item.query for item in receipt.items} == {0, 2}
    assert "harbour" in model.asked[0].material
    assert receipt.timings.query_ms is not None
    kept = await get_receipt(engine, call, receipt.retrieval_id)
    assert kept == receipt
    told = list(sentences_of(await explain(engine, call, receipt.retrieval_id)).values())
    assert any(f"to the query «{METHOD}»" in str(one) for one in told)
    assert any("to the task's text" in str(one) for one in told)
    [asked] = await on_record(engine, call, retrieval_id=receipt.retrieval_id)
    assert (asked.role, asked.agent) == ("search", "solver")


async def test_the_same_text_is_asked_about_once_and_an_erasure_forgets_it(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    model = writing(WRITTEN)
    asker = asking(engine, model)

    first = await served(asker, call, task=TASK, arm="on")
    second = await served(asker, await calls(wall), task=TASK, arm="on")

    assert len(model.asked) == 1
    assert second.receipt.search == Search(QueriesBy.MODEL, QUERIES, cached=True)
    assert dict(asker.llm_counters.queries) == {"asked": 1, "cached": 1}

    await erase(asker, await calls(wall), Erasure(task_id=first.receipt.task_id))

    for answer in (first, second):
        kept = await get_receipt(engine, call, answer.receipt.retrieval_id)
        assert kept.search is not None
        assert kept.search.queries == ()
    [blank] = await on_record(engine, call)
    assert (blank.prompt, blank.answer) == ("", "")
    await served(asker, await calls(wall), task=TaskDraft(TASK.text), arm="on")
    assert len(model.asked) == 2


@dataclass
class Together:
    """Answers none before so many are asked."""

    wanted: int
    name: str = "scripted"
    asked: list[Prompt] = field(default_factory=list[Prompt])
    all_there: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        self.asked.append(prompt)
        if len(self.asked) == self.wanted:
            self.all_there.set()
        await self.all_there.wait()
        return Reply(json.dumps(WRITTEN), 10)


async def test_a_batch_asks_for_all_at_once_and_for_equal_texts_once(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    tasks = [TaskDraft(f"harbour {number // 2}", category="weather") for number in range(8)]
    model = Together(4)

    answers = await retrieve(
        asking(engine, model), call, [an_ask(task=task, arm="on") for task in tasks]
    )

    assert len(model.asked) == 4
    assert [one.receipt.search.by for one in answers if isinstance(one, Advice)] == ["model"] * 8


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Unavailable("no answer", code="llm_slow"), "llm_slow"),
        (Unavailable("no key", code="llm_denied"), "llm_denied"),
        ({"queries": []}, "malformed"),
        ({"queries": [{"text": "rain", "target": "weather"}]}, "malformed"),
        ({"queries": [{"text": TASK.text, "target": "situation"}]}, "empty"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_without_good_queries_the_tasks_text_is_searched_for(
    *, engine: Engine, calls: Caller, wall: str, fault: object, reason: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    asker = asking(engine, writing(fault))

    answer = await served(asker, call, task=TASK, arm="on", k=5)

    assert answer.receipt.search == Search(QueriesBy.TASK, reason=reason)
    assert {item.query for item in answer.receipt.items} == {None}
    assert dict(asker.llm_counters.queries) == {reason: 1}


async def test_a_model_that_is_too_slow_is_left_alone_for_a_while(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    model = writing(Unavailable("no answer", code="llm_slow"))
    asker = asking(engine, model)

    reasons = [
        (await served(asker, await calls(wall), task=TASK, arm="on")).receipt.search
        for _ in range(4)
    ]

    assert [one and one.reason for one in reasons] == ["llm_slow"] * 3 + ["paused"]
    assert len(model.asked) == 3


@pytest.mark.parametrize(
    ("changes", "by", "reason"),
    [
        ({"active_queries": False}, QueriesBy.TASK, NoQueries.OFF_REQUEST),
        ({"queries": (Query("ice"),)}, QueriesBy.CALLER, NoQueries.OWN_QUERIES),
        ({"arm": "off"}, QueriesBy.TASK, NoQueries.NOT_ACTING),
        ({"purpose": Purpose.PREVIEW}, QueriesBy.TASK, NoQueries.NOT_ACTING),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_call_that_wants_none_asks_for_none(
    *, engine: Engine, calls: Caller, wall: str, changes: dict[str, object], by: str, reason: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    model = writing(WRITTEN)

    answer = await served(asking(engine, model), call, task=TASK, **changes)

    assert answer.receipt.search == Search(QueriesBy(by), reason=reason)
    assert not model.asked


async def test_a_namespace_a_server_and_the_lack_of_a_model_ask_for_none(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    model = writing(WRITTEN)

    async def reason(asker: Engine) -> str | None:
        answer = await served(asker, await calls(wall), task=TASK)
        return answer.receipt.search and answer.receipt.search.reason

    assert await reason(engine) == NoQueries.NO_MODEL
    assert await reason(asking(engine, model, querying=0.0)) == NoQueries.OFF_SERVER
    change = NamespaceChange(settings={"active_queries": False})
    await change_namespace(engine, call, change, call.namespace.version)
    assert await reason(asking(engine, model)) == NoQueries.OFF_NAMESPACE
    assert not model.asked


async def test_no_transaction_is_open_while_queries_are_written(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    await far_lessons(engine, call)
    pool = engine.database

    @dataclass
    class Watching:
        name: str = "scripted"
        seen: list[int] = field(default_factory=list[int])

        async def complete(self, prompt: Prompt, seconds: float) -> Reply:
            self.seen.append(pool.gauges()["checked_out"])
            return Reply(json.dumps(WRITTEN), 10)

    model = Watching()
    await served(asking(engine, model), call, task=TASK, arm="on")

    assert model.seen == [0]


def test_queries_are_read_each_once_and_without_the_task() -> None:
    one = {"text": "estimates of rare events", "target": "situation"}
    again = json.dumps({"queries": [one, one, {"text": "The task", "target": "lesson"}]})

    assert read_queries(again, "the task") == QUERIES[:1]
    with pytest.raises(Malformed):
        read_queries(json.dumps({"queries": [one | {"text": "x" * 400}]}), "the task")
    assert replace(QUERIES[0], target=Target.LESSON) != QUERIES[0]
