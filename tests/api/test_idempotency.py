"""A call that is repeated because its answer was lost has one effect (case P02)."""

import asyncio
from uuid import uuid4

import pytest
from api_builders import an_ask, an_experience, an_outcome, inside, problem, remembered, retrieved


def once(key: str = "k1") -> dict[str, str]:
    return {"Idempotency-Key": key}


async def test_a_repeat_gets_the_same_answer_and_has_no_second_effect(client, namespace):
    path = inside(namespace, "/retrievals")

    first = await client.post(path, json=an_ask(), headers=once())
    again = await client.post(path, json=an_ask(), headers=once())

    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert (await client.get(path)).json()["total"] == 1


async def test_another_body_under_the_same_key_is_refused(client, namespace):
    path = inside(namespace, "/experiences")
    await client.post(path, json=an_experience(), headers=once())

    answer = await client.post(path, json=an_experience(lesson="Other"), headers=once())

    assert problem(answer)[:2] == (422, "idempotency_mismatch")
    assert (await client.get(path)).json()["total"] == 1


async def test_a_report_repeated_moves_the_weight_once(client, namespace):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace)
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")

    answers = [await client.post(path, json=an_outcome(), headers=once()) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    assert (await client.get(inside(namespace, "/outcomes"))).json()["total"] == 1


async def test_a_call_that_failed_may_be_tried_again_under_its_key(client, namespace):
    path = inside(namespace, "/retrievals")
    task_id = str(uuid4())

    failed = await client.post(path, json=an_ask(task=None, task_id=task_id), headers=once())
    served = await client.post(path, json=an_ask(), headers=once())

    assert (failed.status_code, served.status_code) == (404, 201)


async def test_a_batch_without_effect_may_be_tried_again(client, namespace):
    path = inside(namespace, "/experiences/batch")
    blank = {"items": [an_experience(lesson=" ")]}
    good = {"items": [an_experience()]}

    failed = await client.post(path, json=blank, headers=once())
    taken = await client.post(path, json=good, headers=once())
    again = await client.post(path, json=good, headers=once())

    assert [item["status"] for item in failed.json()["items"]] == [422]
    assert [item["status"] for item in taken.json()["items"]] == [201]
    assert again.json() == taken.json()


async def test_calls_at_the_same_time_have_one_effect(client, namespace):
    path = inside(namespace, "/retrievals")

    answers = await asyncio.gather(
        *(client.post(path, json=an_ask(), headers=once()) for _ in range(8))
    )

    served = [answer for answer in answers if answer.status_code == 201]
    waiting = [answer for answer in answers if answer.status_code == 409]
    assert len(served) + len(waiting) == 8
    assert len({answer.json()["retrieval_id"] for answer in served}) == 1
    assert all(answer.json()["code"] == "idempotency_running" for answer in waiting)
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in waiting)
    assert (await client.get(path)).json()["total"] == 1


async def test_one_keys_calls_are_not_anothers(client, agent_client, namespace):
    path = inside(namespace, "/retrievals")
    agent = await agent_client("agent")

    one = await client.post(path, json=an_ask(), headers=once())
    other = await agent.post(path, json=an_ask(), headers=once())

    assert one.json()["retrieval_id"] != other.json()["retrieval_id"]


async def test_a_keys_token_is_not_kept_for_a_repeat(client, namespace):
    body = {"role": "reader", "name": "r", "namespace": namespace}
    header = once(uuid4().hex)

    made = await client.post("/v1/keys", json=body, headers=header)
    again = await client.post("/v1/keys", json=body, headers=header)

    assert made.status_code == 201
    assert problem(again) == (409, "token_not_kept", "Idempotency-Key")
    assert made.json()["token"] not in again.text


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there"])
async def test_a_key_that_is_none_is_refused(client, namespace, key):
    answer = await client.post(
        inside(namespace, "/experiences"), json=an_experience(), headers=once(key)
    )

    assert problem(answer) == (422, "rejected", "Idempotency-Key")
