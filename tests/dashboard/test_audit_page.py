"""The page of the audit: who did what, newest first, for those who manage."""

from dashboard_builders import a_browser, at, token_of
from loop_pages import HOSTILE, remembered, shown, total

from server.dashboard.lists import ROWS

TRUSTED = {"trust": "trusted", "reason": HOSTILE}


async def trust(client, slug, memory_id, **changes):
    path = f"/v1/namespaces/{slug}/memories/{memory_id}/trust"
    answer = await client.post(path, json=TRUSTED | changes)
    assert answer.status_code == 200, answer.text


async def entries_of(client, slug):
    path = f"/v1/namespaces/{slug}/audit"
    return (await client.get(path, params={"limit": 200})).json()["items"]


def actions_on(page):
    """The actions of a page's rows, in its order."""
    return page.said().partition("Details ")[2]


async def test_who_did_what_is_listed_newest_first_with_names_and_pages(
    app, client, agent_client, namespace
):
    admin = await agent_client("admin")
    memory_id = await remembered(client, namespace, "look at the base rate")
    await trust(admin, namespace, memory_id)
    change = {"reason": "seen twice"}
    path = f"/v1/namespaces/{namespace}/experiences/{memory_id}/suspend"
    assert (await client.post(path, json=change)).status_code == 200
    async with a_browser(app, token_of(admin)) as browser:
        page = await shown(browser, namespace, "/audit")
    me = (await admin.get("/v1/me")).json()
    operator = (await client.get("/v1/me")).json()

    told = actions_on(page)
    assert told.index("memory.suspend") < told.index("memory.trust") < told.index("key.create")
    assert total(page) == len(await entries_of(client, namespace))
    links = {link["href"] for link in page.of("a")}
    assert at(namespace, f"/memories/{memory_id}") in links
    assert at(namespace, f"/audit?key={me['key_id']}") in links
    assert "test memory.trust" in told
    # An admin does not manage the operator's key, so it has an id alone.
    assert f"{operator['key_id'][-8:]} memory.suspend" in told
    assert "reason seen twice" in told


async def test_a_filter_by_action_and_key_holds_past_the_first_page(
    app, client, agent_client, operator_token, namespace
):
    admin = await agent_client("admin")
    memory_id = await remembered(client, namespace, "look at the base rate")
    for turn in range(ROWS + 3):
        level = ("trusted", "unverified")[turn % 2]
        await trust(admin, namespace, memory_id, trust=level, reason=f"turn {turn}.")
    await trust(client, namespace, memory_id, trust="quarantined", reason="the last.")
    key = (await admin.get("/v1/me")).json()["key_id"]
    async with a_browser(app, operator_token) as browser:
        query = f"/audit?action=memory.trust&key={key}"
        first = await shown(browser, namespace, query)
        [following] = [link["href"] for link in first.of("a") if link.get("rel") == "next"]
        second = await shown(browser, namespace, following.removeprefix(at(namespace, "")))
        both = await shown(browser, namespace, "/audit?action=memory.trust")
        none = await shown(browser, namespace, "/audit?action=memory.edit")
        await shown(browser, namespace, "/audit?key=7", 422)
        await shown(browser, namespace, "/audit?action=%00", 422)

    assert (total(first), total(second), total(both), total(none)) == (53, 53, 54, 0)
    assert f"turn {ROWS + 2}." in first.said()
    assert "turn 0." not in first.said()
    assert "turn 0." in second.said()
    assert "the last." in both.said()
    assert "the last." not in first.said() + second.said()
    chosen = [one["value"] for one in first.of("option") if "selected" in one]
    assert chosen == ["memory.trust", key]


async def test_stored_text_stays_text_and_a_private_memory_is_not_named(
    app, client, agent_client, operator_token, namespace
):
    owner = await agent_client("admin", agents=["solver"])
    public = await remembered(owner, namespace, "look at the base rate")
    private = await remembered(owner, namespace, "look at the river", visibility="agent")
    await trust(owner, namespace, public)
    await trust(owner, namespace, private, reason="it tells of the river")
    draft = {"role": "admin", "name": HOSTILE[:60], "namespace": namespace}
    hostile = (await client.post("/v1/keys", json=draft)).json()["token"]
    headers = {"authorization": f"Bearer {hostile}"}
    path = f"/v1/namespaces/{namespace}/memories/{public}/trust"
    changed = await client.post(path, json=TRUSTED | {"trust": "unverified"}, headers=headers)
    assert changed.status_code == 200
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/audit")
    async with a_browser(app, token_of(owner)) as browser:
        own = await shown(browser, namespace, "/audit")

    assert not {"img", "b", "i"} & {tag for tag, _ in page.tags}
    assert page.said().count("<script>alert(1)</script>") >= 2
    assert "U+200B" in page.said()
    assert "a private memory" in page.said()
    assert private not in page.said()
    assert "it tells of the river" not in page.said()
    assert "it tells of the river" in own.said()


async def test_the_audit_is_for_managers(app, agent_client, namespace):
    for role, status in (("admin", 200), ("reader", 403), ("agent", 403)):
        token = token_of(await agent_client(role))
        async with a_browser(app, token) as browser:
            page = await shown(browser, namespace, "/audit", status)
        offered = at(namespace, "/audit") in {link["href"] for link in page.of("a")}
        assert offered == (status == 200)
