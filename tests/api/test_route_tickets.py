"""Verification over HTTP: candidates wait, are claimed, tried, and enter or do not."""

import pytest
from api_builders import (
    LATER,
    NOON,
    a_task,
    an_experience,
    an_outcome,
    inside,
    problem,
    remembered,
    retrieved,
)


async def a_candidate(client, slug, **changes):
    """The id of a memory that is to be verified before it is used."""
    body = an_experience(**({"verify": True, "task": a_task(key="t")} | changes))
    answer = await client.post(inside(slug, "/experiences"), json=body)
    assert (answer.status_code, answer.json()["memory_status"]) == (201, "proposed"), answer.text
    return answer.json()["id"]


async def claimed(client, slug, **changes):
    body = {"agent": "tester"} | changes
    answer = await client.post(inside(slug, "/tickets/claims"), json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def results(ticket, reward, without=0.2):
    return [
        {"slot": trial["slot"], "reward": reward, "without": {"reward": without}}
        for trial in ticket["trials"]
    ]


async def tried(client, slug, ticket, reward=0.9, **changes):
    body = {"agent": "tester", "trials": results(ticket, reward)} | changes
    return await client.post(inside(slug, f"/tickets/{ticket['id']}/trials"), json=body)


async def test_a_candidate_is_claimed_tried_and_admitted(client, namespace):
    memory_id = await a_candidate(client, namespace)
    [ticket] = await claimed(client, namespace, limit=3)
    during = (await client.get(inside(namespace, f"/experiences/{memory_id}"))).json()

    answer = await tried(client, namespace, ticket)
    again = await tried(client, namespace, ticket)

    assert during["status"] == "verifying"
    assert (ticket["state"], ticket["leased_to"], ticket["claims"]) == ("leased", "tester", 1)
    assert ticket["trials"][0]["task"] == a_task()["text"]
    assert an_experience()["lesson"] in ticket["guideline"]
    assert (answer.status_code, again.status_code) == (201, 200)
    assert answer.json() == again.json()
    assert (answer.json()["decision"], answer.json()["evidence"]) == ("admitted", "same_task")
    memory = (await client.get(inside(namespace, f"/experiences/{memory_id}"))).json()
    assert (memory["status"], memory["trust"]) == ("active", "unverified")


async def test_tickets_are_listed_read_and_filtered(client, namespace):
    memory_id = await a_candidate(client, namespace)
    await a_candidate(client, namespace, lesson="another")
    [ticket] = await claimed(client, namespace)
    path = inside(namespace, "/tickets")

    for query, total in (({}, 2), ({"state": "open"}, 1), ({"memory_id": memory_id}, 1)):
        assert (await client.get(path, params=query)).json()["total"] == total, query
    page = (await client.get(path, params={"limit": 1})).json()
    rest = (await client.get(path, params={"limit": 1, "cursor": page["next_cursor"]})).json()
    assert page["items"][0]["id"] != rest["items"][0]["id"]
    assert (await client.get(f"{path}/{ticket['id']}")).json() == ticket
    assert problem(await client.get(path, params={"state": "new"}))[::2] == (422, "state")


async def test_a_claim_is_answered_empty_where_nothing_waits(client, namespace):
    await a_candidate(client, namespace)
    assert await claimed(client, namespace, category="cooking") == []
    once = {"Idempotency-Key": "claim-1"}
    path, body = inside(namespace, "/tickets/claims"), {"agent": "tester", "category": "weather"}

    first = await client.post(path, json=body, headers=once)
    again = await client.post(path, json=body, headers=once)

    assert len(first.json()["items"]) == 1
    assert again.json() == first.json()
    assert await claimed(client, namespace) == []


async def test_another_key_cannot_report_and_can_claim_what_was_released(
    client, agent_client, namespace
):
    await a_candidate(client, namespace)
    first, second = await agent_client(), await agent_client()
    [ticket] = await claimed(first, namespace)

    assert problem(await tried(second, namespace, ticket))[:2] == (403, "forbidden")
    path = inside(namespace, f"/tickets/{ticket['id']}")
    assert problem(await second.post(f"{path}/release"))[0] == 403
    assert problem(await second.post(f"{path}/cancel"))[0] == 403
    assert (await first.post(f"{path}/release")).json()["state"] == "open"
    assert problem(await tried(first, namespace, ticket))[:2] == (409, "lease_lapsed")
    [taken] = await claimed(second, namespace)
    done = await tried(second, namespace, taken)
    assert done.json()["decision"] == "admitted"
    assert not any(trial["self_verified"] for trial in done.json()["trials"])
    assert problem(await tried(second, namespace, taken, 0.5))[:2] == (409, "trial_conflict")
    assert problem(await client.post(f"{path}/cancel"))[:2] == (409, "ticket_closed")
    assert problem(await client.post(f"{path}/retry"))[:2] == (409, "ticket_closed")


async def test_a_manager_lets_a_candidate_in_with_a_reason(client, agent_client, namespace):
    memory_id = await a_candidate(client, namespace)
    other = await agent_client()
    [ticket] = await claimed(other, namespace)
    path = inside(namespace, f"/tickets/{ticket['id']}")

    assert problem(await other.post(f"{path}/approve"))[0] == 403
    decided = await client.post(f"{path}/approve", json={"reason": "seen to work"})

    assert decided.json()["reason"] == "approved: seen to work"
    memory = await client.get(inside(namespace, f"/experiences/{memory_id}"))
    assert memory.json()["status"] == "active"
    assert problem(await client.post(f"{path}/approve"))[:2] == (409, "ticket_closed")


async def test_a_cancelled_candidate_is_refined_and_waits_again(client, namespace):
    memory_id = await a_candidate(client, namespace)
    [ticket] = await claimed(client, namespace)
    await client.post(inside(namespace, f"/tickets/{ticket['id']}/cancel"))
    path = inside(namespace, f"/experiences/{memory_id}")
    assert (await client.get(path)).json()["status"] == "rejected"

    once = {"If-Match": '"1"'}
    refined = await client.post(f"{path}/refine", json={"lesson": "Better"}, headers=once)
    late = await client.post(f"{path}/refine", json={"lesson": "Best"}, headers=once)
    same = await client.post(
        f"{path}/refine", json={"lesson": "Better"}, headers={"If-Match": '"2"'}
    )

    assert (refined.json()["status"], refined.headers["etag"]) == ("proposed", '"2"')
    assert problem(late)[:2] == (412, "stale_edit")
    assert problem(same)[:2] == (409, "memory_exists")
    assert problem(await client.post(f"{path}/refine", json={"lesson": "x"}))[0] == 428
    assert "Better" in (await claimed(client, namespace))[0]["guideline"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"agent": ""}, "agent"),
        ({"agent": "a", "limit": 0}, "limit"),
        ({"agent": "a", "limit": 65}, "limit"),
        ({"agent": "a", "limit": 1.5}, "limit"),
        ({"agent": "a", "category": " "}, "category"),
        ({"agent": "a", "colour": "red"}, "colour"),
        ({}, "agent"),
    ],
)
async def test_a_claim_that_makes_no_sense_is_refused_by_field(client, namespace, body, field):
    answer = await client.post(inside(namespace, "/tickets/claims"), json=body)

    assert problem(answer)[::2] == (422, field)


