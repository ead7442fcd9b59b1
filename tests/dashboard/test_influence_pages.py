"""Which key is lying: from the overview to what it moved, and its word withdrawn."""

import re

import httpx
import pytest
from dashboard_builders import Markup, a_browser, at, csrf_in

WORDS = ("rain", "snow", "hail", "fog")


def inside(slug: str, path: str) -> str:
    return f"/v1/namespaces/{slug}{path}"


@pytest.fixture
async def lied(client: httpx.AsyncClient, namespace: str) -> dict[str, str]:
    """Four memories of an honest author, and the lies of another key about each."""

    async def keyed(agent: str) -> dict[str, str]:
        body = {"role": "agent", "name": f"{agent}'s key", "agents": [agent]}
        made = (await client.post("/v1/keys", json=body | {"namespace": namespace})).json()
        return {"id": made["id"], "authorization": f"Bearer {made['token']}"}

    honest, liar = await keyed("solver"), await keyed("liar")
    as_liar = {"authorization": liar["authorization"]}
    for word in WORDS:
        body = {
            "agent": "solver",
            "situation": f"a forecast of {word}",
            "lesson": f"count the days of {word}",
            "category": word,
        }
        headers = {"authorization": honest["authorization"]}
        stored = await client.post(inside(namespace, "/experiences"), json=body, headers=headers)
        assert stored.status_code == 201, stored.text
        for _ in range(6):
            task = {"text": f"a forecast of {word}", "category": word}
            ask = {"agent": "liar", "task": task, "k": 1, "arm": "on"}
            asked = await client.post(inside(namespace, "/retrievals"), json=ask, headers=as_liar)
            path = inside(namespace, f"/retrievals/{asked.json()['retrieval_id']}/outcome")
            told = await client.post(path, json={"reward": 0.0}, headers=as_liar)
            assert told.status_code == 202, told.text
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    return liar


async def weights(client: httpx.AsyncClient, namespace: str) -> list[float]:
    listed = (await client.get(inside(namespace, "/weights"))).json()["items"]
    return [row["effective_weight"] for row in listed]


async def test_a_lying_key_is_found_from_the_overview_in_three_clicks_and_taken_back(
    app, operator_token: str, client: httpx.AsyncClient, namespace: str, lied: dict[str, str]
):
    assert min(await weights(client, namespace)) < 0.9
    async with a_browser(app, operator_token) as browser:
        overview = await browser.get(at(namespace))
        assert (
            "One key moved other authors' memories that nobody else moved the same way, beyond its"
            " limit: liar's key (4 memories; in all 0 raised, 4 lowered)."
        ) in Markup(overview.text).said()
        assert "lone-parties" in overview.text
        [link] = re.findall(r'href="([^"]*/influences/[^"]*)"', overview.text)

        its_page = await browser.get(link)  # the first click
        assert lied["id"] in link
        said = Markup(its_page.text).said()
        assert "4 memories 0 raised, 4 lowered" in said
        assert "Influence of liar's key" in said
        assert "Nothing changes until you confirm." in said
        request = f'POST {inside(namespace, "/rollbacks")} {{"key_id": "{lied["id"]}", "dry_run": '
        assert 0 < said.index(f"{request}true}}") < said.index(f"{request}false}}")

        form = {"csrf": csrf_in(its_page.text), "key_id": lied["id"]}
        preview = await browser.post(at(namespace, "/time-travel/rollback/preview"), data=form)
        assert "24 outcomes" in Markup(preview.text).said()  # the second
        done = await browser.post(at(namespace, "/time-travel/rollback"), data=form)
        assert done.status_code == 303  # the third

        assert "lone-parties" not in (await browser.get(at(namespace))).text
    assert await weights(client, namespace) == [1.0] * 4


