"""A memory's page says what its place is worth, or with what it was always found."""

from dashboard_builders import Markup, a_browser, at
from loop_pages import sent

from tests.fixtures.http import a_namespace

WEATHER = {"text": "A forecast of rain for a dry month", "category": "weather"}


def inside(slug: str, path: str) -> str:
    return f"/v1/namespaces/{slug}{path}"


async def filled(client, namespace, **changes):
    """Two memories of one subject, always served together."""
    ids = []
    for lesson in ("Count the dry days", "Look at the clouds <b>"):
        body = {"agent": "solver", "situation": WEATHER["text"], "lesson": lesson}
        stored = await client.post(inside(namespace, "/experiences"), json=body | changes)
        assert stored.status_code == 201, stored.text
        ids.append(stored.json()["id"])
        changes = {}
    for _ in range(3):
        ask = {"agent": "solver", "task": WEATHER, "arm": "on"}
        served = await client.post(inside(namespace, "/retrievals"), json=ask)
        assert served.status_code == 201, served.text
    return ids


async def test_a_page_names_the_memories_that_were_always_found_with_it(
    app, operator_token, client, namespace
):
    first, second = await filled(client, namespace)
    async with a_browser(app, operator_token) as browser:
        text = (await browser.get(at(namespace, f"/memories/{first}"))).text
        fresh = (await browser.get(at(namespace))).text

    said = Markup(text).said()
    assert (
        "It cannot be told apart from «Look at the clouds <b>»: they came up together 3 times, "
        "and retrievals never served one without the other." in said
    )
    assert "It is believed to add nothing against an empty place" in said
    table = text.partition('id="companions"')[2].partition("</table>")[0]
    assert at(namespace, f"/memories/{second}") in table
    # No coin has fallen, so there is nothing to audit the weights by.
    assert 'id="worth-by-weight"' not in fresh


async def test_a_page_of_a_memory_that_never_came_up_says_so(
    app, operator_token, client, namespace
):
    body = {"agent": "solver", "situation": "Fractions", "lesson": "Find the denominator"}
    memory_id = (await client.post(inside(namespace, "/experiences"), json=body)).json()["id"]
    async with a_browser(app, operator_token) as browser:
        said = Markup((await browser.get(at(namespace, f"/memories/{memory_id}"))).text).said()

    assert "It has not come up in a retrieval with memory yet" in said


async def test_a_manager_asks_that_it_is_tried_apart_and_stops_that_again(
    app, operator_token, client
):
    slug = await a_namespace(client, "wall", coins=True)
    first, _ = await filled(client, slug)
    page, there = at(slug, f"/memories/{first}"), f"/memories/{first}"
    async with a_browser(app, operator_token) as browser:
        before = Markup((await browser.get(page)).text).said()
        answer = await sent(browser, slug, there, f"{there}/apart/start")
        assert answer.status_code == 303
        asked = Markup((await browser.get(page)).text).said()
        again = await sent(browser, slug, there, f"{there}/apart/start")
        await sent(browser, slug, there, f"{there}/apart/stop")
        after = Markup((await browser.get(page)).text).said()

    assert "Try it apart" in before
    assert "leaves it out every other time at least, until 12 more outcomes without it" in asked
    assert again.status_code == 409
    assert "the memory is being tried apart already" in Markup(again.text).said()
    assert "Try it apart" in after
