"""The real client library against a model that misbehaves in every known way."""

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from memory.kernel.errors import MemoryFault, Overloaded, Rejected, Unavailable
from memory.kernel.ports import Prompt
from memory.llm.provider import ProviderClient, ProviderPolicy, open_library
from server.doctor import check_language_model
from server.hosting import refuse_missing_library
from server.settings import Settings
from tests.fixtures.language_model import API_KEY, TOKENS, Script, blocking_clients

PROMPT = Prompt("summarise", "be brief", "a run", {"type": "object"}, 300)


async def test_a_prompt_goes_out_with_its_schema_and_comes_back_with_its_tokens(
    writer: ProviderClient, script: Script
) -> None:
    reply = await writer.complete(PROMPT, 5)

    [asked] = script.asked
    assert reply.tokens == TOKENS
    assert reply.finish == "stop"
    assert "lesson" in reply.text
    assert asked["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a run"},
    ]
    assert asked["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert asked["max_tokens"] == 300
    assert script.keys == [f"Bearer {API_KEY}"]
    assert writer.name == "openai/stub"


async def test_who_closes_its_own_client_leaves_those_of_others_open(
    writer: ProviderClient, script: Script
) -> None:
    library: Any = importlib.import_module("litellm")
    asked = {"api_base": script.url, "api_key": API_KEY, "messages": [], "max_tokens": 1}
    form = {"type": "json_schema", "json_schema": {"name": "summarise", "schema": {}}}
    await asyncio.to_thread(library.completion, "openai/stub", response_format=form, **asked)
    theirs = blocking_clients()[-1]
    await writer.complete(PROMPT, 5)

    await writer.close()

    assert not theirs.is_closed()
    assert theirs in blocking_clients()
    theirs.close()


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("busy", "llm_busy"),
        ("down", "llm_failed"),
        ("not-json", "llm_failed"),
        ("denied", "llm_denied"),
        ("filter-400", "llm_refused"),
    ],
)
async def test_what_a_provider_answers_becomes_a_fault_of_ours(
    writer: ProviderClient, script: Script, word: str, fault: str
) -> None:
    script.say(word)

    with pytest.raises(MemoryFault) as raised:
        await writer.complete(PROMPT, 5)

    assert raised.value.kind == fault
    assert API_KEY not in raised.value.detail
    assert len(script.asked) == 1


@pytest.mark.parametrize("word", ["refusal", "filtered"])
async def test_a_refusal_is_a_reply_that_says_so(
    writer: ProviderClient, script: Script, word: str
) -> None:
    script.say(word)

    reply = await writer.complete(PROMPT, 5)

    assert (reply.text, reply.tokens, reply.finish) == ("", TOKENS, "refused")


@pytest.mark.parametrize("word", ["empty", "no-choice"])
async def test_nothing_said_is_an_empty_reply(
    writer: ProviderClient, script: Script, word: str
) -> None:
    script.say(word)

    assert (await writer.complete(PROMPT, 5)).text == ""


async def test_an_answer_that_was_cut_says_so(writer: ProviderClient, script: Script) -> None:
    script.say("truncated")

    assert (await writer.complete(PROMPT, 5)).finish == "length"


async def test_a_slow_answer_is_not_waited_for(writer: ProviderClient, script: Script) -> None:
    script.say("slow")

    with pytest.raises(Unavailable) as raised:
        await writer.complete(PROMPT, 0.2)

    assert raised.value.kind == "llm_slow"


async def test_who_was_told_to_pause_does_not_ask_again_before(
    writer: ProviderClient, script: Script
) -> None:
    script.say("busy-for-long")

    for _ in range(2):
        with pytest.raises(Overloaded) as raised:
            await writer.complete(PROMPT, 5)
        assert raised.value.kind == "llm_busy"
        assert 80 < (raised.value.retry_after or 0) <= 90

    assert len(script.asked) == 1


async def test_a_provider_that_fails_for_everybody_is_left_alone_for_a_while(
    writer: ProviderClient, script: Script
) -> None:
    script.say("down", "down", "good", "down", "down", "down", "good")

    faults: list[str] = []
    for _ in range(8):
        try:
            await writer.complete(PROMPT, 5)
        except MemoryFault as fault:
            faults.append(fault.kind)

    assert faults == ["llm_failed"] * 5 + ["llm_busy"] * 2
    assert len(script.asked) == 6


