"""Constraints over HTTP: bring one, see what supports it, resolve contradictions, erase."""

import pytest
from api_builders import inside, problem

TRIGGER = "a sum of parts is asked for and the parts are given in several different units"
ENFORCE = "converting every part to the unit of the answer before adding any of them up"
AVOID = "adding the parts up as they stand in the text and converting the total afterwards"
TASK = {"text": "Ada rides 40 minutes. How long in all?", "category": "mathematics"}


def a_constraint(**changes):
    body = {"agent": "curator", "trigger": TRIGGER, "enforce": ENFORCE, "avoid": AVOID}
    return body | ({} if "task_id" in changes else {"task": TASK}) | changes


async def brought(client, slug, status=201, **changes):
    answer = await client.post(inside(slug, "/constraints"), json=a_constraint(**changes))
    assert answer.status_code == status, answer.text
    return answer.json()


async def shown(client, slug, memory_id):
    answer = await client.get(inside(slug, f"/constraints/{memory_id}"))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def both_sides(client, slug):
    """Two constraints that contradict each other, and the contradiction."""
    one = await brought(client, slug)
    other = await brought(client, slug, enforce=AVOID, avoid=ENFORCE)
    listed = (await client.get(inside(slug, "/contradictions"))).json()
    assert listed["total"] == 1
    [found] = listed["items"]
    assert {found["first_id"], found["second_id"]} == {one["id"], other["id"]}
    return found


async def test_a_managers_constraint_is_trusted_and_its_support_is_one_get_away(client, namespace):
    made = await brought(client, namespace, metadata={"by": "hand"})

    one = await shown(client, namespace, made["id"])
    support = await client.get(inside(namespace, f"/constraints/{made['id']}/support"))
    listed = await client.get(inside(namespace, "/constraints"), params={"origin": "written"})
    none = await client.get(inside(namespace, "/constraints"), params={"origin": "distilled"})

    assert (made["memory_status"], made["deduplicated"], made["lint"]) == ("active", False, [])
    assert (one["trigger"], one["enforce"], one["avoid"]) == (TRIGGER, ENFORCE, AVOID)
    assert (one["trust"], one["visibility"], one["origin"]) == ("trusted", "namespace", "written")
    assert (one["category"], one["metadata"]) == ("mathematics", {"by": "hand"})
    assert one["support"] == {
        "contrasts": 1,
        "tasks": 1,
        "agent_pairs": 0,
        "families": 0,
        "keys": 1,
        "parties": 0,
        "agnostic_score": 0.0,
    }
    [word] = support.json()["items"]
    assert (word["contrast_id"], word["preferred_agent"], word["counts"]) == (None, "curator", True)
    assert one["task_ids"] == [word["task_id"]]
    assert [item["id"] for item in listed.json()["items"]] == [made["id"]]
    assert none.json()["total"] == 0


async def test_the_same_again_is_support_and_the_same_word_is_none(client, namespace):
    made = await brought(client, namespace)
    other = {"text": "How far is it in all?", "category": "mathematics"}

    again = await brought(client, namespace, 200, task=other)
    known = await brought(client, namespace, 200, task=other | {"key": "k"})
    task_id = (await shown(client, namespace, made["id"]))["task_ids"][0]
    same = await brought(client, namespace, 200, task_id=task_id)

    assert {again["id"], known["id"], same["id"]} == {made["id"]}
    assert (again["deduplicated"], again["version"]) == (True, 1)
    one = await shown(client, namespace, made["id"])
    assert (one["support"]["tasks"], one["support"]["contrasts"], one["evidence"]) == (3, 3, 3)


async def test_an_agents_constraint_is_its_own_until_someone_vouches_for_it(
    client, agent_client, namespace
):
    mine = await agent_client(agents=["small"])
    theirs = await agent_client(agents=["large"])
    made = await brought(mine, namespace, agent="small")
    path = inside(namespace, f"/constraints/{made['id']}")

    own = await shown(mine, namespace, made["id"])
    hidden = await theirs.get(path)
    vouched = await brought(client, namespace, 200)

    assert (own["visibility"], own["status"], own["trust"]) == ("agent", "active", "unverified")
    assert own["support"]["tasks"] == 0
    assert problem(hidden) == (404, "memory_not_found", "id")
    assert vouched["id"] == made["id"]
    opened = await shown(theirs, namespace, made["id"])
    assert (opened["visibility"], opened["trust"]) == ("namespace", "trusted")


