"""The page of model calls: who asked, what came of it, what the day has left."""

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest
from dashboard_builders import a_browser, at, token_of
from fastapi import FastAPI
from loop_pages import HOSTILE, remembered, sent, served, shown, total
from sqlalchemy import text

from memory.inference.stand_ins import ScriptedLlm
from memory.kernel.engine import NamedLlm
from memory.llm.prices import price_of, read_prices
from memory.llm.provider import ProviderClient
from server.dashboard.rendering import dollars
from tests.fixtures.http import a_client, an_app
from tests.fixtures.language_model import TOKENS
from tests.fixtures.llm_builders import with_llm

RAIN = {"text": HOSTILE, "category": "weather"}


@pytest.fixture
async def speaking(
    database_url: str, writer: ProviderClient, tmp_path: Path
) -> AsyncGenerator[FastAPI]:
    """The application with a language model."""
    async with an_app(database_url, tmp_path, llm=writer) as made:
        yield made


@pytest.fixture
async def speaker(speaking: FastAPI, operator_token: str) -> AsyncGenerator[httpx.AsyncClient]:
    async with a_client(speaking, operator_token) as opened:
        yield opened


def calls_on(page, slug):
    """The calls that a page lists, in its order."""
    start = at(slug, "/llm-calls/")
    return [a["href"].removeprefix(start) for a in page.of("a") if a["href"].startswith(start)]


async def test_calls_are_listed_newest_first_and_filtered_by_role_and_result(
    speaking, speaker, operator_token, namespace, script
):
    script.say(HOSTILE, "good")
    await remembered(speaker, namespace, f"look at the base rate {HOSTILE}")
    receipt = await served(speaker, namespace, task=RAIN, agent="<i>solver</i>")
    listed = await speaker.get(f"/v1/namespaces/{namespace}/llm-calls")
    failed, done = listed.json()["items"]

    async with a_browser(speaking, operator_token) as browser:
        page = await shown(browser, namespace, "/llm-calls")
        found = {
            query: calls_on(await shown(browser, namespace, f"/llm-calls?{query}"), namespace)
            for query in ("role=compile", "role=reflect", "status=failed", "status=stopped")
        }
        for query in ("role=poet", "status=lost"):
            await shown(browser, namespace, f"/llm-calls?{query}", 422)

    assert (failed["status"], failed["fault"], done["status"]) == ("failed", "malformed", "done")
    assert calls_on(page, namespace) == [done["id"], failed["id"]]
    assert total(page) == 2
    assert found == {
        "role=compile": [done["id"], failed["id"]],
        "role=reflect": [],
        "status=failed": [failed["id"]],
        "status=stopped": [],
    }
    said = page.said()
    spent = sum(one["tokens"] for one in (failed, done))
    assert "The language model is openai/stub" in said
    assert f"Spent {spent} tokens" in said
    assert at(namespace, f"/receipts/{receipt['retrieval_id']}") in {
        link["href"] for link in page.of("a")
    }


async def test_money_is_told_by_day_role_and_model_where_the_price_is_known(
    speaking, speaker, operator_token, namespace
):
    priced = "openai/gpt-4.1-mini"
    price = price_of(priced, read_prices() or {})
    assert price is not None, "the tests need the extra llm"
    await remembered(speaker, namespace, "look at the base rate")
    await served(speaker, namespace)
    async with a_browser(speaking, operator_token) as browser:
        unknown = (await shown(browser, namespace, "/llm-calls")).said()
        engine = speaking.state.shared.engine
        named = {"slug": namespace}
        async with engine.database.transaction() as connection:
            query = text("SELECT id FROM namespace WHERE slug = :slug")
            here = await connection.scalar(query, named)
        async with engine.database.transaction(here) as connection:
            query = text(
                "UPDATE writing SET model = :model, tokens = 1000000 WHERE namespace_id = :here"
            )
            await connection.execute(query, {"model": priced, "here": here})
        known = (await shown(browser, namespace, "/llm-calls")).said()

    assert f"Today {TOKENS} tokens price not known" in unknown
    between = f"{dollars(price.read * 1e6)} to {dollars(price.written * 1e6)}"
    assert between in known.partition("By role and model")[0]
    assert f"compile, {priced} 1 1,000,000 $" in known
    assert between in known.partition("By role and model")[2]


async def test_a_call_shows_what_was_asked_and_what_came_back_as_text(
    speaking, speaker, operator_token, namespace, script
):
    script.say(HOSTILE)
    await remembered(speaker, namespace, f"look at the base rate {HOSTILE}")
    await served(speaker, namespace, task=RAIN)
    async with a_browser(speaking, operator_token) as browser:
        ids = calls_on(await shown(browser, namespace, "/llm-calls?status=failed"), namespace)
        page = await shown(browser, namespace, f"/llm-calls/{ids[0]}")
        unknown = "01a22200-4eae-7000-ba17-07083dca3d99"
        await shown(browser, namespace, f"/llm-calls/{unknown}", 404)

    asked, _, answered = page.said().partition("What came back")
    # A prompt quotes what was stored; the answer is as it came.
    assert "look at the base rate" in asked
    assert "malformed" in asked
    assert f"{TOKENS}, in" in asked
    assert "<script>alert(1)</script>" in answered
    assert "U+200B" in answered
    assert not {"img", "b", "i"} & {tag for tag, _ in page.tags}


