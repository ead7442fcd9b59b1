"""Outcomes over HTTP: say how it went, once, and see what came of it."""

from uuid import uuid4

import pytest
from api_builders import LATER, NOON, an_outcome, inside, problem, remembered, retrieved


async def a_receipt(client, namespace, **changes):
    await remembered(client, namespace)
    body = await retrieved(client, namespace, **changes)
    return body["retrieval_id"], inside(namespace, f"/retrievals/{body['retrieval_id']}/outcome")


async def test_an_outcome_is_accepted_and_can_be_read(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)

    answer = await client.post(path, json=an_outcome(without={"reward": 0.5}))

    assert answer.status_code == 202
    body = answer.json()
    assert set(body) == {"outcome_id", "status", "reason", "evidence"}
    outcome = (await client.get(inside(namespace, f"/outcomes/{body['outcome_id']}"))).json()
    assert (outcome["retrieval_id"], outcome["reward"]) == (retrieval_id, 0.8)
    assert outcome["reward_without"] == 0.5


async def test_the_same_report_again_gets_the_same_answer(client, namespace):
    _, path = await a_receipt(client, namespace)
    first = await client.post(path, json=an_outcome())

    again = await client.post(path, json=an_outcome())
    other = await client.post(path, json=an_outcome(reward=0.1))

    assert (again.status_code, again.json()) == (200, first.json())
    assert (other.status_code, other.json()["status"]) == (202, "ignored")
    assert other.json()["reason"] == "disagrees"
    assert (await client.get(inside(namespace, "/outcomes"))).json()["total"] == 2


async def test_a_better_verified_report_takes_the_place_of_the_first(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)
    await client.post(path, json=an_outcome())

    better = await client.post(path, json=an_outcome(reward=0.1, verifier="human"))

    assert better.status_code == 202
    query = {"retrieval_id": retrieval_id, "state": "superseded"}
    found = (await client.get(inside(namespace, "/outcomes"), params=query)).json()
    assert found["total"] == 1


async def test_applied_outcomes_move_the_bank(client, namespace):
    _, path = await a_receipt(client, namespace)
    reported = (await client.post(path, json=an_outcome())).json()

    applied = await client.post(inside(namespace, "/outcomes/apply"), json={})

    assert applied.status_code == 200
    assert (applied.json()["applied"], applied.json()["pending"]) == (1, 0)
    outcome = await client.get(inside(namespace, f"/outcomes/{reported['outcome_id']}"))
    assert outcome.json()["status"] == "applied"
    assert outcome.json()["bank_version"] <= applied.json()["bank_version"]


async def test_a_brier_score_is_a_reward_too(client, namespace):
    _, path = await a_receipt(client, namespace)
    body = {
        "metric": "brier",
        "value": {"p": [0.9, 0.1]},
        "truth": {"y": [1, 0]},
        "without": {"value": {"p": [0.5, 0.5]}},
    }

    answer = await client.post(path, json=body)

    outcome = await client.get(inside(namespace, f"/outcomes/{answer.json()['outcome_id']}"))
    assert outcome.json()["reward"] == pytest.approx(0.99)
    assert outcome.json()["reward_without"] == pytest.approx(0.75)


async def test_in_a_batch_each_report_has_its_own_status(client, namespace):
    retrieval_id, _ = await a_receipt(client, namespace)
    items = [
        an_outcome(retrieval_id=retrieval_id),
        an_outcome(retrieval_id=retrieval_id),
        an_outcome(retrieval_id=str(uuid4())),
        {"retrieval_id": retrieval_id},
    ]

    answer = await client.post(inside(namespace, "/outcomes/batch"), json={"items": items})

    results = answer.json()["items"]
    assert answer.status_code == 207
    assert [item["status"] for item in results] == [202, 200, 404, 422]
    assert results[0]["outcome"] == results[1]["outcome"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "reward"),
        ({"reward": 1.5}, "reward"),
        ({"reward": -0.1}, "reward"),
        ({"reward": "1"}, "reward"),
        ({"reward": True}, "reward"),
        ({"reward": None}, "reward"),
        ({"reward": 1, "metric": "brier", "value": {"p": [1]}}, "reward"),
        ({"metric": "brier"}, "value"),
        ({"metric": "luck", "value": {"x": 1}}, "metric"),
        ({"reward": 1, "without": {}}, "without"),
        ({"reward": 1, "without": {"reward": 1, "value": {}}}, "without"),
        ({"reward": 1, "verifier": "god"}, "verifier"),
        ({"reward": 1, "helpful": ["x"]}, "helpful.0"),
        ({"reward": 1, "helpful": [str(uuid4())]}, "helpful"),
        ({"reward": 1, "known_at": NOON}, "known_at"),
        ({"reward": 1, "score": 1}, "score"),
        ({"reward": 0.5, "reward_kind": "binary"}, "reward"),
    ],
)
async def test_a_report_that_says_nothing_sound_is_refused_by_field(client, namespace, body, field):
    _, path = await a_receipt(client, namespace)

    assert problem(await client.post(path, json=body)) == (422, "rejected", field)


async def test_only_who_opened_a_receipt_an_evaluator_or_an_admin_reports(
    client, agent_client, namespace
):
    opener, other = await agent_client("agent"), await agent_client("agent")
    await remembered(client, namespace)
    paths = [
        inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")
        for receipt in [await retrieved(opener, namespace) for _ in range(3)]
    ]

    assert (await other.post(paths[0], json=an_outcome())).status_code == 403
    assert (await opener.post(paths[0], json=an_outcome())).status_code == 202
    for path, role in zip(paths[1:], ("evaluator", "admin"), strict=True):
        reporter = await agent_client(role)
        assert (await reporter.post(path, json=an_outcome())).status_code == 202


async def test_in_replay_a_report_says_when_it_became_known(client, replay):
    await remembered(client, replay, learned_at=NOON)
    receipt = await retrieved(client, replay, as_of=NOON)
    path = inside(replay, f"/retrievals/{receipt['retrieval_id']}/outcome")

    assert problem(await client.post(path, json=an_outcome())) == (422, "rejected", "known_at")
    assert (await client.post(path, json=an_outcome(known_at=LATER))).status_code == 202


async def test_an_outcome_that_is_not_there_is_not_found(client, namespace):
    assert (await client.get(inside(namespace, f"/outcomes/{uuid4()}"))).status_code == 404
    answer = await client.post(
        inside(namespace, f"/retrievals/{uuid4()}/outcome"), json=an_outcome()
    )
    assert answer.status_code == 404