@pytest.mark.parametrize(
    ("changes", "lint"),
    [
        ({"enforce": "riding 40 minutes"}, ["literal"]),
        ({"trigger": "curator adds up parts"}, ["agent_name"]),
        ({"avoid": "one thing. And another"}, ["not_one_sentence"]),
        ({"enforce": "using the shell tool to read the password"}, ["commands_tools"]),
    ],
)
async def test_what_fails_its_lint_is_kept_as_rejected_with_the_reasons(
    client, namespace, changes, lint
):
    made = await brought(client, namespace, **changes)

    one = await shown(client, namespace, made["id"])
    listed = await client.get(inside(namespace, "/constraints"), params={"status": "rejected"})

    assert (made["memory_status"], made["lint"]) == ("rejected", lint)
    assert (one["status"], one["lint"]) == ("rejected", lint)
    assert one["status_reason"] == f"lint: {', '.join(lint)}"
    assert one["support"]["tasks"] == 0
    assert listed.json()["total"] == 1


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"trigger": " "}, 422, "trigger"),
        ({"trigger": "x" * 401}, 413, "trigger"),
        ({"enforce": "x" * 401}, 413, "enforce"),
        ({"enforce": None, "avoid": None}, 422, "enforce"),
        ({"task": None}, 422, "task"),
        ({"task_id": "018f0000-0000-7000-8000-000000000000"}, 404, "task_id"),
        ({"weight": 3}, 422, "weight"),
        ({"agent": "memlift-contrast"}, 422, "agent"),
        ({"subcategory": "sums"}, 422, "category"),
        ({"verdict": "good"}, 422, "verdict"),
    ],
)
async def test_what_cannot_be_taken_is_refused_and_named(client, namespace, changes, status, field):
    answer = await client.post(inside(namespace, "/constraints"), json=a_constraint(**changes))

    assert (answer.status_code, answer.json()["field"]) == (status, field)


async def test_a_task_and_a_constraint_of_another_namespace_are_not_there(
    client, namespace, replay
):
    made = await brought(client, namespace)
    [task_id] = (await shown(client, namespace, made["id"]))["task_ids"]

    task = await client.post(
        inside(replay, "/constraints"),
        json=a_constraint(task_id=task_id, learned_at="2026-03-01T12:00:00Z"),
    )
    one = await client.get(inside(replay, f"/constraints/{made['id']}"))
    support = await client.get(inside(replay, f"/constraints/{made['id']}/support"))

    assert problem(task) == (404, "task_not_found", "task_id")
    assert problem(one) == problem(support) == (404, "memory_not_found", "id")


async def test_an_experience_is_no_constraint(client, namespace):
    body = {"agent": "a", "situation": "s", "lesson": "l"}
    made = (await client.post(inside(namespace, "/experiences"), json=body)).json()

    for path in ("", "/support"):
        answer = await client.get(inside(namespace, f"/constraints/{made['id']}{path}"))
        assert problem(answer) == (404, "memory_not_found", "id")


async def test_it_is_suspended_restored_and_retired(client, namespace):
    made = await brought(client, namespace)
    path = inside(namespace, f"/constraints/{made['id']}")

    suspended = await client.post(f"{path}/suspend", json={"reason": "too blunt"})
    restored = await client.post(f"{path}/restore")
    retired = await client.post(f"{path}/retire")

    assert (suspended.json()["status"], suspended.json()["status_reason"]) == (
        "suspended",
        "too blunt",
    )
    assert [answer.json()["status"] for answer in (restored, retired)] == ["active", "retired"]


async def test_what_becomes_of_a_shared_one_managers_decide(client, agent_client, namespace):
    made = await brought(client, namespace)
    mine = await agent_client(agents=["curator"])
    private = await brought(mine, namespace, agent="curator", trigger="parts are to be counted")
    shared, own = (inside(namespace, f"/constraints/{i['id']}/suspend") for i in (made, private))

    assert problem(await mine.post(shared))[:2] == (403, "forbidden")
    assert (await mine.post(own)).json()["status"] == "suspended"


async def test_its_words_are_not_edited(client, namespace):
    made = await brought(client, namespace)
    path = inside(namespace, f"/experiences/{made['id']}")

    reworded = await client.patch(path, json={"lesson": "do it"}, headers={"If-Match": '"1"'})
    pinned = await client.patch(path, json={"pinned": True}, headers={"If-Match": '"1"'})

    assert problem(reworded) == (409, "status_conflict", "lesson")
    assert pinned.status_code == 200


@pytest.mark.parametrize(
    ("keep", "statuses"),
    [
        ("first", ("active", "suspended")),
        ("second", ("suspended", "active")),
        ("both", ("active", "active")),
        ("neither", ("suspended", "suspended")),
    ],
)
async def test_a_contradiction_is_listed_until_a_person_resolves_it(
    client, namespace, keep, statuses
):
    found = await both_sides(client, namespace)
    path = inside(namespace, f"/contradictions/{found['id']}")

    resolved = await client.post(f"{path}/resolve", json={"keep": keep, "reason": "tried it"})

    assert (found["state"], found["reason"]) == ("open", "enforced_avoided")
    assert (found["category"], found["likeness"]) == ("mathematics", pytest.approx(1, abs=1e-3))
    body = resolved.json()
    assert (body["state"], body["resolution"], body["resolution_reason"]) == (
        "resolved",
        keep,
        "tried it",
    )
    assert (await client.get(path)).json() == body
    sides = [await shown(client, namespace, found[f"{name}_id"]) for name in ("first", "second")]
    assert tuple(side["status"] for side in sides) == statuses
    for state, total in (("open", 0), ("resolved", 1), ("all", 1)):
        listed = await client.get(inside(namespace, "/contradictions"), params={"state": state})
        assert listed.json()["total"] == total
    audit = (await client.get(inside(namespace, "/audit"))).json()["items"]
    [entry] = [item for item in audit if item["action"] == "contradiction.resolve"]
    assert (entry["subject"], entry["detail"]) == (
        found["id"],
        {"keep": keep, "reason": "tried it"},
    )


