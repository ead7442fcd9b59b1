"""The categories page: what each category is measured by, and how a manager changes it."""

from dashboard_builders import Markup, a_browser, at, csrf_of

TASK = {"text": "rain in dry June", "category": "weather"}
LESSON = {"agent": "solver", "situation": "rain in June", "lesson": "start from the base rate"}


def said(answer):
    """What a page says, without its tags and its line breaks."""
    assert answer.status_code == 200, answer.text
    return Markup(answer.text).said()


async def a_measured_category(client, namespace):
    """A category that one outcome fixed."""
    inside = f"/v1/namespaces/{namespace}"
    await client.post(f"{inside}/experiences", json=LESSON)
    asked = {"agent": "solver", "task": TASK, "arm": "on"}
    receipt = (await client.post(f"{inside}/retrievals", json=asked)).json()
    path = f"{inside}/retrievals/{receipt['retrieval_id']}/outcome"
    assert (await client.post(path, json={"reward": 0.9})).status_code == 202
    await client.post(f"{inside}/outcomes/apply", json={})
    found = (await client.get(f"{inside}/categories")).json()["items"]
    return next(one["id"] for one in found if one["name"] == "weather")


async def test_a_manager_sees_what_a_category_is_measured_by_and_changes_it(
    app, client, operator_token, namespace
):
    category = await a_measured_category(client, namespace)
    page = at(namespace, "/categories")
    async with a_browser(app, operator_token) as browser:
        before = said(await browser.get(page))
        form = {"csrf": await csrf_of(browser, namespace), "measure": "reward, binary"}
        changed = await browser.post(f"{page}/{category}/measure", data=form)
        after = said(await browser.get(page))
        wrong = await browser.post(f"{page}/{category}/measure", data=form | {"measure": "luck"})
        freed = await browser.post(
            f"{page}/{category}/measure", data=form | {"measure": "left to outcomes"}
        )
        at_last = said(await browser.get(page))

    assert "reward continuous outcomes" in before
    assert changed.status_code == freed.status_code == 303
    assert "reward binary admin" in after
    assert wrong.status_code == 422
    assert "reward binary admin" not in at_last
    audit = (await client.get(f"/v1/namespaces/{namespace}/audit")).json()["items"]
    assert [one["action"] for one in audit].count("category.measure") == 2


async def test_a_reader_sees_the_categories_and_no_form(app, client, agent_client, namespace):
    category = await a_measured_category(client, namespace)
    reader = await agent_client("reader")
    token = reader.headers["authorization"].removeprefix("Bearer ")
    page = at(namespace, "/categories")
    async with a_browser(app, token) as browser:
        text = (await browser.get(page)).text
        form = {"csrf": await csrf_of(browser, namespace), "measure": "reward, binary"}
        refused = await browser.post(f"{page}/{category}/measure", data=form)

    assert "weather" in text
    assert "/measure" not in text
    assert refused.status_code == 403