ONE = {"slot": 0, "reward": 0.5, "without": {"reward": 0.1}}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"trials": []}, "trials"),
        ({"trials": [ONE] * 33}, "trials"),
        ({"trials": [ONE, ONE]}, "trials"),
        ({"trials": [ONE | {"slot": -1}]}, "trials.0.slot"),
        ({"trials": [ONE | {"slot": 9}]}, "trials.0.slot"),
        ({"trials": [ONE | {"reward": 1.1}]}, "trials.0.reward"),
        ({"trials": [ONE | {"reward": "much"}]}, "trials.0.reward"),
        ({"trials": [ONE | {"reward": None}]}, "trials.0.reward"),
        ({"trials": [ONE | {"without": {}}]}, "trials.0.without"),
        ({"trials": [ONE | {"without": {"reward": 2}}]}, "trials.0.without.reward"),
        ({"trials": [{"slot": 0, "reward": 0.5}]}, "trials.0.without"),
        ({"trials": [ONE | {"value": {"p": [{"a": "x" * 9000}]}}]}, "trials.0.value.p.0.a"),
        ({"metric": "brier"}, "metric"),
        ({"metric": "luck"}, "metric"),
        ({"known_at": NOON}, "known_at"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_report_that_cannot_be_taken_names_its_field_and_decides_nothing(
    client, namespace, changes, field
):
    await a_candidate(client, namespace)
    [ticket] = await claimed(client, namespace)

    answer = await tried(client, namespace, ticket, **changes)

    assert problem(answer)[::2] in ((422, field), (413, field))
    seen = (await client.get(inside(namespace, f"/tickets/{ticket['id']}"))).json()
    assert seen == ticket


async def test_infinite_rewards_are_no_numbers(client, namespace):
    await a_candidate(client, namespace)
    [ticket] = await claimed(client, namespace)
    path = inside(namespace, f"/tickets/{ticket['id']}/trials")
    for number in ("NaN", "Infinity", "1e999"):
        content = f'{{"agent": "tester", "trials": [{{"slot": 0, "reward": {number}}}]}}'
        answer = await client.post(
            path, content=content, headers={"Content-Type": "application/json"}
        )
        assert problem(answer)[0] == 422, number


async def test_a_candidate_needs_a_task_to_be_tried_on(client, namespace):
    body = an_experience(verify=True)

    assert problem(await client.post(inside(namespace, "/experiences"), json=body))[::2] == (
        422,
        "verify",
    )


async def test_the_lesson_of_a_bad_outcome_becomes_a_candidate(client, namespace):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace)
    outcome = an_outcome(reward=0.2, lesson={"lesson": "Ask for the wind"})
    report = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")
    assert (await client.post(report, json=outcome)).status_code == 202
    assert (await client.post(report, json=outcome)).status_code == 200
    await client.post(inside(namespace, "/outcomes/apply"))

    run = await client.post(inside(namespace, "/jobs/acquire/runs"), json={})

    [change] = run.json()["result"]["changes"]
    [one] = (await client.get(inside(namespace, "/candidates"))).json()["items"]
    assert (one["state"], one["outcome_id"]) == ("proposed", change["outcome_id"])
    [ticket] = await claimed(client, namespace)
    assert (ticket["memory_id"], ticket["trials"][0]["reference"]) == (one["memory_id"], 0.2)
    retry = inside(namespace, f"/candidates/{one['outcome_id']}/retry")
    assert problem(await client.post(retry))[:2] == (409, "candidate_not_quarantined")


