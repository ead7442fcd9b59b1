"""Runs over HTTP: keep, list, read, and what each piece of bad input is answered with."""

from uuid import uuid4

import pytest
from api_builders import LATER, NOON, a_task, inside, problem, remembered, retrieved


def a_run(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {
        "agent": "solver",
        "steps": [{"text": "look at the sky", "kind": "action"}, {"text": "it is grey"}],
        "result": "it will rain",
        "reward": 1.0,
        "verifier": "test",
    }
    if not {"task", "task_id", "retrieval_id"} & changes.keys():
        body["task"] = a_task(key="june")
    return body | changes


async def kept(client, slug, **changes):
    answer = await client.post(inside(slug, "/trajectories"), json=a_run(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_run_is_kept_listed_and_read(client, namespace):
    made = await kept(client, namespace, cost=3)

    listed = (await client.get(inside(namespace, "/trajectories"))).json()
    read = (await client.get(inside(namespace, f"/trajectories/{made['id']}"))).json()

    assert (made["category"], made["right"]) == ("weather", True)
    [line] = listed["items"]
    assert (line["n_steps"], line["cost"], line["task_key"]) == (2, 3, "june")
    assert "steps" not in line
    said = [{name: part for name, part in step.items() if part} for step in read["steps"]]
    assert said == [{"text": "look at the sky", "kind": "action"}, {"text": "it is grey"}]
    assert (read["result"], read["right"], read["erased_at"]) == ("it will rain", True, None)


async def test_a_run_without_a_verdict_is_neither_right_nor_wrong(client, namespace):
    plain = {"reward": None, "verifier": "none"}
    unvouched = {"reward": 0.0, "verifier": "none"}

    for verdict in (plain, unvouched):
        assert (await kept(client, namespace, **verdict))["right"] is None
    assert (await client.get(inside(namespace, "/competence"))).json()["total"] == 0


async def test_runs_are_listed_by_agent_task_category_and_verifier_page_by_page(client, namespace):
    task_id = (await kept(client, namespace))["task_id"]
    await kept(client, namespace, agent="other", verifier="judge")
    await kept(client, namespace, task=a_task(text="another", category="markets"))
    path, agents = inside(namespace, "/trajectories"), []

    first = (await client.get(path, params={"limit": 2})).json()
    second = (await client.get(path, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    for query in ({"task_id": task_id}, {"category": "weather"}):
        found = (await client.get(path, params=query)).json()
        agents.append([row["agent"] for row in found["items"]])

    assert [len(page["items"]) for page in (first, second)] == [2, 1]
    assert (second["total"], second["next_cursor"]) == (3, None)
    assert agents == [["solver", "other"]] * 2
    for query in ({"agent": "other"}, {"verifier": "judge"}):
        assert (await client.get(path, params=query)).json()["total"] == 1


async def test_in_a_batch_each_run_has_its_own_answer(client, namespace):
    items = [
        a_run(),
        a_run(reward=1.5),
        a_run(task_id=str(uuid4())),
        a_run(steps=[{"text": "and so on"}] * 1_001),
        a_run(known_at=NOON),
        a_run(steps=[], result=None, reward=None, verifier="none"),
    ]

    answer = await client.post(inside(namespace, "/trajectories/batch"), json={"items": items})

    results = answer.json()["items"]
    assert answer.status_code == 207
    assert [item["status"] for item in results] == [201, 422, 404, 413, 422, 201]
    assert [item["right"] for item in results] == [True, None, None, None, None, None]
    assert results[3]["problem"]["limit"] == 1_000
    assert (await client.get(inside(namespace, "/trajectories"))).json()["total"] == 2


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"steps": [{"text": "and so on"}] * 10_000}, (413, "too_large", "steps")),
        ({"steps": [{"text": "x" * 20_001}]}, (413, "too_large", "steps.0.text")),
        ({"steps": [{"text": "x" * 20_000}] * 21}, (413, "too_large", "steps")),
        ({"result": "x" * 50_001}, (413, "too_large", "result")),
        ({"steps": [{"text": " "}]}, (422, "rejected", "steps.0.text")),
        ({"reward": 1.01}, (422, "rejected", "reward")),
        ({"reward": -0.01}, (422, "rejected", "reward")),
        ({"reward": "1"}, (422, "rejected", "reward")),
        ({"reward": None}, (422, "rejected", "reward")),
        ({"verifier": "oracle"}, (422, "rejected", "verifier")),
        ({"cost": -1}, (422, "rejected", "cost")),
        ({"task_id": str(uuid4())}, (404, "task_not_found", "task_id")),
        ({"task_id": str(uuid4()), "task": a_task()}, (422, "rejected", "task")),
        ({"task": None}, (422, "rejected", "task")),
        ({"known_at": NOON}, (422, "rejected", "known_at")),
        ({"known_at": "2026-03-01T12:00:00"}, (422, "rejected", "known_at")),
        ({"colour": "red"}, (422, "rejected", "colour")),
    ],
)
async def test_what_cannot_be_kept_is_refused_with_its_reason(client, namespace, changes, answer):
    got = await client.post(inside(namespace, "/trajectories"), json=a_run(**changes))

    assert problem(got) == answer


async def test_the_limit_on_steps_is_named(client, namespace):
    body = a_run(steps=[{"text": "and so on"}] * 1_001)

    answer = await client.post(inside(namespace, "/trajectories"), json=body)

    assert answer.json()["limit"] == 1_000
    assert "1000" in answer.json()["detail"]


async def test_nul_goes_and_lone_surrogates_are_refused(client, namespace):
    path = inside(namespace, "/trajectories")
    headers = {"Content-Type": "application/json"}
    made = await kept(client, namespace, steps=[{"text": "a\x00b"}], result="e\u0301")

    read = (await client.get(f"{path}/{made['id']}")).json()
    raw = '{"agent": "a", "task": {"text": "t"}, "steps": [{"text": "\\ud800"}]}'
    refused = await client.post(path, content=raw, headers=headers)

    assert (read["steps"][0]["text"], read["result"]) == ("ab", "é")
    assert problem(refused)[0] == 422
    assert problem(refused)[2].startswith("steps")


async def test_a_task_of_another_namespace_is_not_found(client, namespace, replay):
    task = await client.post(inside(replay, "/tasks"), json=a_task(known_at=NOON))

    answer = await client.post(
        inside(namespace, "/trajectories"), json=a_run(task_id=task.json()["id"])
    )

    assert problem(answer) == (404, "task_not_found", "task_id")


async def test_a_run_of_another_namespace_is_not_found(client, namespace, replay):
    made = await kept(client, replay, known_at=NOON)

    answer = await client.get(inside(namespace, f"/trajectories/{made['id']}"))

    assert problem(answer)[:2] == (404, "trajectory_not_found")


async def test_a_key_brings_runs_of_its_own_agents_only(agent_client, namespace):
    agent, reader = (
        await agent_client("agent", ["solver"], verifies="test"),
        await agent_client("reader"),
    )
    path = inside(namespace, "/trajectories")

    assert (await agent.post(path, json=a_run())).status_code == 201
    assert problem(await agent.post(path, json=a_run(agent="x"))) == (403, "forbidden", "agent")
    assert problem(await reader.post(path, json=a_run()))[:2] == (403, "forbidden")


async def test_competence_is_listed_by_agent_and_category_as_of_a_time(client, replay):
    await kept(client, replay, known_at=NOON)
    await kept(client, replay, known_at=LATER, agent="other", reward=0.0)
    path = inside(replay, "/competence")

    now = (await client.get(path)).json()
    then = (await client.get(path, params={"as_of": NOON})).json()
    page = (await client.get(path, params={"limit": 1})).json()
    rest = (await client.get(path, params={"limit": 1, "cursor": page["next_cursor"]})).json()

    assert [(row["agent"], row["category"], row["n"], row["mean"]) for row in now["items"]] == [
        ("other", "weather", 1, 0.0),
        ("solver", "weather", 1, 1.0),
    ]
    assert [row["competence"] for row in now["items"]] == pytest.approx([2.5 / 6, 3.5 / 6])
    assert [(row["agent"], row["competence"]) for row in then["items"]] == [("solver", 1.0)]
    assert [*page["items"], *rest["items"]] == now["items"]
    assert (rest["total"], rest["next_cursor"]) == (2, None)


async def test_the_same_idempotency_key_keeps_one_run(client, namespace):
    path, headers = inside(namespace, "/trajectories"), {"Idempotency-Key": "run-1"}

    first = await client.post(path, json=a_run(), headers=headers)
    again = await client.post(path, json=a_run(), headers=headers)

    assert first.json() == again.json()
    assert (await client.get(path)).json()["total"] == 1


async def test_a_run_is_attached_to_the_receipt_it_stands_behind(client, namespace):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace, agent="solver")

    made = await kept(client, namespace, retrieval_id=receipt["retrieval_id"], task_variant="v2")

    query = {"retrieval_id": receipt["retrieval_id"]}
    listed = (await client.get(inside(namespace, "/trajectories"), params=query)).json()
    [run] = listed["items"]
    assert (run["id"], run["task_id"], run["task_variant"]) == (made["id"], made["task_id"], "v2")


async def test_a_run_of_another_agent_does_not_stand_behind_a_receipt(client, namespace):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace, agent="solver")
    body = a_run(agent="other", retrieval_id=receipt["retrieval_id"])

    foreign = await client.post(inside(namespace, "/trajectories"), json=body)
    unknown = await client.post(
        inside(namespace, "/trajectories"), json=a_run(retrieval_id=str(uuid4()))
    )

    assert (foreign.status_code, foreign.json()["field"]) == (422, "agent")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "retrieval_not_found")
