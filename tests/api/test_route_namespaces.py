"""Namespaces over HTTP."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from api_builders import inside, problem, remembered

from memory.tenancy.store.moves import MoveStore


def a_slug() -> str:
    return f"n{uuid4().hex[:12]}"


async def test_a_namespace_is_made_with_what_was_said_and_the_rest_by_default(client):
    slug = a_slug()

    answer = await client.post(
        "/v1/namespaces", json={"slug": slug, "clock": "replay", "settings": {"raw_gate": 0.5}}
    )

    assert answer.status_code == 201
    body = answer.json()
    assert (body["slug"], body["clock"], body["learning"]) == (slug, "replay", "on")
    assert (body["settings"]["raw_gate"], body["settings"]["slot_rate"]) == (0.5, 0.03)
    assert answer.headers["etag"] == f'"{body["version"]}"'


async def test_a_slug_is_taken_once(client, namespace):
    answer = await client.post("/v1/namespaces", json={"slug": namespace})

    assert answer.status_code == 409


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"slug": "Über"}, "slug"),
        ({"slug": ""}, "slug"),
        ({"clock": "sundial"}, "clock"),
        ({"policy": "luck"}, "policy"),
        ({"settings": {"raw_gate": 2}}, "settings.raw_gate"),
        ({"settings": {"slot_rate": None}}, "settings.slot_rate"),
        ({"settings": {"max_memories": 0}}, "settings.max_memories"),
        ({"settings": {"colour": "red"}}, "settings.colour"),
        ({"name": "x"}, "name"),
    ],
)
async def test_a_namespace_that_cannot_be_is_refused_by_field(client, change, field):
    answer = await client.post("/v1/namespaces", json={"slug": a_slug()} | change)

    assert problem(answer) == (422, "rejected", field)


async def test_a_null_leaves_a_setting_to_the_server(client, namespace):
    path = f"/v1/namespaces/{namespace}"
    for value in (0.5, None):
        before = await client.get(path)
        change = {"settings": {"raw_gate": value}}
        changed = await client.patch(
            path, headers={"If-Match": before.headers["etag"]}, json=change
        )
        assert changed.json()["settings"]["raw_gate"] == value
    too_many = {"settings": {"llm_daily_tokens": 10**9}}
    etag = changed.headers["etag"]
    refused = [
        await client.patch(path, headers={"If-Match": etag}, json=too_many),
        await client.post("/v1/namespaces", json={"slug": f"{namespace}-2"} | too_many),
    ]
    assert [one.status_code for one in refused] == [422, 422]
    assert {one.json()["field"] for one in refused} == {"settings.llm_daily_tokens"}
    assert {one.json()["limit"] for one in refused} == {1_000_000}


async def test_settings_are_merged_over_those_in_force(client, namespace):
    path = inside(namespace, "")
    before = await client.get(path)

    answer = await client.patch(
        path,
        json={"learning": "frozen", "settings": {"control_rate": 0.5}},
        headers={"If-Match": before.headers["etag"]},
    )

    assert answer.status_code == 200, answer.text
    after = (await client.get(path)).json()
    assert after["learning"] == "frozen"
    assert after["settings"] == before.json()["settings"] | {"control_rate": 0.5}


async def test_an_edit_names_the_version_its_author_saw(client, namespace):
    path, change = inside(namespace, ""), {"learning": "frozen"}
    seen = (await client.get(path)).headers["etag"]

    without = await client.patch(path, json=change)
    unread = await client.patch(path, json=change, headers={"If-Match": "3"})
    first = await client.patch(path, json=change, headers={"If-Match": seen})
    late = await client.patch(path, json=change, headers={"If-Match": seen})

    assert problem(without) == (428, "precondition_required", "If-Match")
    assert problem(unread) == (422, "rejected", "If-Match")
    assert first.status_code == 200
    assert problem(late)[:2] == (412, "stale_edit")


async def test_an_edit_that_changes_nothing_is_refused(client, namespace):
    path = inside(namespace, "")
    seen = (await client.get(path)).headers["etag"]

    answer = await client.patch(path, json={}, headers={"If-Match": seen})

    assert problem(answer) == (422, "rejected", "body")


async def test_deleting_takes_two_steps_and_then_nothing_is_there(client, namespace):
    await remembered(client, namespace)
    path = inside(namespace, "")

    guessed = await client.delete(path, params={"confirmation": "yes"})
    asked = await client.post(f"{path}/deletion")
    confirmed = await client.delete(path, params={"confirmation": asked.json()["confirmation"]})

    assert guessed.status_code in (409, 422)
    assert asked.status_code == 202
    assert confirmed.status_code == 204
    assert (await client.get(path)).status_code == 404


async def test_the_list_holds_each_namespace_once(client, namespace, replay):
    slugs: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        body = (await client.get("/v1/namespaces", params={"limit": 100} | cursor)).json()
        slugs += [item["slug"] for item in body["items"]]
        if body["next_cursor"] is None:
            break
        cursor = {"cursor": body["next_cursor"]}

    assert len(slugs) == len(set(slugs)) == body["total"]
    assert {namespace, replay} <= set(slugs)


async def test_the_audit_tells_what_was_done(client, namespace):
    body = (await client.get(inside(namespace, "/audit"))).json()

    assert "namespace.create" in [item["action"] for item in body["items"]]


async def test_a_namespace_that_is_being_moved_here_says_so_and_what_to_do(
    client, namespace, engine
):
    space = UUID((await client.get(inside(namespace, ""))).json()["id"])
    async with engine.database.transaction() as connection:
        await MoveStore(connection).arrive(space, "https://here.example", datetime.now(UTC))

    refused = await client.get(inside(namespace, "/memories"))

    async with engine.database.transaction() as connection:
        await MoveStore(connection).open(space)
    assert problem(refused) == (503, "namespace_moving", None)
    assert "is being moved here from another deployment" in refused.json()["detail"]
    assert "--call-off" in refused.json()["detail"]
