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