async def test_what_the_day_had_no_tokens_for_is_listed_as_stopped(
    speaking, speaker, operator_token, namespace, writer
):
    shared = speaking.state.shared
    shared.engine = with_llm(shared.engine, writer, tokens=1)
    await remembered(speaker, namespace, "look at the base rate")
    await served(speaker, namespace)
    async with a_browser(speaking, operator_token) as browser:
        overview = await shown(browser, namespace, "/")
        [alert] = [a["href"] for a in overview.of("a") if "llm-calls?" in a["href"]]
        page = await shown(browser, namespace, alert.removeprefix(at(namespace, "")))
        [one] = calls_on(page, namespace)
        call = await shown(browser, namespace, f"/llm-calls/{one}")

    assert alert == at(namespace, "/llm-calls?status=stopped")
    assert "stopped budget exhausted" in page.said()
    assert "Questions not asked 1 beyond the daily token limit" in page.said()
    assert "Nothing was sent." in call.said()


async def test_a_daily_token_limit_of_nothing_is_no_exhaustion(
    speaking, operator_token, namespace, writer
):
    shared = speaking.state.shared
    shared.engine = with_llm(shared.engine, writer)
    async with a_browser(speaking, operator_token) as browser:
        usual = await shown(browser, namespace, "/llm-calls")
        shared.engine = with_llm(shared.engine, writer, tokens=0)
        page = await shown(browser, namespace, "/llm-calls")

    assert "the model is never asked" not in usual.said()
    assert "limit of this namespace is 0: the model is never asked" in page.said()
    assert "Left 0" not in page.said()


async def test_a_daily_cost_limit_shows_what_is_left_or_that_it_cannot_be_held(
    speaking, operator_token, namespace, writer
):
    shared = speaking.state.shared
    shared.engine = with_llm(shared.engine, writer, cost=2.0, price=(1e-6, 4e-6))
    async with a_browser(speaking, operator_token) as browser:
        priced = await shown(browser, namespace, "/llm-calls")
        shared.engine = with_llm(shared.engine, ScriptedLlm([]), cost=2.0)
        page = await shown(browser, namespace, "/llm-calls")

    assert "Left of the daily cost limit $2.00 of $2.00" in priced.said()
    assert "could not be held" not in priced.said()
    assert "the daily cost limit could not be held: the model is not asked" in page.said()


async def test_private_and_erased_words_are_not_shown(
    speaking, speaker, operator_token, agent_client, namespace
):
    admin = await agent_client("admin", agents=["solver"])
    async with a_client(speaking, token_of(admin)) as owner:
        lesson = "a secret base rate"
        await remembered(owner, namespace, lesson, visibility="agent")
        await served(owner, namespace)
    [one] = (await speaker.get(f"/v1/namespaces/{namespace}/llm-calls")).json()["items"]
    path = f"/llm-calls/{one['id']}"

    async with a_browser(speaking, token_of(admin)) as browser:
        own = (await shown(browser, namespace, path)).said()
    async with a_browser(speaking, operator_token) as browser:
        foreign = (await shown(browser, namespace, path)).said()
        ids = await speaker.get(f"/v1/namespaces/{namespace}/llm-calls")
        await admin_erases(admin, namespace)
    async with a_browser(speaking, token_of(admin)) as browser:
        erased = (await shown(browser, namespace, path)).said()

    assert ids.json()["items"][0]["prompt"] == ""
    assert lesson in own
    assert lesson not in foreign
    assert "Its words tell of a private memory" in foreign
    assert lesson not in erased
    assert "Its words were erased on" in erased


async def admin_erases(admin: httpx.AsyncClient, slug: str) -> None:
    """Every experience that the admin sees."""
    path = f"/v1/namespaces/{slug}/experiences"
    for one in (await admin.get(path)).json()["items"]:
        answer = await admin.delete(f"{path}/{one['id']}")
        assert answer.status_code == 200, answer.text


async def test_where_no_model_is_set_the_page_says_so(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/llm-calls")

    assert "No language model is set" in page.said()
    assert "No call was made yet" in page.said()


async def test_who_may_not_inspect_has_no_page_of_calls(app, agent_client, namespace):
    for role, status in (("reader", 200), ("agent", 403)):
        token = token_of(await agent_client(role))
        async with a_browser(app, token) as browser:
            page = await shown(browser, namespace, "/llm-calls", status)
        offered = at(namespace, "/llm-calls") in {link["href"] for link in page.of("a")}
        assert offered == (status == 200)


async def test_each_model_is_told_with_what_it_is_asked_for_and_what_stops_it(
    speaking, speaker, operator_token, namespace, writer
):
    shared = speaking.state.shared
    further = {
        name: NamedLlm(ScriptedLlm([""], f"someone/{name}"), (1e-6, 2e-6)) for name in ("a", "b")
    }
    shared.engine = with_llm(shared.engine, writer, further=further, together=0.001)
    await remembered(speaker, namespace, "look at the base rate")
    async with a_browser(speaking, operator_token) as browser:
        page = await shown(browser, namespace, "/settings")
        form = {"llm_models.compile": "a", "llm_models.judge": "b", "version": "1"}
        await sent(browser, namespace, "/settings", "/settings", **form)
        chosen = await shown(browser, namespace, "/settings")
        await served(speaker, namespace)
        shared.engine = with_llm(
            shared.engine, writer, further={"a": further["a"]}, together=0.001, price=(0.0, 0.0)
        )
        told = (await shown(browser, namespace, "/llm-calls")).said()
        gone = await shown(browser, namespace, "/settings")

    assert "compile as the server has it: default default a b" in page.said()
    selected = [one["value"] for one in chosen.of("option") if "selected" in one and "value" in one]
    assert {"a", "b"} <= set(selected)
    assert "Each role has one of the server's 2 language models" in told
    assert "a someone/a compile would be asked" in told
    assert "For judge this namespace has chosen the model b , which this server does not" in told
    assert "for all namespaces together, has kept questions from being asked" in told
    assert "All namespaces today" in told
    assert "b: not on this server, so not asked" in gone.said()