async def test_no_more_calls_go_out_at_once_than_are_allowed() -> None:
    out, most = 0, 0

    async def complete(**_: object) -> object:
        nonlocal out, most
        out += 1
        most = max(most, out)
        await asyncio.sleep(0)
        out -= 1
        return None

    writer = ProviderClient(ProviderPolicy("m", at_once=2), lambda: complete)
    writer.start()
    await writer.wait_until_ready()
    await asyncio.gather(*(writer.complete(PROMPT, 5) for _ in range(10)))
    await writer.close()

    assert most == 2


async def test_a_library_that_is_still_loading_or_missing_is_named() -> None:
    waiting = asyncio.Event()
    loop = asyncio.get_running_loop()

    def missing() -> Callable[..., Awaitable[object]]:
        asyncio.run_coroutine_threadsafe(waiting.wait(), loop).result()
        raise Unavailable("litellm is not installed", code="llm_missing")

    writer = ProviderClient(ProviderPolicy("m"), missing)
    writer.start()
    with pytest.raises(Unavailable) as loading:
        await writer.complete(PROMPT, 5)
    waiting.set()
    with pytest.raises(Unavailable):
        await writer.wait_until_ready()
    with pytest.raises(Unavailable) as failed:
        await writer.complete(PROMPT, 5)
    await writer.close()

    assert loading.value.kind == "llm_loading"
    assert loading.value.retry_after
    assert failed.value.kind == "llm_missing"
    assert "not installed" in failed.value.detail


async def test_without_the_extra_the_library_is_missing_and_the_server_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.delitem(sys.modules, "memory.llm.litellm_door", raising=False)
    settings = Settings(data=tmp_path, llm_model="openai/stub")

    with pytest.raises(Unavailable) as missing:
        open_library()
    with pytest.raises(Rejected) as refused:
        refuse_missing_library(settings)
    refuse_missing_library(Settings(data=tmp_path))

    assert missing.value.kind == "llm_missing"
    assert refused.value.field == "MEMLIFT_LLM_MODEL"


def test_a_policy_does_not_show_its_key() -> None:
    assert API_KEY not in repr(ProviderPolicy("m", None, API_KEY))


async def test_a_model_of_ones_own_needs_no_key(script: Script) -> None:
    own = ProviderClient(ProviderPolicy("openai/stub", script.url))
    own.start()
    await own.wait_until_ready()

    reply = await own.complete(PROMPT, 5)
    await own.close()

    assert "lesson" in reply.text
    assert script.keys == ["Bearer not-needed"]


def test_the_doctor_makes_one_call(script: Script) -> None:
    found = check_language_model(Settings(llm_model="openai/stub", llm_api_base=script.url))

    assert found.startswith("openai/stub answered in ")
    assert len(script.asked) == 1


def test_the_doctor_asks_each_model_and_says_where_the_one_that_fails_is_named(
    script: Script,
) -> None:
    table = f'[models.small]\nmodel = "openai/small"\napi_base = "{script.url}"'
    named = {"llm_model": "openai/stub", "llm_api_base": script.url, "llm_models": table}

    found = check_language_model(Settings(**named))  # pyright: ignore[reportArgumentType] - by name

    assert [one["model"] for one in script.asked] == ["stub", "small"]
    assert "; openai/small (small) answered in " in found
    script.say("good", "denied")
    with pytest.raises(Unavailable, match=r"models\.small of MEMLIFT_LLM_MODELS"):
        check_language_model(Settings(**named))  # pyright: ignore[reportArgumentType] - by name


def test_the_doctor_names_what_is_not_accepted_and_asks_once(script: Script) -> None:
    script.say("denied")

    with pytest.raises(Unavailable) as raised:
        check_language_model(Settings(llm_model="openai/stub", llm_api_base=script.url))

    assert "the key is not accepted" in raised.value.detail
    assert "MEMLIFT_LLM_API_KEY" in raised.value.detail
    assert len(script.asked) == 1
