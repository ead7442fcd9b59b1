"""Agents, categories and tasks over HTTP."""

from uuid import uuid4

import pytest
from api_builders import NOON, a_task, inside, problem


async def test_an_agent_is_described_once_and_then_changed(client, namespace):
    path = inside(namespace, "/agents")

    made = await client.post(path, json={"name": "solver", "model": "m1"})
    again = await client.post(path, json={"name": "solver"})
    changed = await client.patch(
        f"{path}/solver",
        json={"model": "m2", "own_information": True},
        headers={"If-Match": made.headers["etag"]},
    )

    assert (made.status_code, again.status_code) == (201, 409)
    assert changed.status_code == 200, changed.text
    agent = (await client.get(f"{path}/solver")).json()
    assert (agent["model"], agent["own_information"]) == ("m2", True)


async def test_an_agent_that_is_not_there_is_not_found(client, namespace):
    assert (await client.get(inside(namespace, "/agents/nobody"))).status_code == 404
    assert (await client.get(inside(namespace, "/agents/%00"))).status_code == 422


async def test_the_agents_are_listed(client, namespace):
    for name in ("a", "b", "c"):
        await client.post(inside(namespace, "/agents"), json={"name": name})

    body = (await client.get(inside(namespace, "/agents"), params={"limit": 2})).json()

    assert ([agent["name"] for agent in body["items"]], body["total"]) == (["a", "b"], 3)


async def test_a_category_has_two_levels(client, namespace):
    path = inside(namespace, "/categories")

    made = await client.post(path, json={"name": "weather", "subcategory": "rain"})

    assert made.status_code == 201
    assert (made.json()["name"], made.json()["parent"]) == ("rain", "weather")
    assert (await client.get(path)).json()["total"] == 2


async def test_the_same_key_is_the_same_task(client, namespace):
    path = inside(namespace, "/tasks")

    first = await client.post(path, json=a_task(key="q1", group_key="g"))
    again = await client.post(path, json=a_task(key="q1", group_key="g"))
    other = await client.post(path, json=a_task(key="q1", text="Something else"))

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert problem(other)[:2] == (409, "task_conflict")
    listed = (await client.get(path, params={"key": "q1"})).json()
    assert [task["id"] for task in listed["items"]] == [first.json()["id"]]


async def test_a_task_is_read_by_its_id(client, namespace):
    made = (await client.post(inside(namespace, "/tasks"), json=a_task())).json()

    assert (await client.get(inside(namespace, f"/tasks/{made['id']}"))).json() == made
    assert (await client.get(inside(namespace, f"/tasks/{uuid4()}"))).status_code == 404


async def test_only_in_replay_do_callers_say_when(client, namespace, replay):
    for slug, body, status in (
        (namespace, a_task(known_at=NOON), 422),
        (namespace, a_task(), 201),
        (replay, a_task(), 422),
        (replay, a_task(known_at=NOON), 201),
    ):
        assert (await client.post(inside(slug, "/tasks"), json=body)).status_code == status


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/agents", {"name": ""}, "agent"),
        ("/agents", {"name": "x", "own_information": "yes"}, "own_information"),
        ("/agents", {"name": "x", "colour": "red"}, "colour"),
        ("/categories", {"name": " "}, "category"),
        ("/categories", {}, "name"),
        ("/tasks", {"text": "x", "subcategory": "rain"}, "category"),
        ("/tasks", {"text": "x", "metadata": []}, "metadata"),
        ("/tasks", {"text": "x", "known_at": 12}, "known_at"),
    ],
)
async def test_what_cannot_be_is_refused_by_field(client, namespace, path, body, field):
    assert problem(await client.post(inside(namespace, path), json=body)) == (
        422,
        "rejected",
        field,
    )
