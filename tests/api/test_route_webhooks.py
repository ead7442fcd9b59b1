"""Webhooks over HTTP and on the dashboard: managers only, and the secret is shown once."""

import json
from dataclasses import replace

import pytest
from api_builders import inside, problem

from tests.dashboard.dashboard_builders import a_browser, at, csrf_of
from tests.fixtures.receiver import receiving

HOOK = {"url": "https://hooks.invalid/in", "kinds": ["ticket.open", "job.failed", "ticket.open"]}


@pytest.fixture
def near(app):
    """An operator lets webhooks reach this machine."""
    engine = app.state.shared.engine
    before = engine.settings
    engine.settings = replace(before, webhook_hosts=frozenset({"127.0.0.1"}))
    yield
    engine.settings = before


async def test_a_secret_is_shown_once_and_never_read_back(client, namespace):
    made = await client.post(inside(namespace, "/webhooks"), json=HOOK)
    listed = await client.get(inside(namespace, "/webhooks"))
    audit = await client.get(inside(namespace, "/audit"))
    deliveries = await client.get(inside(namespace, f"/webhooks/{made.json()['id']}/deliveries"))

    assert made.status_code == 201
    secret = made.json()["secret"]
    assert secret.startswith("whsec_")
    [one] = listed.json()["items"]
    assert one == {name: value for name, value in made.json().items() if name != "secret"}
    assert one["kinds"] == ["ticket.open", "job.failed"]
    for answer in (listed, audit, deliveries):
        assert answer.status_code == 200
        assert secret not in answer.text
    gone = await client.delete(inside(namespace, f"/webhooks/{one['id']}"))
    again = await client.delete(inside(namespace, f"/webhooks/{one['id']}"))
    assert gone.status_code == 204
    assert problem(again) == (404, "webhook_not_found", "webhook_id")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "http://hooks.invalid/"}, "url"),
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://169.254.169.254/"}, "url"),
        ({"kinds": []}, "kinds"),
        ({"kinds": ["everything"]}, "kinds.0"),
        ({"secret": "short"}, "secret"),
    ],
)
async def test_what_cannot_be_a_webhook_is_refused_by_field(client, namespace, change, field):
    refused = await client.post(inside(namespace, "/webhooks"), json=HOOK | change)

    assert problem(refused) == (422, "rejected", field)


async def test_a_repeat_of_its_making_is_refused_as_the_secret_is_kept_nowhere(client, namespace):
    path, once = inside(namespace, "/webhooks"), {"Idempotency-Key": "one hook"}

    await client.post(path, json=HOOK, headers=once)
    again = await client.post(path, json=HOOK, headers=once)

    assert problem(again) == (409, "token_not_kept", "Idempotency-Key")
    assert len((await client.get(path)).json()["items"]) == 1


async def test_only_who_manages_has_webhooks(client, agent_client, namespace):
    agent = await agent_client()
    made = (await client.post(inside(namespace, "/webhooks"), json=HOOK)).json()
    place = f"/webhooks/{made['id']}"

    for method, path in (
        ("POST", "/webhooks"),
        ("GET", "/webhooks"),
        ("DELETE", place),
        ("POST", f"{place}/test"),
        ("GET", f"{place}/deliveries"),
    ):
        body = {"json": HOOK if path == "/webhooks" else {}} if method == "POST" else {}
        refused = await agent.request(method, inside(namespace, path), **body)
        assert problem(refused)[:2] == (403, "forbidden")


async def test_a_page_makes_tries_and_deletes_a_webhook(
    app, near, client, operator_token, namespace
):
    async with receiving() as receiver, a_browser(app, operator_token) as browser:
        form = {"csrf": await csrf_of(browser, namespace)}
        none = await browser.post(at(namespace, "/webhooks"), data=form | {"url": receiver.url})
        chosen = {"url": receiver.url, "kinds": ["ticket.open", "cell.suspended"]}
        made = await browser.post(at(namespace, "/webhooks"), data=form | chosen)
        [hook] = (await client.get(inside(namespace, "/webhooks"))).json()["items"]
        place = at(namespace, f"/webhooks/{hook['id']}")
        tried = await browser.post(f"{place}/test", data=form)
        shown = await browser.get(tried.headers["location"])
        await browser.post(f"{place}/deletion", data=form)
        empty = await browser.get(at(namespace, "/webhooks"))

    assert none.status_code == 422
    assert "choose at least one event" in none.text
    assert made.status_code == 201
    assert "whsec_" in made.text
    assert "The test arrived: the address answered with status 200." in shown.text
    assert receiver.url in shown.text
    assert "whsec_" not in shown.text
    assert json.loads(receiver.received[0].body)["type"] == "webhook.test"
    assert "No webhooks" in empty.text