async def test_the_page_of_a_lying_key_revokes_it_before_its_word_is_taken_back(
    app, operator_token: str, client: httpx.AsyncClient, namespace: str, lied: dict[str, str]
):
    as_liar = {"authorization": lied["authorization"]}
    async with a_browser(app, operator_token) as browser:
        its_page = await browser.get(at(namespace, f"/influences/{lied['id']}"))
        said = Markup(its_page.text).said()
        revocation = at(namespace, f"/keys/{lied['id']}/revocation")
        assert 0 < said.index("First revoke the key") < said.index("Then withdraw what it said")
        assert f'action="{revocation}"' in its_page.text

        form = {"csrf": csrf_in(its_page.text), "back": "influence"}
        revoked = await browser.post(revocation, data=form)
        assert revoked.status_code == 303
        assert revoked.headers["location"].startswith(at(namespace, f"/influences/{lied['id']}"))
        its_page = await browser.get(at(namespace, f"/influences/{lied['id']}"))

    assert f'action="{revocation}"' not in its_page.text
    assert "revoked" in Markup(its_page.text).said()
    assert (await client.get("/v1/me", headers=as_liar)).status_code == 401


async def test_a_reader_sees_influence_and_is_offered_no_form(
    app, client: httpx.AsyncClient, namespace: str, lied: dict[str, str]
):
    body = {"role": "reader", "name": "looks", "namespace": namespace}
    token = (await client.post("/v1/keys", json=body)).json()["token"]
    async with a_browser(app, token) as browser:
        its_page = await browser.get(at(namespace, f"/influences/{lied['id']}"))

    assert "Influence of liar's key" in Markup(its_page.text).said()
    assert "revocation" not in its_page.text
    assert "rollback" not in its_page.text


async def test_influence_has_one_name(app, operator_token: str, namespace: str):
    async with a_browser(app, operator_token) as browser:
        text = (await browser.get(at(namespace, "/influences"))).text

    assert "<h1>Influence</h1>" in text
    assert "<title>Influence" in text


async def test_the_request_that_the_page_shows_takes_the_lies_back(
    client: httpx.AsyncClient, namespace: str, lied: dict[str, str]
):
    taken = await client.post(
        inside(namespace, "/rollbacks"), json={"key_id": lied["id"], "dry_run": False}
    )

    assert taken.status_code == 200, taken.text
    assert await weights(client, namespace) == [1.0] * 4


async def test_the_page_of_a_memory_and_its_ledger_name_the_party_that_moved_it(
    app, operator_token: str, client: httpx.AsyncClient, namespace: str, lied: dict[str, str]
):
    listed = (await client.get(inside(namespace, "/weights"))).json()["items"]
    memory = listed[-1]["memory_id"]
    weight = (await client.get(inside(namespace, f"/experiences/{memory}/weight"))).json()
    [one] = weight["influences"]
    assert (one["party"], one["agents"]) == (lied["id"], ["liar"])
    assert one["effect"] == pytest.approx(one["counted"] + one["clipped"])
    async with a_browser(app, operator_token) as browser:
        text = (await browser.get(at(namespace, f"/memories/{memory}"))).text

    assert "Who moved it" in text
    assert at(namespace, f"/influences/{lied['id']}") in text
    assert "influence of" in Markup(text).said()


async def test_health_counts_keys_that_moved_memories_of_others_alone(
    client: httpx.AsyncClient, namespace: str, lied: dict[str, str]
):
    health = (await client.get(inside(namespace, "/learning-health"))).json()
    keys = (await client.get(inside(namespace, "/influences"))).json()["items"]

    assert health["lone_parties"] == 1
    assert [(key["key_id"], key["alone"], key["alert"]) for key in keys] == [(lied["id"], 4, True)]


async def test_influence_is_for_those_who_inspect(
    app, client: httpx.AsyncClient, namespace: str, lied: dict[str, str]
):
    headers = {"authorization": lied["authorization"]}
    refused = await client.get(inside(namespace, "/influences"), headers=headers)

    assert refused.status_code == 403
