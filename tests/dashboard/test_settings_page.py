"""Settings of a namespace: what each means, changed by form, and what another policy would do."""

from dataclasses import fields

import pytest
from dashboard_builders import a_browser, at, token_of
from loop_pages import post_forms, read, remembered, reported, sent, served, shown

from memory.tenancy.namespace_settings import NamespaceSettings
from server.dashboard.settings_wording import SETTINGS


def test_every_setting_is_explained_and_no_other():
    assert [one.name for one in SETTINGS] == [field.name for field in fields(NamespaceSettings)]


async def settings_of(client, slug):
    return (await client.get(f"/v1/namespaces/{slug}")).json()


async def test_a_setting_is_changed_and_the_change_is_in_the_audit_trail(
    app, client, operator_token, namespace
):
    version = str((await settings_of(client, namespace))["version"])
    form = {"version": version, "control_rate": "0.2", "coins": "on", "daily_credits": "7"}
    form |= {"rerank": "fused"}
    async with a_browser(app, operator_token) as browser:
        answer = await sent(browser, namespace, "/settings", "/settings", **form)
        page = await shown(browser, namespace, "/settings")
        trail = await shown(browser, namespace, "/audit?action=namespace.change")
        late = await sent(browser, namespace, "/settings", "/settings", **(form | {"coins": "off"}))
        same = str((await settings_of(client, namespace))["version"])
        nothing = await sent(browser, namespace, "/settings", "/settings", version=same)

    known = (await settings_of(client, namespace))["settings"]
    assert answer.headers["location"] == at(namespace, "/settings")
    assert (known["control_rate"], known["coins"], known["daily_credits"]) == (0.2, True, 7)
    assert known["rerank"] == "fused"
    assert "Changed: control rate, coins, daily credits, rerank." in page.said()
    assert "a new namespace has on" in page.said()
    assert "namespace.change" in trail.said()
    assert (late.status_code, nothing.status_code) == (412, 422)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("control_rate", "2"),
        ("control_rate", "much"),
        ("max_memories", "0"),
        ("max_memories", ""),
        ("coins", "maybe"),
        ("categories", "ajar"),
        ("rerank", "best"),
        ("verification_trials", "17"),
    ],
)
async def test_a_value_that_is_none_is_refused_by_name(
    app, client, operator_token, namespace, name, value
):
    version = str((await settings_of(client, namespace))["version"])
    async with a_browser(app, operator_token) as browser:
        form = {"version": version, name: value}
        answer = await sent(browser, namespace, "/settings", "/settings", **form)

    assert f"settings.{name}" in read(answer, 422).said()


async def test_learning_is_frozen_and_goes_on(app, client, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        for learning in ("frozen", "on"):
            version = str((await settings_of(client, namespace))["version"])
            form = {"learning": learning, "version": version}
            await sent(browser, namespace, "/settings", "/settings/learning", **form)
            assert (await settings_of(client, namespace))["learning"] == learning


async def test_who_may_only_read_sees_values_and_no_fields(app, agent_client, namespace):
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        page = await shown(browser, namespace, "/settings")
        answer = await sent(browser, namespace, "/", "/settings", version="1", coins="off")

    assert post_forms(page) == ["/dashboard/logout"]
    assert "The least similarity" in page.said()
    assert answer.status_code == 403


async def test_another_policy_is_tried_beside_the_bank(app, client, operator_token, namespace):
    await remembered(client, namespace, "look up the base rate")
    receipt = await served(client, namespace, purpose="paired")
    await reported(client, namespace, receipt, reward=0.9, without={"reward": 0.2})
    await client.post(f"/v1/namespaces/{namespace}/outcomes/apply", json={})
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/settings/what-if?policy=steps")
        choice = await shown(browser, namespace, "/settings/what-if")
        same = await shown(browser, namespace, "/settings/what-if?policy=belief", 422)
        await shown(browser, namespace, "/settings/what-if?policy=lost", 422)

    assert "steps would weigh 1 memory differently after 1 recorded outcome." in page.said()
    assert "Not known yet: the weights of steps foresaw" in page.said()
    assert "belief is the policy in force; name another to compare it with" in same.said()
    offered = [a["href"] for a in choice.of("a") if "what-if?" in (a.get("href") or "")]
    start = f"/dashboard/ns/{namespace}/settings/what-if?policy="
    assert offered == [start + one for one in ("paper", "paper-strict", "steps", "delta")]


async def test_the_policy_is_changed_where_what_comes_of_it_is_seen(
    app, client, agent_client, operator_token, namespace
):
    await remembered(client, namespace, "look up the base rate")
    receipt = await served(client, namespace, purpose="paired")
    await reported(client, namespace, receipt, reward=0.2, without={"reward": 0.9})
    await client.post(f"/v1/namespaces/{namespace}/outcomes/apply", json={})
    async with a_browser(app, token_of(await agent_client("reader"))) as browser:
        only_read = await shown(browser, namespace, "/settings/what-if?policy=paper")
    async with a_browser(app, operator_token) as browser:
        foreseen = await shown(browser, namespace, "/settings/what-if?policy=paper")
        version = str((await settings_of(client, namespace))["version"])
        where = ("/settings/what-if?policy=paper", "/settings/policy")
        await sent(browser, namespace, *where, policy="paper", version=version)
        page = await shown(browser, namespace, "/settings")
        late = await sent(browser, namespace, *where, policy="steps", version=version)
        lost = await sent(browser, namespace, *where, policy="lost", version=version)

    assert post_forms(only_read) == ["/dashboard/logout"]
    assert "Would fall 1 memory" in " ".join(foreseen.said().split())
    assert at(namespace, "/settings/policy") in post_forms(foreseen)
    assert (await settings_of(client, namespace))["policy"] == "paper"
    assert "The policy is paper now" in page.said()
    assert (late.status_code, lost.status_code) == (412, 422)
