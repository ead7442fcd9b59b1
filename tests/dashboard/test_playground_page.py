"""The playground: every stage is shown, nothing is kept."""

import pytest
from dashboard_builders import a_browser, at, token_of
from loop_pages import HOSTILE, made, post_forms, read, remembered, sent, shown
from sqlalchemy import text

from memory.schema import ISOLATED
from memory.tenancy.service import open_namespace

TASK = {"task": "a forecast of rain", "agent": "solver", "k": "2", "max_tokens": "300"}


async def tried(browser, slug, status=200, **changes):
    answer = await sent(browser, slug, "/playground", "/playground", **(TASK | changes))
    return read(answer, status)


async def test_the_form_offers_what_is_known_here(app, client, operator_token, namespace):
    await remembered(client, namespace, "look at the base rate")
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/playground")

    options = [option.get("value") for option in page.of("option")]
    assert "solver" in options
    assert "weather" in options
    assert "What an agent would be served" in page.said()
    assert not page.of("table")


async def test_a_task_is_followed_through_every_stage(app, client, operator_token, namespace):
    ids = [await remembered(client, namespace, f"look at sign {n}") for n in range(3)]
    async with a_browser(app, operator_token) as browser:
        page = await tried(browser, namespace)

    said = page.said()
    fates = [row["data-fate"] for row in page.of("tr") if "data-fate" in row]
    assert fates == ["served", "served", "beyond_k"]
    assert "better placed memories have taken all 2 places" in said
    assert "look at sign 0" in said
    assert "of 300" in said
    assert "embedding the task" in said
    assert "flat/none" in said
    assert "weighted/15d" in said
    links = {link["href"] for link in page.of("a")}
    assert {at(namespace, f"/memories/{memory_id}") for memory_id in ids} <= links


async def test_the_numbers_are_those_of_the_api(app, client, operator_token, namespace):
    await remembered(client, namespace, "look at the base rate")
    body = {"agent": "solver", "task": {"text": TASK["task"]}, "purpose": "preview"}
    answer = await made(client, namespace, "/retrievals", k=2, max_tokens=300, **body)
    async with a_browser(app, operator_token) as browser:
        page = await tried(browser, namespace)

    [memory] = answer["memories"]
    assert f"{memory['similarity']:.3f}" in page.said()
    assert answer["category"] in page.said()
    assert str(answer["guideline"]["tokens"]) in page.said()


async def test_a_task_is_ordered_either_way(app, client, operator_token, namespace):
    for n in range(4):
        await remembered(client, namespace, f"look at sign {n}")
    await remembered(client, namespace, "a rare barometer says it")
    async with a_browser(app, operator_token) as browser:
        plain = await tried(browser, namespace, task="rain by the barometer")
        fused = await tried(browser, namespace, task="rain by the barometer", rerank="fused")
        refused = await tried(browser, namespace, 422, rerank="best")

    assert "as the namespace: none" in plain.said()
    assert "with words" not in plain.said()
    assert "with words" in fused.said()
    assert "with the words that it shares with the task" in fused.said()
    [chosen] = [one for one in fused.of("option") if "selected" in one]
    assert chosen
    assert "rerank is none or fused" in refused.said()


async def everything(engine, key, slug):
    """All that the database shows inside the namespace."""
    here = await open_namespace(engine, key, slug)
    rows = " UNION ALL ".join(f"SELECT '{t.name} ' || t::text FROM {t.name} t" for t in ISOLATED)
    async with engine.database.transaction(here.id) as connection:
        return sorted(await connection.scalars(text(rows))), here.bank_version


async def test_nothing_is_stored_and_nothing_is_learned(app, client, engine, operator, namespace):
    await remembered(client, namespace, "look at the base rate")
    before = await everything(engine, operator, namespace)
    async with a_browser(app, token_of(client)) as browser:
        page = await tried(browser, namespace, agent="nobody yet", category="never seen")

    assert "never seen" in page.said()
    assert await everything(engine, operator, namespace) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": " "}, "task is blank"),
        ({"agent": ""}, "agent"),
        ({"k": "65"}, "k must lie in"),
        ({"k": "-1"}, "k is a whole number"),
        ({"k": "two"}, "k is a whole number"),
        ({"max_tokens": "32001"}, "max_tokens must lie in"),
    ],
)
async def test_what_cannot_be_tried_is_told_beside_the_form(
    app, operator_token, namespace, change, said
):
    async with a_browser(app, operator_token) as browser:
        page = await tried(browser, namespace, status=422, **change)

    assert said in page.said()
    assert [field["name"] for field in page.of("textarea")] == ["task"]


async def test_an_empty_bank_says_that_there_is_nothing(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        page = await tried(browser, namespace)

    assert "nothing to serve" in page.said()
    assert "No category has memories yet" in page.said()


async def test_in_replay_the_moment_is_asked_for(app, client, operator_token, replay):
    when = {"learned_at": "2026-03-02T12:00:00Z"}
    await remembered(client, replay, "look at the base rate", **when)
    async with a_browser(app, operator_token) as browser:
        without = await tried(browser, replay, status=422)
        before = await tried(browser, replay, as_of="2026-03-01T12:00")
        after = await tried(browser, replay, as_of="2026-03-03T12:00")

    assert "as_of" in without.said()
    assert "look at the base rate" not in before.said()
    assert "look at the base rate" in after.said()


async def test_stored_markup_stays_text_and_shows_what_it_hides(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, HOSTILE, agent="<img src=x onerror=alert(1)>")
    async with a_browser(app, operator_token) as browser:
        page = await tried(browser, namespace, task=HOSTILE + " a forecast of rain")

    assert "alert(1)" in page.said()
    assert "U+200B" in page.said()
    assert "U+202E" in page.said()
    assert page.of("img") == []


@pytest.mark.parametrize("role", ["reader", "evaluator"])
async def test_who_may_not_retrieve_has_no_playground(app, agent_client, namespace, role):
    client = await agent_client(role)
    async with a_browser(app, token_of(client)) as browser:
        overview = await shown(browser, namespace, "/")
        await shown(browser, namespace, "/playground", 403)

    assert at(namespace, "/playground") not in [link["href"] for link in overview.of("a")]


async def test_a_key_bound_to_an_agent_tries_for_that_agent_alone(app, agent_client, namespace):
    client = await agent_client("agent", agents=["solver"])
    async with a_browser(app, token_of(client)) as browser:
        own = await tried(browser, namespace)
        other = await tried(browser, namespace, status=403, agent="rival")

    assert "What solver would get" in own.said()
    assert "does not speak for agent rival" in other.said()
    assert at(namespace, "/playground") in post_forms(own)
