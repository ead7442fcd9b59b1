"""Experiences over HTTP: add, browse, edit, take out of use, erase."""

from uuid import uuid4

import pytest
from api_builders import LATER, NOON, an_experience, inside, problem, remembered


async def test_what_was_remembered_can_be_read_as_it_was_accepted(client, namespace):
    text = "é 👍🏽 \u200f \U0001d538"
    memory_id = await remembered(
        client, namespace, lesson=text, metadata={text: [1, None, True]}, category="weather"
    )

    answer = await client.get(inside(namespace, f"/experiences/{memory_id}"))

    body = answer.json()
    assert (body["lesson"], body["metadata"]) == (text, {text: [1, None, True]})
    assert (body["status"], body["effective_weight"], body["version"]) == ("active", 1.0, 1)
    assert answer.headers["etag"] == '"1"'
    assert body["learned_at"].endswith("Z")


async def test_the_same_experience_again_is_evidence_and_no_second_memory(client, namespace):
    path = inside(namespace, "/experiences")
    first = await client.post(path, json=an_experience())

    again = await client.post(path, json=an_experience())

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["deduplicated"] is True
    assert again.json()["id"] == first.json()["id"]
    assert (await client.get(path)).json()["total"] == 1


async def test_in_a_batch_a_bad_item_does_not_lose_the_rest(client, namespace):
    items = [
        an_experience(lesson="one"),
        an_experience(lesson="   "),
        an_experience(lesson="one"),
        an_experience(lesson="x" * 5000),
        an_experience(task_id=str(uuid4())),
    ]

    answer = await client.post(inside(namespace, "/experiences/batch"), json={"items": items})

    assert answer.status_code == 207
    results = answer.json()["items"]
    assert [item["status"] for item in results] == [201, 422, 200, 413, 404]
    assert [item["index"] for item in results] == [0, 1, 2, 3, 4]
    assert results[1]["problem"]["field"] == "lesson"
    assert results[3]["problem"]["limit"] == 4000
    assert (await client.get(inside(namespace, "/experiences"))).json()["total"] == 1


@pytest.mark.parametrize("items", [[], [an_experience(lesson=str(n)) for n in range(257)]])
async def test_a_batch_of_none_or_too_many_is_refused_with_its_limit(client, namespace, items):
    answer = await client.post(inside(namespace, "/experiences/batch"), json={"items": items})

    assert problem(answer) == (422, "rejected", "items")
    assert answer.json()["limit"] in (1, 256)


async def test_a_wrong_shape_in_a_batch_is_named_by_its_place(client, namespace):
    items = [an_experience(), an_experience(weight="heavy")]

    answer = await client.post(inside(namespace, "/experiences/batch"), json={"items": items})

    assert problem(answer) == (422, "rejected", "items.1.weight")
    assert (await client.get(inside(namespace, "/experiences"))).json()["total"] == 0


async def test_the_bank_is_browsed_page_by_page_without_loss_or_repeat(client, namespace):
    made = {await remembered(client, namespace, lesson=f"rain lesson {n}") for n in range(5)}
    path, seen, query = inside(namespace, "/experiences"), [], {"limit": 2}
    for _ in range(3):
        page = (await client.get(path, params=query)).json()
        assert page["total"] == 5
        seen += [item["id"] for item in page["items"]]
        query["cursor"] = page["next_cursor"]

    assert page["next_cursor"] is None
    assert (len(seen), set(seen)) == (5, made)


