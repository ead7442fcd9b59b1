"""Taxonomy, health over time and exports: what a bank holds, how it fares, and what left it."""

from datetime import UTC, datetime, timedelta

from dashboard_builders import a_browser, at, token_of
from loop_pages import HOSTILE, made, remembered, sent, shown, total

BRANCH = {
    "name": "weather",
    "description": "Forecasts of rain and wind",
    "subcategories": [{"name": "storms", "description": "Storms and floods"}],
}


async def test_an_empty_taxonomy_says_how_one_is_brought(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/taxonomy")

    assert "No category is here yet" in page.said()
    assert f"curl -X PUT https://memlift.test/v1/namespaces/{namespace}/taxonomy" in page.said()


async def test_categories_are_counted_beside_what_the_taxonomy_says(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look up the base rate", subcategory="storms")
    await remembered(client, namespace, "count the till twice", category="books")
    body = {"categories": [BRANCH], "allow_new": True}
    answer = await client.put(f"/v1/namespaces/{namespace}/taxonomy", json=body)
    assert answer.status_code < 300, answer.text
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/taxonomy")

    said = page.said()
    assert "weather Forecasts of rain and wind 0 1" in said
    assert "weather / storms Storms and floods 0 1" in said
    assert "books not named by the taxonomy 0 1" in said
    assert "version 1, since" in said


async def test_a_category_is_renamed_by_who_manages_and_a_taken_name_is_told(
    app, client, agent_client, operator_token, namespace
):
    await remembered(client, namespace, "look up the base rate", category="weather")
    await remembered(client, namespace, "count the till twice", category="books")
    listed = (await client.get(f"/v1/namespaces/{namespace}/categories")).json()["items"]
    books = next(one["id"] for one in listed if one["name"] == "books")
    rename = f"/taxonomy/{books}/name"
    async with a_browser(app, token_of(await agent_client("reader"))) as browser:
        read = await shown(browser, namespace, "/taxonomy")
    async with a_browser(app, operator_token) as browser:
        offered = await shown(browser, namespace, "/taxonomy")
        taken = await sent(browser, namespace, "/taxonomy", rename, name="weather")
        done = await sent(browser, namespace, "/taxonomy", rename, name="novels")
        page = await shown(browser, namespace, "/taxonomy")

    assert at(namespace, rename) in offered.attributes("action")
    assert at(namespace, rename) not in read.attributes("action")
    assert taken.status_code == 409
    assert "there is a category called weather already" in taken.text
    assert done.status_code == 303
    assert "The category is called novels now." in page.said()
    assert "novels 0 1" in page.said()
    assert "books" not in page.said()


async def test_a_private_memory_is_not_counted_for_who_may_not_read_it(
    app, agent_client, operator_token, namespace
):
    own = await agent_client(agents=["solver"])
    await remembered(own, namespace, "look up the base rate", visibility="agent")
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/taxonomy")
    async with a_browser(app, token_of(own)) as browser:
        mine = await shown(browser, namespace, "/taxonomy")

    assert "weather 0 0" in page.said()
    assert "weather 0 1" in mine.said()


async def test_health_is_drawn_from_its_samples(app, client, operator_token, replay):
    async with a_browser(app, operator_token) as browser:
        before = await shown(browser, replay, "/health")
        for day in range(3):
            now = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=day)
            await made(client, replay, "/jobs/health/runs", now=now.isoformat())
        page = await shown(browser, replay, "/health")

    assert "No sample was taken yet" in before.said()
    assert "3 samples in all" in page.said()
    assert page.said().index("2026-03-03 00:00") < page.said().index("2026-03-01 00:00")
    assert len(page.attributes("data-plot")) == 2


async def test_exports_are_for_who_manages_and_say_what_to_run(
    app, agent_client, operator_token, namespace
):
    reader = await agent_client("reader")
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/exports")
    async with a_browser(app, token_of(reader)) as browser:
        refused = await browser.get(at(namespace, "/exports"))

    assert f"memlift export {namespace} --out {namespace}-" in page.said()
    assert refused.status_code == 403


async def test_stored_markup_stays_text_in_a_taxonomy(app, client, operator_token, namespace):
    await remembered(client, namespace, "count", category=HOSTILE[:80])
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/taxonomy")
        agents = await shown(browser, namespace, "/agents")

    assert not {"img", "b", "i"} & {tag for tag, _ in page.tags}
    assert total(agents) == 1
