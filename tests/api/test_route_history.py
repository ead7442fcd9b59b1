from uuid import uuid4

import pytest
from api_builders import an_outcome, inside, problem, remembered, retrieved


@pytest.fixture
async def taught(client, namespace):
    """The id of a memory that helped once."""
    memory_id = await remembered(client, namespace)
    receipt = await retrieved(client, namespace)
    await client.post(
        inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome"),
        json=an_outcome(reward=1, without={"reward": 0}, verifier="test"),
    )
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    return memory_id


async def test_the_bank_is_read_as_of_a_version(client, namespace, taught):
    now = (await client.get(inside(namespace, "/bank"))).json()
    then = (await client.get(inside(namespace, "/bank"), params={"bank_version": 1})).json()

    assert [row["memory_id"] for row in now["items"]] == [taught]
    assert now["items"][0]["effective_weight"] > then["items"][0]["effective_weight"] == 1


async def test_the_difference_of_two_versions_names_the_memory(client, namespace, taught):
    query = {"from_bank_version": 1}

    body = (await client.get(inside(namespace, "/bank/difference"), params=query)).json()

    [change] = body["weights"]
    assert (change["memory_id"], change["before"], body["total"]) == (taught, 1, 1)
    assert change["after"] > 1


async def test_a_moment_is_a_time_or_a_version(client, namespace):
    query = {"as_of": "2026-03-01T12:00:00Z", "bank_version": 1}

    fault = await client.get(inside(namespace, "/bank"), params=query)

    assert problem(fault) == (422, "rejected", "bank_version")


async def test_what_if_names_the_policies_there_are(client, namespace, taught):
    path = inside(namespace, "/what-if")

    found = (await client.post(path, json={"policy": "paper"})).json()
    fault = await client.post(path, json={"policy": "luck"})

    [change] = found["difference"]["weights"]
    assert (change["memory_id"], change["after"]) == (taught, 2)
    assert problem(fault) == (422, "rejected", "policy")


async def test_a_rollback_is_a_dry_run_unless_told_otherwise(client, namespace, taught):
    path = inside(namespace, "/rollbacks")

    seen = (await client.post(path, json={"agent": "solver"})).json()
    done = (await client.post(path, json={"agent": "solver", "dry_run": False})).json()
    nobody = await client.post(path, json={})

    assert (seen["dry_run"], done["dry_run"]) == (True, False)
    assert (seen["outcomes"], seen["retired"]) == (done["outcomes"], done["retired"])
    assert done["retired"] == [taught]
    weight = await client.get(inside(namespace, f"/experiences/{taught}/weight"))
    assert weight.json()["effective_weight"] == 1
    assert problem(nobody) == (422, "rejected", "agent")


async def test_a_rollback_is_listed_and_undone_once(client, agent_client, namespace, taught):
    path = inside(namespace, "/rollbacks")
    weight = inside(namespace, f"/experiences/{taught}/weight")
    before = (await client.get(weight)).json()["effective_weight"]
    seen = (await client.post(path, json={"agent": "solver"})).json()
    done = (await client.post(path, json={"agent": "solver", "dry_run": False})).json()
    undo = f"{path}/{done['rollback_id']}/undo"
    agent = await agent_client()

    refused = await agent.post(undo, json={})
    undone = await client.post(undo, json={})
    twice = await client.post(undo, json={})
    listed = (await client.get(path)).json()

    assert seen["rollback_id"] is None
    assert problem(refused)[:2] == (403, "forbidden")
    assert undone.json()["restored"] == [taught]
    after = (await client.get(weight)).json()["effective_weight"]
    assert after == pytest.approx(before, rel=1e-4), "but for its age"
    assert after > 1
    assert problem(twice) == (409, "rollback_undone", "rollback_id")
    [one] = listed["items"]
    assert (one["agent"], one["outcomes"], one["memories"]) == ("solver", 1, 1)
    assert (one["can_undo"], one["undone_at"] is None) == (False, False)
    unknown = await client.post(f"{path}/{uuid4()}/undo", json={})
    assert problem(unknown) == (404, "rollback_not_found", "rollback_id")


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_source_that_does_not_exist_is_not_one_with_nothing_to_undo(
    client, agent_client, namespace, taught, dry_run
):
    elsewhere = await agent_client(slug="default")
    path = inside(namespace, "/rollbacks")
    foreign = (await elsewhere.get("/v1/me")).json()["key_id"]

    for key_id in (str(uuid4()), foreign):
        unknown = await client.post(path, json={"key_id": key_id, "dry_run": dry_run})
        assert problem(unknown) == (404, "key_not_found", "key_id")
    misspelt = await client.post(path, json={"agent": "slover", "dry_run": dry_run})
    silent = await agent_client()
    quiet = (await silent.get("/v1/me")).json()["key_id"]
    nothing = await client.post(path, json={"key_id": quiet, "dry_run": dry_run})

    assert problem(misspelt) == (404, "agent_not_found", "agent")
    assert (nothing.status_code, nothing.json()["outcomes"]) == (200, [])
    weight = await client.get(inside(namespace, f"/experiences/{taught}/weight"))
    assert weight.json()["effective_weight"] > 1


async def test_a_revoked_key_is_still_taken_back(client, agent_client, namespace):
    agent = await agent_client()
    memory_id = await remembered(agent, namespace)
    key_id = (await agent.get("/v1/me")).json()["key_id"]
    await client.delete(f"/v1/keys/{key_id}")

    done = await client.post(
        inside(namespace, "/rollbacks"), json={"key_id": key_id, "dry_run": False}
    )

    assert done.json()["retired"] == [memory_id]


async def test_the_policy_changes_as_was_foreseen_and_back(client, namespace, taught):
    path = f"/v1/namespaces/{namespace}"
    weight = inside(namespace, f"/experiences/{taught}/weight")
    before = (await client.get(weight)).json()["effective_weight"]
    found = (await client.post(inside(namespace, "/what-if"), json={"policy": "paper"})).json()

    async def change(policy):
        etag = (await client.get(path)).headers["etag"]
        return await client.patch(path, json={"policy": policy}, headers={"if-match": etag})

    changed = await change("paper")
    after = (await client.get(weight)).json()["effective_weight"]
    await change("belief")
    unknown = await change("luck")

    assert (changed.status_code, changed.json()["policy"]) == (200, "paper")
    assert found["moves"]["rising"] == 1
    assert after == found["difference"]["weights"][0]["after"] == 2
    assert (await client.get(weight)).json()["effective_weight"] == pytest.approx(before)
    assert problem(unknown) == (422, "rejected", "policy")
