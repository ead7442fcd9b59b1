"""A language model that behaves in every way models do: the documented result, and nothing lost."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.inference.stand_ins import ScriptedLlm
from memory.jobs.checks import readiness
from memory.jobs.service import Job, JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.ports import Prompt, Reply
from memory.llm.client import noting_stops
from memory.llm.entities import LlmSubject
from memory.llm.provider import ProviderClient
from memory.llm.store import LlmCallStore
from memory.retrieval.model_compiler import rewrite_guidelines
from memory.tasks.entities import TaskDraft
from memory.tasks.service import add_task
from memory.tenancy.entities import Call, NamespaceChange
from memory.tenancy.service import change_namespace
from server.opening import gauges
from server.schemas.health import Ready
from tests.fixtures.engine import DAY, NOON, Caller
from tests.fixtures.language_model import API_KEY, GOOD, TOKENS, Script
from tests.fixtures.llm_builders import a_reflection, a_summary, on_record, spent, with_llm

BUSY_TWICE = ("busy", "busy")


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        (["good"], []),
        (["fenced"], []),
        (["prose"], []),
        (["trailing-comma"], []),
        (["bad-escape"], []),
        (["truncated", "good"], ["truncated"]),
        (["echo", "fenced"], ["echoed"]),
        (["empty", "no-choice", "good"], ["empty", "empty"]),
        (["not an object", "good"], ["malformed"]),
        (["busy", "busy", "good"], ["llm_busy", "llm_busy"]),
        (["down", "good"], ["llm_failed"]),
        (["not-json", "good"], ["llm_failed"]),
    ],
    ids=lambda words: "-".join(words) or "at once",
)
async def test_an_answer_is_used_once_it_can_be(
    *,
    engine: Engine,
    calls: Caller,
    wall: str,
    writer: ProviderClient,
    script: Script,
    words: list[str],
    faults: list[str],
) -> None:
    script.say(*words)
    asking, call = with_llm(engine, writer), await calls(wall)

    made = await a_summary(asking, call)

    assert made is not None
    assert made.value.situation == GOOD["summarise"]["situation"]
    assert "base rate" in made.value.lesson
    kept = await on_record(asking, call)
    assert [one.fault for one in kept] == [*faults, None]
    assert [one.attempt for one in kept] == list(range(1, len(words) + 1))
    assert kept[-1].id == made.llm_call_id
    assert asking.llm_counters.results["summarise", "done"] == 1


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        (["truncated"] * 3, ["truncated"] * 3),
        (["echo"] * 3, ["echoed"] * 3),
        (["empty"] * 3, ["empty"] * 3),
        (["not an object"] * 3, ["malformed"] * 3),
        (["busy"] * 3, ["llm_busy"] * 3),
        (["down"] * 3, ["llm_failed"] * 3),
        (["busy-for-long"], ["llm_busy"]),
        (["refusal"], ["llm_refused"]),
        (["filtered"], ["llm_refused"]),
        (["filter-400"], ["llm_refused"]),
        (["denied"], ["llm_denied"]),
    ],
    ids="-".join,
)
async def test_what_cannot_be_used_ends_after_a_few_tries_and_is_on_record(
    *,
    engine: Engine,
    calls: Caller,
    wall: str,
    writer: ProviderClient,
    script: Script,
    words: list[str],
    faults: list[str],
) -> None:
    script.say(*words)
    asking, call = with_llm(engine, writer), await calls(wall)

    assert await a_summary(asking, call, result="the raw input") is None

    kept = await on_record(asking, call, status="failed")
    assert [one.fault for one in kept] == faults
    assert all("the raw input" in one.prompt for one in kept)
    assert asking.llm_counters.results["summarise", faults[0]] == len(faults)
    assert len(script.asked) == len(words)
    assert API_KEY not in repr(kept)


async def test_who_is_slower_than_the_deadline_is_not_waited_for(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient, script: Script
) -> None:
    script.say("slow")
    asking, call = with_llm(engine, writer, seconds=0.3), await calls(wall)

    assert await a_summary(asking, call) is None

    [one] = await on_record(asking, call)
    assert one.fault == "llm_slow"
    assert (await spent(asking, call)).spent > 0


async def test_a_bad_answer_is_named_in_the_next_question_and_a_cut_one_gets_room(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient, script: Script
) -> None:
    script.say("truncated")
    asking, call = with_llm(engine, writer), await calls(wall)

    await a_summary(asking, call)

    first, second = script.asked
    assert "(truncated)" in second["messages"][0]["content"]
    assert second["max_tokens"] == 2 * first["max_tokens"]


async def test_a_reflection_keeps_the_directives_that_have_a_meaning(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient
) -> None:
    asking, call = with_llm(engine, writer), await calls(wall)

    made = await a_reflection(asking, call)

    assert made is not None
    assert made.value.directives == {"max_memories": 2, "cross_category": "exclude"}
    assert made.value.instruction == GOOD["reflect"]["instruction"]


async def test_without_a_language_model_nothing_is_drawn_and_nothing_kept(
    engine: Engine, calls: Caller, wall: str
) -> None:
    asking, call = with_llm(engine, None), await calls(wall)

    assert await a_summary(asking, call) is None
    assert await a_reflection(asking, call) is None
    assert await rewrite_guidelines(asking, call, [], []) == []
    assert not await on_record(asking, call)


async def test_secrets_are_neither_sent_nor_kept(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient, script: Script
) -> None:
    said = '{"situation": "a login", "lesson": "use password=hunter2 next time"}'
    script.say(said)
    asking, call = with_llm(engine, writer), await calls(wall)
    secret = "ml_" + "a" * 32 + "_" + "b" * 64

    made = await a_summary(asking, call, result=f"curl -H 'Authorization: Bearer {secret}'")

    assert made is not None
    assert made.value.lesson == "use password=(redacted) next time"
    assert secret not in str(script.asked)
    [kept] = await on_record(asking, call)
    assert secret not in kept.prompt
    assert "hunter2" not in kept.answer
    assert "(redacted)" in kept.prompt


async def test_the_budget_of_a_day_stops_every_role_and_the_next_day_begins_anew(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient, script: Script
) -> None:
    asking, call = with_llm(engine, writer, tokens=1_700), await calls(wall)
    assert await a_summary(asking, call) is not None
    script.say()
    while await a_summary(asking, call) is not None:
        assert len(script.asked) < 20
    asked = len(script.asked)

    assert await a_reflection(asking, call) is None

    assert len(script.asked) == asked
    budget = await spent(asking, call)
    assert budget.spent == TOKENS * (asked + 1)
    assert (budget.reserved, budget.stopped) == (0, 2)
    stopped = await on_record(asking, call, status="stopped")
    assert {(one.fault, one.prompt, one.tokens) for one in stopped} == {("budget_exhausted", "", 0)}
    assert asking.llm_counters.results["summarise", "budget_exhausted"] == 1
    tomorrow = type(call)(call.key, call.namespace, NOON + DAY)
    assert (await spent(asking, tomorrow)).left == 1_700


async def test_tokens_that_who_died_had_set_aside_come_back(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    day, lapsed = NOON.date(), timedelta(seconds=-1)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = LlmCallStore(connection, call.namespace.id)
        assert await store.reserve(day, 900, 1_000, lapsed)
        left = await store.used(day)
        again = await store.reserve(day, 900, 1_000)
        held = await store.used(day)
        more = await store.reserve(day, 200, 1_000)
        await store.settle(day, 900, 300)
        settled = await store.used(day)

    assert (left, again, held) == ((0, 0, 0), True, (0, 900, 0))
    assert (more, settled) == (False, (300, 0, 1))


class Boaster:
    """A language model whose provider counts as it likes."""

    def __init__(self, inner: ProviderClient, tokens: int) -> None:
        self._inner = inner
        self._tokens = tokens

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        return replace(await self._inner.complete(prompt, seconds), tokens=self._tokens)


@pytest.mark.parametrize("boast", [10**6, 10**18, 10**400])
async def test_one_absurd_count_of_tokens_does_not_end_the_day(
    *, engine: Engine, calls: Caller, wall: str, writer: ProviderClient, boast: int
) -> None:
    asking, call = with_llm(engine, Boaster(writer, boast), tokens=1_000_000), await calls(wall)

    for _ in range(3):
        assert await a_summary(asking, call) is not None

    kept = await on_record(asking, call)
    budget = await spent(asking, call)
    assert budget.stopped == 0
    assert budget.spent == sum(one.tokens for one in kept) < 50_000
    assert {(one.status, one.fault) for one in kept} == {("done", None)}
    assert all((one.detail or "").startswith("implausible_tokens: ") for one in kept)
    assert asking.llm_counters.implausible["summarise"] == 3


async def test_a_plausible_count_is_believed_and_not_remarked(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient
) -> None:
    asking, call = with_llm(engine, Boaster(writer, 1_234)), await calls(wall)

    assert await a_summary(asking, call) is not None

    [kept] = await on_record(asking, call)
    assert (kept.tokens, kept.detail) == (1_234, None)
    assert asking.llm_counters.implausible["summarise"] == 0


async def test_questions_at_once_do_not_share_the_same_tokens(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient
) -> None:
    asking, call = with_llm(engine, writer, tokens=4_000), await calls(wall)

    made = await asyncio.gather(*(a_summary(asking, call) for _ in range(8)))

    budget = await spent(asking, call)
    assert sum(one is not None for one in made) + budget.stopped == 8
    assert budget.stopped > 0
    assert budget.spent <= 4_000


async def test_one_namespace_does_not_spend_anothers_tokens(
    engine: Engine, calls: Caller, wall: str, past: str, writer: ProviderClient
) -> None:
    asking = with_llm(engine, writer)

    await a_summary(asking, await calls(wall))

    assert (await spent(asking, await calls(wall))).spent == TOKENS
    assert (await spent(asking, await calls(past))).spent == 0


async def test_a_provider_that_does_not_count_is_charged_what_was_set_aside(
    engine: Engine, calls: Caller, wall: str
) -> None:
    silent = ScriptedLlm([Reply('{"situation": "s", "lesson": "l"}', 0)])
    asking, call = with_llm(engine, silent), await calls(wall)

    await a_summary(asking, call)

    assert (await spent(asking, call)).spent > silent.asked[0].max_tokens


@pytest.mark.parametrize("word", ["down", "denied", "filter-400", "busy"])
async def test_what_a_provider_turned_away_costs_nothing(
    *,
    engine: Engine,
    calls: Caller,
    wall: str,
    writer: ProviderClient,
    script: Script,
    word: str,
) -> None:
    script.say(*[word] * 3)
    asking, call = with_llm(engine, writer), await calls(wall)

    await a_summary(asking, call)

    assert (await spent(asking, call)).left == asking.settings.llm.daily_tokens


@pytest.mark.parametrize(
    "said", ["a \ud800 b", "a \x00 b", "x" * 300_000], ids=["surrogate", "nul", "long"]
)
async def test_an_answer_that_no_database_takes_is_kept_as_far_as_it_goes(
    engine: Engine, calls: Caller, wall: str, said: str
) -> None:
    asking = with_llm(engine, ScriptedLlm([Reply(said, 2**40)]), tokens=10**12)
    call = await calls(wall)

    assert await a_summary(asking, call) is None

    kept = await on_record(asking, call)
    assert [one.fault for one in kept] == ["malformed"] * 3
    assert kept[0].answer[:2] == said[:2]


async def test_the_candidate_that_came_of_a_writing_can_be_named(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient
) -> None:
    asking, call = with_llm(engine, writer), await calls(wall)
    made = await a_summary(asking, call)
    assert made is not None

    async with engine.database.transaction(call.namespace.id) as connection:
        store = LlmCallStore(connection, call.namespace.id)
        await store.attach(made.llm_call_id, memory_id=made.llm_call_id)

    [kept] = await on_record(asking, call, memory_id=made.llm_call_id)
    assert kept.id == made.llm_call_id


async def test_an_erasure_while_the_model_thinks_leaves_no_text_behind(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    task, _ = await add_task(engine, call, TaskDraft("the private words"), None)

    class Eraser:
        """Erases the task before it answers."""

        name = "eraser"

        async def complete(self, prompt: Prompt, seconds: float) -> Reply:
            assert "the private words" in prompt.material
            await erase(engine, call, Erasure(task_id=task.id))
            return Reply('{"situation": "s", "lesson": "the private words"}', 5)

    asking = with_llm(engine, Eraser())
    await a_summary(asking, call, LlmSubject(task_id=task.id), task="the private words")

    [kept] = await on_record(asking, call)
    assert (kept.prompt, kept.answer) == ("", "")
    assert kept.erased_at is not None


async def limited(calls: Caller, engine: Engine, slug: str, tokens: int | None) -> Call:
    call = await calls(slug)
    change = NamespaceChange(settings={"llm_daily_tokens": tokens})
    await change_namespace(engine, call, change, call.namespace.version)
    return await calls(slug)


async def test_a_namespace_has_a_day_of_its_own_and_never_more_than_the_server_allows(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient, script: Script
) -> None:
    asking = with_llm(engine, writer, tokens=100_000)
    call = await limited(calls, engine, wall, 100)

    with noting_stops() as stops:
        assert await a_summary(asking, call) is None

    assert not script.asked
    assert (await spent(asking, call)).limit == 100
    assert "100 of the daily token limit of 100 are left" in stops[0].detail
    [stopped] = await on_record(asking, call)
    assert stopped.detail == stops[0].detail
    most = await limited(calls, asking, wall, 100_000)
    assert await a_summary(asking, most) is not None
    for tokens, limit in ((100_001, 100_000), (-1, [0, 10**12])):
        with pytest.raises(Rejected) as refused:
            await limited(calls, asking, wall, tokens)
        assert (refused.value.field, refused.value.limit) == ("settings.llm_daily_tokens", limit)


async def test_a_namespace_whose_limit_is_nothing_never_asks_and_is_not_called_exhausted(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient, script: Script
) -> None:
    asking = with_llm(engine, writer)
    call = await limited(calls, engine, wall, 0)

    with noting_stops() as stops:
        assert await a_summary(asking, call) is None

    assert not script.asked
    assert (stops, await on_record(asking, call)) == ([], [])
    assert (await spent(asking, call)).limit == 0


async def test_a_run_says_what_it_did_not_ask_for_want_of_tokens(
    engine: Engine,
    calls: Caller,
    wall: str,
    writer: ProviderClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking = with_llm(engine, writer)
    call = await limited(calls, engine, wall, 1)

    class Nothing:
        def result(self) -> Mapping[str, object]:
            return {"made": 0}

    async def plan(*_: object) -> None:
        await a_summary(asking, call)

    async def work(*_: object, **__: object) -> Nothing:
        return Nothing()

    job = Job("reflect", DAY, "asks a model", work, plan)
    monkeypatch.setattr("memory.jobs.service.JOBS", (job,))

    run = await run_job(asking, call, "reflect", JobRequest())

    assert run.result is not None
    assert run.result["made"] == 0
    assert run.result["budget_exhausted"]["questions"] == 1  # pyright: ignore[reportIndexIssue] - as above
    assert "1 of the daily token limit of 1 are left" in str(run.result["budget_exhausted"])


async def test_a_model_that_failed_too_often_is_said_to_be_left_alone(
    engine: Engine, calls: Caller, wall: str, writer: ProviderClient, script: Script
) -> None:
    asking, call = with_llm(engine, writer), await calls(wall)
    assert (await readiness(asking))["language_model"].ok
    assert (await spent(asking, call)).pause is None
    assert gauges(asking)["llm_paused_seconds"] == 0
    script.say("down", "down", "down")

    await a_summary(asking, call)

    pause = (await spent(asking, call)).pause
    assert pause is not None
    assert 0 < pause.seconds <= 15
    assert pause.reason.startswith("llm_failed")
    check = (await readiness(asking))["language_model"]
    assert not check.ok
    assert "is left alone for" in check.detail
    assert 0 < gauges(asking)["llm_paused_seconds"] <= 15
    ready = Ready.of({"language_model": check})
    assert (ready.status, ready.degraded) == ("ready", ["language model away"])