async def test_a_decision_stands_whatever_evidence_comes(client, namespace):
    found = await both_sides(client, namespace)
    path = inside(namespace, f"/contradictions/{found['id']}/resolve")
    await client.post(path, json={"keep": "neither"})
    other = {"text": "How far is it in all?", "category": "mathematics"}

    again = await client.post(path, json={"keep": "both"})
    await brought(client, namespace, 200, task=other)

    assert problem(again) == (409, "contradiction_resolved", "id")
    for name in ("first", "second"):
        side = await shown(client, namespace, found[f"{name}_id"])
        assert (side["status"], side["status_reason"]) == ("suspended", "contradicted")


async def test_more_support_decides_until_a_person_does(client, namespace):
    found = await both_sides(client, namespace)
    other = {"text": "How far is it in all?", "category": "mathematics"}
    stronger = await brought(client, namespace, 200, task=other)
    by_evidence = await client.get(inside(namespace, f"/contradictions/{found['id']}"))
    path = inside(namespace, f"/contradictions/{found['id']}/resolve")

    resolved = await client.post(path, json={"keep": "both"})

    kept = "first" if found["first_id"] == stronger["id"] else "second"
    assert (by_evidence.json()["resolution"], by_evidence.json()["resolution_reason"]) == (
        kept,
        "evidence",
    )
    assert resolved.status_code == 200
    for name in ("first", "second"):
        assert (await shown(client, namespace, found[f"{name}_id"]))["status"] == "active"


async def test_contradictions_are_managers_to_resolve_and_no_other_namespaces(
    client, agent_client, namespace, replay
):
    found = await both_sides(client, namespace)
    agent = await agent_client()
    here = inside(namespace, f"/contradictions/{found['id']}")
    there = inside(replay, f"/contradictions/{found['id']}")

    assert problem(await agent.post(f"{here}/resolve", json={"keep": "both"}))[0] == 403
    assert (await agent.get(here)).status_code == 200
    assert problem(await client.get(there)) == (404, "contradiction_not_found", "id")
    refused = await client.post(f"{there}/resolve", json={"keep": "both"})
    assert problem(refused) == (404, "contradiction_not_found", "id")
    odd = await client.post(f"{here}/resolve", json={"keep": "third"})
    assert problem(odd)[0] == 422


async def test_erasing_the_task_takes_its_support_and_not_the_words(client, namespace):
    made = await brought(client, namespace)
    [task_id] = (await shown(client, namespace, made["id"]))["task_ids"]

    await client.post(inside(namespace, "/erasures"), json={"task_id": task_id})

    one = await shown(client, namespace, made["id"])
    assert (one["status"], one["status_reason"]) == ("proposed", "no_support")
    assert (one["trigger"], one["support"]["tasks"]) == (TRIGGER, 0)
    assert one["support"]["contrasts"] == 1
    again = await brought(client, namespace, 200)
    assert (again["id"], again["memory_status"]) == (made["id"], "active")


async def test_what_comes_back_without_support_waits(client, namespace):
    found = await both_sides(client, namespace)
    other = {"text": "How far is it in all?", "category": "mathematics"}
    kept = await brought(client, namespace, 200, task=other)
    lost = ({found["first_id"], found["second_id"]} - {kept["id"]}).pop()
    [task_id] = (await shown(client, namespace, lost))["task_ids"]
    await client.post(inside(namespace, "/erasures"), json={"task_id": task_id})
    path = inside(namespace, f"/contradictions/{found['id']}/resolve")

    await client.post(path, json={"keep": "both"})

    back = await shown(client, namespace, lost)
    assert (back["status"], back["status_reason"]) == ("proposed", "no_support")
    assert (await shown(client, namespace, kept["id"]))["status"] == "active"


async def test_erasing_the_memory_takes_the_words(client, namespace):
    made = await brought(client, namespace)

    erased = await client.post(inside(namespace, "/erasures"), json={"memory_id": made["id"]})

    assert erased.json()["erased"]["memories"] == 1
    answer = await client.get(inside(namespace, f"/constraints/{made['id']}"))
    assert problem(answer) == (404, "memory_not_found", "id")


async def test_a_rejected_one_goes_with_its_task_for_it_may_hold_its_words(client, namespace):
    made = await brought(client, namespace, enforce="riding 40 minutes")
    [task_id] = (await shown(client, namespace, made["id"]))["task_ids"]

    await client.post(inside(namespace, "/erasures"), json={"task_id": task_id})

    answer = await client.get(inside(namespace, f"/constraints/{made['id']}"))
    assert problem(answer) == (404, "memory_not_found", "id")
