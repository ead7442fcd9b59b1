"""A retrieval over HTTP is answered with constraints, each with its evidence one GET away."""

import pytest
from api_builders import a_task, an_ask, inside, remembered

TASK = "Ada rides for a while and then walks. How long does it take her in all?"
CONSTRAINT = {
    "agent": "curator",
    "trigger": "a sum of parts is asked for and the parts are given in several units",
    "enforce": "converting every part to the unit of the answer before adding any of them up",
    "avoid": "adding the parts up as they stand in the text",
}
SAID = (
    f"«When {CONSTRAINT['trigger']}, enforce {CONSTRAINT['enforce']}; avoid {CONSTRAINT['avoid']}»"
)


def sums(**changes):
    return a_task(text=TASK, category="mathematics") | changes


async def bring(client, slug, **changes):
    """The id of a constraint that a manager vouches for."""
    body = CONSTRAINT | {"task": sums()} | changes
    answer = await client.post(inside(slug, "/constraints"), json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def asked(client, slug, **changes):
    answer = await client.post(inside(slug, "/retrievals"), json=an_ask(task=sums()) | changes)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_an_agent_is_answered_with_a_constraint_and_finds_its_evidence(
    client, agent_client, namespace
):
    memory_id = await bring(client, namespace)
    solver = await agent_client(agents=["solver"])

    body = await asked(solver, namespace)

    [one] = body["constraints"]
    assert {name: one[name] for name in ("trigger", "enforce", "avoid")} == {
        name: CONSTRAINT[name] for name in ("trigger", "enforce", "avoid")
    }
    assert (one["memory_id"], one["category"], one["origin"]) == (
        memory_id,
        "mathematics",
        "written",
    )
    assert (one["cited"], one["score"]) == (True, one["effective_weight"] * one["relevance"])
    assert one["similarity"] == pytest.approx(1, abs=1e-3)
    assert body["memories"] == []
    assert SAID in body["guideline"]["text"]
    support = await solver.get(inside(namespace, f"/constraints/{memory_id}/support"))
    assert [piece["task_id"] for piece in support.json()["items"]] == one["task_ids"]
    shown = (await solver.get(inside(namespace, f"/constraints/{memory_id}"))).json()
    assert shown["support"] == one["support"]


async def test_the_receipt_names_the_constraint_and_the_outcome_moves_it(client, namespace):
    memory_id = await bring(client, namespace)
    body = await asked(client, namespace, purpose="paired")
    path = inside(namespace, f"/retrievals/{body['retrieval_id']}")

    receipt = (await client.get(path)).json()
    told = (await client.get(f"{path}/explain")).json()
    said = {"reward": 1.0, "without": {"reward": 0.2}, "helpful": [memory_id], "verifier": "test"}
    reported = await client.post(f"{path}/outcome", json=said)
    await client.post(inside(namespace, "/outcomes/apply"))

    assert [(item["kind"], item["served"]) for item in receipt["items"]] == [("constraint", True)]
    assert told["items"][0]["sentence"].startswith("A constraint: ")
    assert reported.json()["evidence"] == "paired"
    [again] = (await asked(client, namespace))["constraints"]
    assert again["effective_weight"] > 1


async def test_all_rankers_have_scores_and_constraints_have_none(client, namespace):
    memory_id = await bring(client, namespace)
    experience = {"situation": TASK, "category": "mathematics"}
    lesson = await remembered(client, namespace, **experience)

    body = await asked(client, namespace, format="memories", all_rankers=True, k=1)

    assert [memory["memory_id"] for memory in body["memories"]] == [lesson]
    assert [one["memory_id"] for one in body["constraints"]] == [memory_id]
    receipt = await client.get(inside(namespace, f"/retrievals/{body['retrieval_id']}"))
    items = {item["kind"]: item for item in receipt.json()["items"]}
    assert items["experience"]["scores"] is not None
    assert (items["constraint"]["scores"], items["constraint"]["propensity"]) == (None, 1)


async def test_what_an_agent_says_of_itself_binds_no_other(client, agent_client, namespace):
    mine = await agent_client(agents=["small"])
    theirs = await agent_client(agents=["large"])
    memory_id = await bring(mine, namespace, agent="small")

    own = await asked(mine, namespace, agent="small")
    other = await asked(theirs, namespace, agent="large")

    assert [one["memory_id"] for one in own["constraints"]] == [memory_id]
    assert (other["constraints"], other["guideline"]["text"]) == ([], "")


async def test_a_namespace_without_constraints_answers_with_an_empty_list(client, namespace):
    await remembered(client, namespace, situation=TASK, category="mathematics")

    body = await asked(client, namespace)

    assert (body["constraints"], len(body["memories"])) == ([], 1)
