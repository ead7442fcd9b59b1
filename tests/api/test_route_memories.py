"""Memories of all kinds over HTTP: looked through, changed, and what an erasure would take."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from api_builders import an_outcome, inside, problem, remembered, retrieved


async def every(client, slug, **query):
    """The items of all pages, and the totals told on the way."""
    items, totals = [], set()
    while True:
        body = (await client.get(inside(slug, "/memories"), params=query)).json()
        items += body["items"]
        totals.add(body["total"])
        if body["next_cursor"] is None:
            return items, totals
        query["cursor"] = body["next_cursor"]


async def learnt(client, slug):
    """A retrieval with its outcome applied."""
    receipt = await retrieved(client, slug)
    await client.post(
        inside(slug, f"/retrievals/{receipt['retrieval_id']}/outcome"),
        json=an_outcome(reward=1, without={"reward": 0}, verifier="test"),
    )
    await client.post(inside(slug, "/outcomes/apply"), json={})
    return receipt["retrieval_id"]


@pytest.fixture
async def three(client, namespace):
    return [await remembered(client, namespace, lesson=f"rain lesson {i}") for i in range(3)]


async def test_pages_hold_each_memory_once_and_tell_the_true_total(client, namespace, three):
    items, totals = await every(client, namespace, limit=2, sort="weight", order="desc")

    assert sorted(row["id"] for row in items) == sorted(three)
    assert totals == {3}


async def test_all_filters_act_together(client, namespace, three):
    await client.post(inside(namespace, f"/experiences/{three[1]}/suspend"))
    asked = {
        "kind": "experience",
        "status": "suspended",
        "trust": "unverified",
        "category": "general",
        "agent": "solver",
        "text": "LESSON",
        "min_weight": 0.9,
        "max_weight": 1.1,
    }

    items, totals = await every(client, namespace, **asked)

    assert [row["id"] for row in items] == [three[1]]
    assert totals == {1}


async def test_a_cursor_belongs_to_its_filter(client, namespace, three):
    path = inside(namespace, "/memories")
    first = (await client.get(path, params={"limit": 1})).json()
    other = {"limit": 1, "kind": "constraint", "cursor": first["next_cursor"]}

    assert problem(await client.get(path, params=other)) == (422, "bad_cursor", "cursor")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"min_weight": 1.5, "max_weight": 1}, "min_weight"),
        ({"sort": "served", "bank_version": 1}, "sort"),
        ({"as_of": "2026-03-01T12:00:00Z", "bank_version": 1}, "bank_version"),
        ({"text": " "}, "text"),
    ],
)
async def test_what_cannot_be_listed_is_refused_by_name(client, namespace, query, field):
    answer = await client.get(inside(namespace, "/memories"), params=query)

    assert problem(answer) == (422, "rejected", field)


async def test_the_bank_of_a_version_is_as_it_was(client, namespace, three):
    version = (await client.get(inside(namespace, ""))).json()["bank_version"]
    await learnt(client, namespace)
    await client.post(inside(namespace, f"/experiences/{three[0]}/retire"))
    await remembered(client, namespace, lesson="later")

    then, totals = await every(client, namespace, bank_version=version)

    assert {row["id"] for row in then} == set(three)
    assert {(row["status"], row["effective_weight"]) for row in then} == {("active", 1)}
    assert totals == {3}


async def test_a_status_is_the_one_that_a_memory_had_by_then(client, namespace, three):
    before = datetime.now(UTC).isoformat()
    await client.post(inside(namespace, f"/experiences/{three[0]}/suspend"))
    between = datetime.now(UTC).isoformat()
    await client.post(inside(namespace, f"/experiences/{three[0]}/restore"))

    for as_of, suspended in ((before, []), (between, [three[0]]), (None, [])):
        query = {"status": "suspended"} | ({"as_of": as_of} if as_of else {})
        assert [row["id"] for row in (await every(client, namespace, **query))[0]] == suspended


async def test_the_difference_names_what_came_and_what_changed_status(client, namespace, three):
    version = (await client.get(inside(namespace, ""))).json()["bank_version"]
    await client.post(inside(namespace, f"/experiences/{three[0]}/retire"))
    later = await remembered(client, namespace, lesson="later")
    query = {"from_bank_version": version}

    body = (await client.get(inside(namespace, "/bank/difference"), params=query)).json()

    told = {
        change["memory_id"]: (change["status_before"], change["status_after"])
        for change in body["memories"]
    }
    assert told == {three[0]: ("active", "retired"), later: (None, "active")}
    assert body["total_memories"] == 2


async def test_neighbours_are_the_other_memories(client, namespace, three):
    near = (await client.get(inside(namespace, f"/memories/{three[0]}/neighbours"))).json()

    assert {row["memory_id"] for row in near["items"]} == set(three[1:])
    assert all(row["cosine"] == pytest.approx(1, abs=1e-3) for row in near["items"])


async def test_an_episode_tells_the_reward_and_the_step_it_was(client, namespace):
    memory_id = await remembered(client, namespace)
    retrieval_id = await learnt(client, namespace)

    body = (await client.get(inside(namespace, f"/memories/{memory_id}/episodes"))).json()
    records = (await client.get(inside(namespace, f"/memories/{memory_id}/records"))).json()

    [episode] = body["items"]
    assert (episode["retrieval_id"], episode["reward"], episode["reward_without"]) == (
        retrieval_id,
        1,
        0,
    )
    assert episode["weight_after"] > episode["weight_before"] == 1
    [record] = records["items"]
    assert (record["agent"], record["n"], record["n_pairs"], record["reward"]) == (
        "solver",
        1,
        1,
        1,
    )


async def test_episodes_are_paged_the_newest_first(client, namespace):
    memory_id = await remembered(client, namespace)
    made = [await learnt(client, namespace) for _ in range(3)]
    path = inside(namespace, f"/memories/{memory_id}/episodes")

    first = (await client.get(path, params={"limit": 2})).json()
    rest = (await client.get(path, params={"limit": 2, "cursor": first["next_cursor"]})).json()

    told = [row["retrieval_id"] for row in [*first["items"], *rest["items"]]]
    assert told == made[::-1]
    assert (first["total"], rest["next_cursor"]) == (3, None)


async def test_a_quarantined_memory_is_not_served(client, namespace):
    memory_id = await remembered(client, namespace)
    path = inside(namespace, f"/memories/{memory_id}/trust")

    answer = await client.post(path, json={"trust": "quarantined", "reason": "poison"})
    again = await client.post(path, json={"trust": "quarantined"})
    served = await retrieved(client, namespace)
    audit = (await client.get(inside(namespace, "/audit"))).json()["items"]

    assert answer.json()["trust"] == "quarantined"
    assert problem(again) == (409, "trust_conflict", "trust")
    assert served["memories"] == []
    [deed] = [entry for entry in audit if entry["action"] == "memory.trust"]
    assert deed["detail"] == {"from": "unverified", "to": "quarantined", "reason": "poison"}


async def test_trust_is_for_managers(agent_client, client, namespace):
    memory_id = await remembered(client, namespace)
    agent = await agent_client("agent")

    answer = await agent.post(
        inside(namespace, f"/memories/{memory_id}/trust"), json={"trust": "trusted"}
    )

    assert problem(answer) == (403, "forbidden", None)


async def test_a_bulk_change_answers_for_each_memory(client, namespace, three):
    gone = str(uuid4())
    body = {"ids": [three[0], gone, three[0]], "action": "suspend", "reason": "checking"}

    answer = await client.post(inside(namespace, "/memories/bulk"), json=body)

    assert answer.status_code == 207
    items = answer.json()["items"]
    assert [item["status"] for item in items] == [200, 404, 409]
    assert (items[0]["memory_status"], items[1]["problem"]["code"]) == (
        "suspended",
        "memory_not_found",
    )


async def test_trust_is_changed_in_bulk(client, namespace, three):
    body = {"ids": three, "action": "trust", "trust": "trusted"}

    items = (await client.post(inside(namespace, "/memories/bulk"), json=body)).json()["items"]

    assert [item["trust"] for item in items] == ["trusted"] * 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"action": "trust"}, "trust"),
        ({"trust": "trusted"}, "trust"),
        ({"ids": []}, "ids"),
        ({"ids": [str(uuid4()) for _ in range(257)]}, "ids"),
    ],
)
async def test_a_bulk_change_that_is_none_is_refused(client, namespace, changes, field):
    body = {"ids": [str(uuid4())], "action": "suspend"} | changes

    answer = await client.post(inside(namespace, "/memories/bulk"), json=body)

    assert problem(answer)[2] == field


async def test_a_dry_run_of_an_erasure_tells_what_it_takes_and_takes_nothing(client, namespace):
    memory_id = await remembered(client, namespace)
    retrieval_id = await learnt(client, namespace)
    path = inside(namespace, "/erasures")

    seen = (await client.post(path, json={"memory_id": memory_id, "dry_run": True})).json()
    kept = (await client.get(inside(namespace, f"/memories/{memory_id}"))).json()
    done = (await client.post(path, json={"memory_id": memory_id})).json()

    assert seen["dry_run"]
    assert seen["reach"]["memory_ids"] == [memory_id]
    assert seen["reach"]["retrieval_ids"] == [retrieval_id]
    assert kept["lesson"] == "Start from the base rate of the month"
    assert done["erased"] == seen["erased"]
    assert (done["dry_run"], done["reach"]) == (False, None)


async def test_another_namespaces_memories_are_not_there(client, namespace, replay):
    memory_id = await remembered(client, namespace)

    for part in ("", "/neighbours", "/episodes", "/records"):
        answer = await client.get(inside(replay, f"/memories/{memory_id}{part}"))
        assert problem(answer)[:2] == (404, "memory_not_found")