async def test_the_bank_is_browsed_by_filter(client, namespace):
    rain = await remembered(
        client, namespace, lesson="rain stays", category="rain", metadata={"n": [1]}
    )
    await remembered(client, namespace, lesson="b", category="snow", agent="other")
    path = inside(namespace, "/experiences")

    for query in (
        {"category": "rain"},
        {"agent": "solver"},
        {"metadata": '{"n": [1]}'},
        {"status": "active", "category": "rain"},
    ):
        found = (await client.get(path, params=query)).json()
        assert [item["id"] for item in found["items"]] == [rain], query
    assert (await client.get(path, params={"status": "retired"})).json()["total"] == 0


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"status": "fine"}, "status"),
        ({"metadata": "[]"}, "metadata"),
        ({"metadata": "{"}, "metadata"),
        ({"cursor": "made-up"}, "cursor"),
        ({"colour": "red"}, "colour"),
        ({"agent": "\x00"}, "agent"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_refused(client, namespace, query, field):
    answer = await client.get(inside(namespace, "/experiences"), params=query)

    assert problem(answer)[::2] == (422, field)


async def test_a_new_wording_makes_a_new_version_and_the_old_one_is_kept(client, namespace):
    path = inside(namespace, f"/experiences/{await remembered(client, namespace)}")

    edited = await client.patch(path, json={"lesson": "Better"}, headers={"If-Match": '"1"'})
    late = await client.patch(path, json={"lesson": "Best"}, headers={"If-Match": '"1"'})

    assert (edited.status_code, edited.headers["etag"]) == (200, '"2"')
    assert problem(late)[:2] == (412, "stale_edit")
    versions = (await client.get(f"{path}/versions")).json()["items"]
    assert [version["version"] for version in versions] == [1, 2]
    assert versions[1]["lesson"] == "Better"


async def test_an_edit_needs_something_to_change(client, namespace):
    path = inside(namespace, f"/experiences/{await remembered(client, namespace)}")

    for body in ({}, {"lesson": None}):
        answer = await client.patch(path, json=body, headers={"If-Match": '"1"'})
        assert problem(answer) == (422, "rejected", "body")


async def test_a_memory_is_taken_out_of_use_and_back(client, namespace):
    path = inside(namespace, f"/experiences/{await remembered(client, namespace)}")

    suspended = await client.post(f"{path}/suspend", json={"reason": "under doubt"})
    restored = await client.post(f"{path}/restore")
    retired = await client.post(f"{path}/retire", json={})

    assert (suspended.json()["status"], suspended.json()["status_reason"]) == (
        "suspended",
        "under doubt",
    )
    assert restored.json()["status"] == "active"
    assert retired.json()["status"] == "retired"


async def test_two_that_say_the_same_are_merged_by_hand_and_taken_apart_again(client, namespace):
    stays = await remembered(client, namespace, lesson="begin with the base rate")
    goes = await remembered(client, namespace, lesson="Begin with the base rate!")
    path = inside(namespace, "/experiences")
    body = {"into": stays, "reason": "one advice"}

    merged = await client.post(f"{path}/{goes}/merge", json=body)
    survivor = await client.get(f"{path}/{stays}")
    again = await client.post(f"{path}/{goes}/merge", json=body)
    restored = await client.post(f"{path}/{goes}/restore")
    job = await client.post(inside(namespace, "/jobs/merge/runs"), json={})

    assert (merged.status_code, merged.json()["id"]) == (200, goes)
    assert (merged.json()["status"], merged.json()["status_reason"]) == ("retired", "merged")
    assert survivor.json()["evidence"] == 2
    assert problem(again) == (409, "status_conflict", "id")
    assert restored.json()["status"] == "active"
    assert job.json()["result"]["changes"] == []
    assert (await client.get(path, params={"status": "active"})).json()["total"] == 2
    [entry] = [
        one
        for one in (await client.get(inside(namespace, "/audit"))).json()["items"]
        if one["action"] == "memory.merge"
    ]
    assert entry["detail"] == body


async def test_a_memory_is_tried_apart_while_that_is_asked_for(client, agent_client, namespace):
    coins = {"settings": {"coins": True}}
    etag = (await client.get(f"/v1/namespaces/{namespace}")).headers["etag"]
    changed = await client.patch(
        f"/v1/namespaces/{namespace}", json=coins, headers={"if-match": etag}
    )
    assert changed.status_code == 200, changed.text
    memory_id = await remembered(client, namespace)
    path = inside(namespace, f"/experiences/{memory_id}/apart")
    agent = await agent_client("agent")

    none = await client.get(path)
    refused = await agent.post(path)
    asked = await client.post(path)
    again = await client.post(path)
    seen = await agent.get(path)
    stopped = await client.delete(path)
    over = await client.delete(path)

    assert none.json() == {"trial": None}
    assert refused.status_code == 403
    assert (asked.status_code, asked.json()["outcomes_left"]) == (200, 12)
    assert asked.json()["until"] > asked.json()["asked_at"]
    assert problem(again) == problem(over) == (409, "status_conflict", "memory_id")
    assert seen.json() == {"trial": asked.json()}
    assert stopped.status_code == 204
    assert (await client.get(path)).json() == {"trial": None}


async def test_a_merge_is_served_as_one_and_counted(client, namespace):
    stays = await remembered(client, namespace, lesson="begin with the base rate")
    goes = await remembered(client, namespace, lesson="start from the base rate")
    await client.post(inside(namespace, f"/experiences/{goes}/merge"), json={"into": stays})

    answer = await client.post(
        inside(namespace, "/retrievals"),
        json={"agent": "bot", "task": {"text": an_experience()["situation"]}, "arm": "on"},
    )

    assert list(answer.json()["guideline"]["citations"].values()) == [stays]


async def test_what_may_not_be_one_is_not_merged(client, namespace):
    one = await remembered(client, namespace)
    path = inside(namespace, f"/experiences/{one}/merge")
    rule = await client.post(
        inside(namespace, "/meta-guidelines"),
        json={"agent": "solver", "failure_reason": "too hasty", "instruction": "read it twice"},
    )
    rested = await remembered(client, namespace, lesson="rests")
    await client.post(inside(namespace, f"/experiences/{rested}/suspend"))
    vouched = await remembered(client, namespace, lesson="vouched for")
    await client.post(inside(namespace, f"/memories/{vouched}/trust"), json={"trust": "trusted"})
    pinned = await remembered(client, namespace, lesson="pinned", pinned=True)

    answers = [
        await client.post(path, json={"into": other})
        for other in (one, rule.json()["id"], rested, vouched, str(uuid4()))
    ]
    stays = await client.post(inside(namespace, f"/experiences/{pinned}/merge"), json={"into": one})

    assert [problem(answer) for answer in answers] == [
        (422, "rejected", "into"),
        (409, "merge_conflict", "into"),
        (409, "status_conflict", "into"),
        (409, "merge_conflict", "into"),
        (404, "memory_not_found", "into"),
    ]
    assert problem(stays) == (409, "merge_conflict", "id")
    kept = await client.get(inside(namespace, "/experiences"), params={"status": "active"})
    assert kept.json()["total"] == 3


async def test_erased_text_is_gone_and_counted(client, namespace):
    path = inside(namespace, f"/experiences/{await remembered(client, namespace)}")

    answer = await client.delete(path)

    assert answer.status_code == 200
    assert answer.json()["erased"]["memories"] == 1
    assert an_experience()["lesson"] not in (await client.get(path)).text


@pytest.mark.parametrize(
    "body", [{}, {"agent": "a", "task_id": str(uuid4())}, {"agent": None}, {"colour": "red"}]
)
async def test_an_erasure_names_exactly_one_thing(client, namespace, body):
    answer = await client.post(inside(namespace, "/erasures"), json=body)

    assert problem(answer)[0] == 422


async def test_an_agents_texts_are_erased_together(client, namespace):
    for lesson in ("one", "two"):
        await remembered(client, namespace, lesson=lesson)

    answer = await client.post(inside(namespace, "/erasures"), json={"agent": "solver"})

    assert answer.json()["erased"]["memories"] == 2


async def test_only_in_replay_do_callers_say_when_it_was_learned(client, namespace, replay):
    for slug, body, status in (
        (namespace, an_experience(learned_at=NOON), 422),
        (replay, an_experience(), 422),
        (replay, an_experience(learned_at=LATER), 201),
    ):
        answer = await client.post(inside(slug, "/experiences"), json=body)
        assert answer.status_code == status, answer.text


async def test_a_memory_that_is_not_there_is_not_found(client, namespace):
    path = inside(namespace, f"/experiences/{uuid4()}")

    for answer in (
        await client.get(path),
        await client.delete(path),
        await client.get(f"{path}/versions"),
        await client.get(f"{path}/weight"),
        await client.get(f"{path}/weight/events"),
        await client.post(f"{path}/retire"),
        await client.patch(path, json={"pinned": True}, headers={"If-Match": '"1"'}),
    ):
        assert answer.status_code == 404, answer.request.url
    assert (await client.get(inside(namespace, "/experiences/7"))).status_code == 422
