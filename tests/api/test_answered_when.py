"""Each report that comes too late, twice, or from the wrong hand has its documented answer."""

import pytest
from api_builders import LATER, NOON, an_experience, an_outcome, inside, problem, remembered


async def asked(client, slug, **changes):
    """A receipt of a retrieval that served the one memory."""
    task = {"text": "A forecast of rain in June", "category": "weather"}
    body = {"agent": "solver", "task": task, "arm": "on"} | changes
    answer = await client.post(inside(slug, "/retrievals"), json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def told(client, slug, receipt, **changes):
    path = inside(slug, f"/retrievals/{receipt['retrieval_id']}/outcome")
    return await client.post(path, json=an_outcome(**changes))


async def settled(client, slug, answer):
    """The outcome after all that waits was applied."""
    applied = await client.post(inside(slug, "/outcomes/apply"), json={})
    assert applied.json()["pending"] == 0
    outcome = await client.get(inside(slug, f"/outcomes/{answer.json()['outcome_id']}"))
    return outcome.json()


async def weight(client, slug, memory_id):
    return (await client.get(inside(slug, f"/experiences/{memory_id}/weight"))).json()["state"]


async def test_a_receipt_of_another_namespace_is_not_found(client, agent_client, namespace, replay):
    await remembered(client, replay, learned_at=NOON)
    receipt = await asked(client, replay, as_of=NOON)
    stranger = await agent_client()

    for reporter, slug in ((client, namespace), (stranger, namespace), (stranger, replay)):
        assert (await told(reporter, slug, receipt)).status_code == 404
    assert (await client.get(inside(replay, "/outcomes"))).json()["total"] == 0


async def test_an_outcome_of_an_expired_receipt_is_kept_and_moves_nothing(client, replay):
    memory_id = await remembered(client, replay, learned_at=NOON)
    receipt = await asked(client, replay, as_of=NOON, expires_in=60.0)
    before = await weight(client, replay, memory_id)

    answer = await told(client, replay, receipt, reward=0.0, known_at=LATER)

    outcome = await settled(client, replay, answer)
    assert (answer.status_code, answer.json()["evidence"]) == (202, "none")
    assert (outcome["status"], outcome["reason"]) == ("ignored", "expired")
    assert (await weight(client, replay, memory_id)) == before


async def test_an_outcome_of_an_erased_memory_is_kept_and_moves_nothing(client, namespace):
    memory_id = await remembered(client, namespace)
    receipt = await asked(client, namespace)
    await client.delete(inside(namespace, f"/experiences/{memory_id}"))

    answer = await told(client, namespace, receipt)

    outcome = await settled(client, namespace, answer)
    assert answer.status_code == 202
    assert (outcome["status"], outcome["reason"]) == ("ignored", "erased")


async def test_an_outcome_of_a_text_that_was_edited_is_kept_and_moves_nothing(client, namespace):
    memory_id = await remembered(client, namespace)
    receipt = await asked(client, namespace)
    path = inside(namespace, f"/experiences/{memory_id}")
    await client.patch(path, json={"lesson": "other words"}, headers={"If-Match": '"1"'})

    answer = await told(client, namespace, receipt)

    outcome = await settled(client, namespace, answer)
    assert (answer.status_code, outcome["reason"]) == (202, "other_version")


async def test_of_a_superseded_outcome_nothing_can_be_corrected_any_more(client, namespace):
    await remembered(client, namespace)
    receipt = await asked(client, namespace)
    first = (await told(client, namespace, receipt)).json()["outcome_id"]
    second = await told(client, namespace, receipt, reward=0.2, supersedes=first)

    again = await told(client, namespace, receipt, reward=0.3, supersedes=first)

    assert second.status_code == 202
    assert problem(again) == (409, "stale", "supersedes")
    assert (await settled(client, namespace, second))["status"] == "applied"


async def test_of_two_evaluators_who_disagree_the_first_counts_and_both_are_listed(
    client, agent_client, namespace
):
    memory_id = await remembered(client, namespace)
    receipt = await asked(client, namespace)
    one, other = await agent_client("evaluator"), await agent_client("evaluator")
    said = {"verifier": "judge"}

    first = await told(one, namespace, receipt, reward=0.9, evaluator="one", **said)
    moved = await settled(client, namespace, first)
    before = await weight(client, namespace, memory_id)
    second = await told(other, namespace, receipt, reward=0.1, evaluator="other", **said)

    assert (second.status_code, second.json()["reason"]) == (202, "disagrees")
    assert (await settled(client, namespace, second))["status"] == "ignored"
    assert moved["status"] == "applied"
    listed = (await client.get(inside(namespace, "/outcomes"))).json()["items"]
    assert [(row["evaluator"], row["reward"]) for row in listed] == [("one", 0.9), ("other", 0.1)]
    after = await weight(client, namespace, memory_id)
    assert after == pytest.approx(before, abs=1e-6)


async def a_ticket(client, slug):
    """A candidate, claimed by `tester` under the caller's key."""
    task = {"text": "Will it rain in June?", "category": "weather"}
    body = an_experience(verify=True, task=task)
    assert (await client.post(inside(slug, "/experiences"), json=body)).status_code == 201
    claim = await client.post(inside(slug, "/tickets/claims"), json={"agent": "tester"})
    [ticket] = claim.json()["items"]
    return ticket


async def tried(client, slug, ticket, **changes):
    trials = [
        {"slot": trial["slot"], "reward": 0.9, "without": {"reward": 0.2}}
        for trial in ticket["trials"]
    ]
    body = {"agent": "tester", "trials": trials} | changes
    return await client.post(inside(slug, f"/tickets/{ticket['id']}/trials"), json=body)


async def test_a_ticket_is_reported_by_its_holder_and_twice_is_once(client, namespace):
    ticket = await a_ticket(client, namespace)

    by_another = await tried(client, namespace, ticket, agent="somebody else")
    first = await tried(client, namespace, ticket)
    again = await tried(client, namespace, ticket)

    assert problem(by_another)[:2] == (403, "forbidden")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