@pytest.mark.parametrize(
    ("lesson", "field"),
    [
        ({}, "lesson.lesson"),
        ({"lesson": " "}, "lesson.lesson"),
        ({"lesson": "x" * 4001}, "lesson.lesson"),
        ({"lesson": "x", "situation": ""}, "lesson.situation"),
        ({"lesson": "x", "agent": "another"}, "lesson.agent"),
        ("x", "lesson"),
    ],
)
async def test_a_lesson_of_the_wrong_shape_is_refused_by_field(client, namespace, lesson, field):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace)
    report = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")

    answer = await client.post(report, json=an_outcome(lesson=lesson))

    assert problem(answer)[::2] in ((422, field), (413, field))


def a_case(source="human", **changes):
    return an_experience(verification={"source": source}) | changes


async def test_history_is_taken_in_and_trusted_on_a_managers_word_alone(
    client, agent_client, namespace
):
    path = inside(namespace, "/experiences/import")
    cases = [a_case(one, lesson=f"rain by {one}") for one in ("human", "test", "judge", "none")]
    agent = await agent_client(verifies="test")

    by_admin = await client.post(path, json={"items": cases})
    others = [case | {"situation": "Another forecast of rain"} for case in cases]
    by_agent = await agent.post(path, json={"items": others})

    trust = {}
    taken = {"admin": [201] * 4, "agent": [403, 201, 201, 201]}
    for who, answer in (("admin", by_admin), ("agent", by_agent)):
        assert [item["status"] for item in answer.json()["items"]] == taken[who], answer.text
        for item in (one for one in answer.json()["items"] if one["status"] == 201):
            memory = (await client.get(inside(namespace, f"/experiences/{item['id']}"))).json()
            trust[who, memory["lesson"]] = memory["trust"]
            assert (memory["status"], memory["effective_weight"]) == ("active", 1.0)
    assert {key for key, value in trust.items() if value == "trusted"} == {
        ("admin", "rain by human"),
        ("admin", "rain by test"),
    }


async def test_a_hostile_file_loses_only_its_bad_items(client, namespace):
    items = [
        a_case(lesson="good"),
        a_case(lesson=" "),
        a_case(lesson="x" * 5000),
        a_case(lesson="early", learned_at=NOON),
        a_case(metadata={"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}),
        a_case(lesson="good"),
    ]

    answer = await client.post(inside(namespace, "/experiences/import"), json={"items": items})

    statuses = [item["status"] for item in answer.json()["items"]]
    assert statuses == [201, 422, 413, 422, 422, 200]
    assert (await client.get(inside(namespace, "/experiences"))).json()["total"] == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"verification": {"source": "god"}}, "items.0.verification.source"),
        ({"verification": None}, "items.0.verification"),
        ({"weight": 2.0}, "items.0.weight"),
        ({"pinned": True}, "items.0.pinned"),
        ({"trust": "trusted"}, "items.0.trust"),
        ({"status": "active"}, "items.0.status"),
        ({"id": "01900000-0000-7000-8000-000000000000"}, "items.0.id"),
    ],
)
async def test_history_brings_no_weight_no_trust_and_no_id(client, namespace, changes, field):
    body = {"items": [a_case(**changes)]}

    answer = await client.post(inside(namespace, "/experiences/import"), json=body)

    assert problem(answer)[::2] == (422, field)


async def test_more_history_than_fits_is_refused_with_the_limit(client, namespace):
    body = {"items": [a_case(lesson=str(n)) for n in range(257)]}

    answer = await client.post(inside(namespace, "/experiences/import"), json=body)

    assert (problem(answer)[::2], answer.json()["limit"]) == ((422, "items"), 256)


async def test_in_replay_history_says_when_it_was_learned(client, replay):
    path = inside(replay, "/experiences/import")
    items = [a_case(learned_at=LATER), a_case(lesson="undated")]

    answer = await client.post(path, json={"items": items})

    assert [item["status"] for item in answer.json()["items"]] == [201, 422]
    [memory] = (await client.get(inside(replay, "/experiences"))).json()["items"]
    assert memory["learned_at"] == LATER
