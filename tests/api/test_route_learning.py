"""What people read of learning: weights, why they moved, effects, jobs."""

import pytest
from api_builders import (
    LATER,
    NOON,
    an_outcome,
    inside,
    problem,
    remembered,
    retrieved,
)


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


async def test_a_memory_that_helped_has_more_weight_and_a_reason(client, namespace, taught):
    path = inside(namespace, f"/experiences/{taught}/weight")

    weight = (await client.get(path)).json()
    events = (await client.get(f"{path}/events")).json()

    assert weight["effective_weight"] > 1
    assert (weight["served"], weight["credited"], weight["agent"]) == (1, 1, None)
    learned = [event for event in events["items"] if event["kind"] == "learn"]
    assert max(event["weight_after"] or 0 for event in learned) > 1
    assert all(event["outcome_id"] for event in learned)


async def test_a_weight_is_read_for_one_agent(client, namespace, taught):
    path = inside(namespace, f"/experiences/{taught}/weight")

    assert (await client.get(path, params={"agent": "solver"})).json()["agent"] == "solver"
    assert problem(await client.get(path, params={"agnet": "x"})) == (422, "rejected", "agnet")


async def test_memories_are_listed_by_weight(client, namespace, taught):
    plain = await remembered(client, namespace, lesson="Untried")
    path = inside(namespace, "/weights")

    strongest = (await client.get(path)).json()
    weakest = (await client.get(path, params={"order": "weakest"})).json()

    assert [row["memory_id"] for row in strongest["items"]] == [taught, plain]
    assert [row["memory_id"] for row in weakest["items"]] == [plain, taught]
    assert problem(await client.get(path, params={"order": "best"})) == (422, "rejected", "order")


async def test_the_effect_keeps_pairs_apart_from_arms(client, namespace, taught):
    body = (await client.get(inside(namespace, "/effect"), params={"agent": "solver"})).json()

    [cell] = body["items"]
    assert (cell["agent"], cell["category"], cell["n"]) == ("solver", "weather", 1)
    assert (cell["paired"]["n"], cell["randomised"]["n"]) == (1, 0)
    assert cell["paired"]["mean"] == pytest.approx(1)
    assert cell["paired"]["low"] is None, "one date bounds nothing"


async def test_the_timetable_is_there_for_managers(client):
    jobs = (await client.get("/v1/jobs")).json()["items"]

    assert ("decay", 86400) in [(job["name"], job["every_seconds"]) for job in jobs]


async def test_a_dry_run_changes_nothing_and_a_run_is_recorded(client, replay):
    await remembered(client, replay, learned_at=NOON)
    path = inside(replay, "/jobs/decay/runs")

    dry = await client.post(path, json={"now": LATER, "dry_run": True})
    none_yet = await client.get(inside(replay, "/jobs/runs"))
    run = await client.post(path, json={"now": LATER})
    again = await client.post(path, json={"now": LATER})

    assert (dry.status_code, dry.json()["dry_run"]) == (200, True)
    assert none_yet.json()["total"] == 0
    assert run.json()["result"]["examined"] == 1
    assert again.json()["id"] != run.json()["id"], "a run by hand is one of its own"
    assert (await client.get(inside(replay, "/jobs/runs"))).json()["total"] == 2


async def test_a_job_that_cannot_run_is_refused(client, namespace, replay):
    unknown = await client.post(inside(namespace, "/jobs/sing/runs"), json={})
    timeless = await client.post(inside(replay, "/jobs/decay/runs"), json={})
    told = await client.post(inside(namespace, "/jobs/decay/runs"), json={"now": LATER})

    assert unknown.status_code == 404
    assert problem(timeless) == (422, "rejected", "now")
    assert problem(told) == (422, "rejected", "now")
