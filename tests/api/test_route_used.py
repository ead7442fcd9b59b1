"""What was used, and what a verdict says, over HTTP."""

import pytest
from api_builders import an_outcome, inside, remembered, retrieved

SITUATION = "a customer asks to cancel an order"


async def reported(client, slug, receipt, **said):
    path = inside(slug, f"/retrievals/{receipt['retrieval_id']}/outcome")
    answer = await client.post(path, json=an_outcome(**said))
    assert answer.status_code == 202, answer.text
    return answer.json()


async def applied(client, slug, outcome_id):
    await client.post(inside(slug, "/outcomes/apply"), json={})
    answer = await client.get(inside(slug, f"/outcomes/{outcome_id}"))
    return answer.json()


async def weight_of(client, slug, memory_id):
    answer = await client.get(inside(slug, f"/experiences/{memory_id}"))
    return answer.json()["effective_weight"]


@pytest.mark.parametrize(
    "rewards", [[1, 1, 1, 1, 1, 1, 1, 1], [0.9, 0.1] * 4], ids=["equal", "not"]
)
async def test_eight_verdicts_put_a_stale_memory_below_its_replacement_and_below_one(
    client, agent_client, namespace, rewards
):
    stale = await remembered(client, namespace, situation=SITUATION, lesson="write to the old desk")
    new = await remembered(client, namespace, situation=SITUATION, lesson="use the new form")
    judge = await agent_client("evaluator")

    for reward in rewards:
        receipt = await retrieved(client, namespace, task={"text": SITUATION}, arm="on")
        assert {one["memory_id"] for one in receipt["memories"]} == {stale, new}
        await reported(judge, namespace, receipt, reward=reward, harmful=[stale], helpful=[new])
    await client.post(inside(namespace, "/outcomes/apply"), json={})

    old, better = [await weight_of(client, namespace, one) for one in (stale, new)]
    assert old < 1.0 < better


async def test_an_outcome_shows_what_was_used_and_how_far_each_could_have_acted(client, namespace):
    one = await remembered(client, namespace, situation=SITUATION, lesson="write to the old desk")
    other = await remembered(client, namespace, situation=SITUATION, lesson="use the new form")
    receipt = await retrieved(client, namespace, task={"text": SITUATION}, arm="on")

    taken = await reported(client, namespace, receipt, reward=1, used=[one])
    found = await applied(client, namespace, taken["outcome_id"])

    assert taken["warnings"] == []
    assert found["used"] == [one]
    exposure = {each["memory_id"]: each["exposure"] for each in found["exposure"]}
    assert exposure == {one: 1.0, other: 0.0}
    assert await weight_of(client, namespace, other) == 1.0


async def test_a_name_that_is_no_served_memorys_is_refused_and_a_list_too_long_as_well(
    client, namespace
):
    await remembered(client, namespace, situation=SITUATION)
    receipt = await retrieved(client, namespace, task={"text": SITUATION}, arm="on")
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")
    stranger = "01900000-0000-7000-8000-000000000001"

    unknown = await client.post(path, json=an_outcome(used=[stranger]))
    long = await client.post(path, json=an_outcome(used=[stranger] * 65))

    assert (unknown.status_code, long.status_code) == (422, 422)
    assert unknown.json()["field"] == "used"
    assert stranger in unknown.json()["detail"]
    assert long.json()["errors"][0]["field"] == "used"
    assert "64" in long.text


async def test_who_judges_a_run_leaves_what_its_agent_named(client, agent_client, namespace):
    one = await remembered(client, namespace, situation=SITUATION, lesson="write to the old desk")
    await remembered(client, namespace, situation=SITUATION, lesson="use the new form")
    agent, judge = await agent_client(), await agent_client("evaluator")
    receipt = await retrieved(agent, namespace, task={"text": SITUATION}, arm="on")

    await reported(agent, namespace, receipt, reward=1, used=[one])
    judged = await reported(judge, namespace, receipt, reward=0, verifier="test")

    found = await applied(client, namespace, judged["outcome_id"])
    assert (found["status"], found["reward"], found["used"]) == ("applied", 0.0, [one])


async def test_the_order_and_the_repeats_of_what_was_used_say_nothing(client, namespace):
    both = [
        await remembered(client, namespace, situation=SITUATION, lesson=lesson)
        for lesson in ("write to the old desk", "use the new form")
    ]
    receipt = await retrieved(client, namespace, task={"text": SITUATION}, arm="on")
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")
    first = await client.post(path, json=an_outcome(used=both))

    again = await client.post(path, json=an_outcome(used=[*reversed(both), both[0]]))

    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["outcome_id"] == first.json()["outcome_id"]


async def test_a_run_told_of_a_private_memory_keeps_its_words_for_who_may_read_it(
    client, agent_client, namespace
):
    alice, mallory = [await agent_client("agent", [name]) for name in ("alice", "mallory")]
    secret = "the phrase of the vault is obsidianfern"
    await remembered(
        alice, namespace, agent="alice", situation=SITUATION, lesson=secret, visibility="agent"
    )
    receipt = await retrieved(alice, namespace, agent="alice", task={"text": SITUATION}, arm="on")
    run = {"steps": [{"role": "assistant", "text": secret}], "rationale": secret, "result": secret}
    told = await reported(alice, namespace, receipt, reward=0, run=run)
    path = inside(namespace, f"/trajectories/{told['run_id']}")

    own = (await alice.get(path)).json()
    others = [(await key.get(path)).json() for key in (mallory, await agent_client(), client)]

    assert own["steps"][0]["text"] == secret
    for seen in others:
        assert (seen["id"], seen["result"]) == (told["run_id"], "(a private memory)")
        assert "obsidianfern" not in str(seen)


async def test_the_id_of_a_private_memory_that_is_spoken_against_is_hidden(
    client, agent_client, namespace
):
    alice = await agent_client("agent", ["alice"])
    lesson = "write to the old desk before the parcel has left the building"
    private = await remembered(
        alice, namespace, agent="alice", situation=SITUATION, lesson=lesson, visibility="agent"
    )
    await retrieved(alice, namespace, agent="alice", task={"text": SITUATION}, arm="on")
    shared = await remembered(
        alice, namespace, agent="alice", situation=SITUATION, lesson=f"Never {lesson}"
    )

    own, seen = [
        (await key.get(inside(namespace, f"/memories/{shared}"))).json()["contradicts"]
        for key in (alice, await agent_client())
    ]

    assert (own, seen) == ([private], ["00000000-0000-0000-0000-000000000000"])
