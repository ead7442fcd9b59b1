"""What a key may claim: a word counts at most as much as the key that says it."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from api_builders import (
    an_ask,
    an_experience,
    an_outcome,
    everything,
    inside,
    problem,
    remembered,
    retrieved,
)
from sqlalchemy import update

from memory.tenancy.claims import VERIFIERS
from memory.tenancy.tables import api_key


async def a_receipt(client, namespace) -> str:
    """The path to report at."""
    await remembered(client, namespace)
    return reporting_of(namespace, await retrieved(client, namespace))


def reporting_of(namespace, receipt) -> str:
    return inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")


async def outcomes(client, namespace, **query) -> list[dict[str, object]]:
    answer = await client.get(inside(namespace, "/outcomes"), params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def in_effect(client, namespace) -> list[tuple[object, object]]:
    return [
        (one["verifier"], one["reward"])
        for one in await outcomes(client, namespace)
        if one["status"] in ("accepted", "applied")
    ]


@pytest.mark.parametrize("claim", ["judge", "test", "human"])
async def test_an_agents_word_is_its_own_and_no_verifiers(client, agent_client, namespace, claim):
    agent = await agent_client()
    path = await a_receipt(agent, namespace)

    refused = await agent.post(path, json=an_outcome(verifier=claim))

    assert problem(refused) == (403, "claim_too_high", "verifier")
    assert refused.json()["limit"] == "self"
    assert await outcomes(client, namespace) == []
    assert (await agent.post(path, json=an_outcome())).status_code == 202


async def test_a_batch_refuses_the_reports_that_claim_too_much_and_takes_the_others(
    client, agent_client, namespace
):
    agent = await agent_client()
    await remembered(agent, namespace)
    ids = [(await retrieved(agent, namespace))["retrieval_id"] for _ in range(3)]
    claims = ("self", "human", "self")
    items = [
        an_outcome(retrieval_id=name, verifier=claim)
        for name, claim in zip(ids, claims, strict=True)
    ]

    answer = await agent.post(inside(namespace, "/outcomes/batch"), json={"items": items})

    assert [item["status"] for item in answer.json()["items"]] == [202, 403, 202]
    refused = answer.json()["items"][1]["problem"]
    assert (refused["code"], refused["field"], refused["limit"]) == (
        "claim_too_high",
        "verifier",
        "self",
    )
    assert len(await outcomes(client, namespace)) == 2


async def test_each_role_claims_up_to_its_own_and_no_higher(client, agent_client, namespace):
    most = {"agent": "self", "evaluator": "test", "admin": "human"}
    await remembered(client, namespace)
    for role, highest in most.items():
        key = await agent_client(role)
        assert (await key.get("/v1/me")).json()["verifies"] == highest
        opener = client if role == "evaluator" else key
        for claim in VERIFIERS:
            path = reporting_of(namespace, await retrieved(opener, namespace))
            answer = await key.post(path, json=an_outcome(verifier=claim))
            within = VERIFIERS.index(claim) <= VERIFIERS.index(highest)
            assert answer.status_code == (202 if within else 403), (role, claim)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/trajectories/batch", {"agent": "solver", "reward": 1, "verifier": "test"}, "verifier"),
        ("/trajectories/batch", {"agent": "solver", "reward": 1, "verifier": "human"}, "verifier"),
        ("/experiences/import", {"verification": {"source": "judge"}}, "verification.source"),
        ("/experiences/import", {"verification": {"source": "human"}}, "verification.source"),
    ],
)
async def test_runs_and_imports_are_held_to_the_same_rule(
    client, agent_client, namespace, path, body, field
):
    agent = await agent_client()
    item = body | {"task": {"text": "Will it rain in June?", "key": "rain"}}
    if path.startswith("/experiences"):
        item = an_experience() | item
    else:
        item |= {"steps": [{"text": "look at the base rate"}]}

    answer = await agent.post(inside(namespace, path), json={"items": [item]})

    [only] = answer.json()["items"]
    assert only["status"] == 403, only
    refused = only["problem"]
    assert (refused["code"], refused["field"], refused["limit"]) == (
        "claim_too_high",
        field,
        "self",
    )
    listed = path.removesuffix("/import").removesuffix("/batch")
    assert (await client.get(inside(namespace, listed))).json()["total"] == 0


async def test_a_run_without_a_verdict_claims_nothing(agent_client, namespace):
    agent = await agent_client()
    run = {
        "agent": "solver",
        "task": {"text": "Will it rain in June?", "key": "rain"},
        "steps": [{"text": "look at the base rate"}],
    }

    answer = await agent.post(inside(namespace, "/trajectories/batch"), json={"items": [run]})

    assert [item["status"] for item in answer.json()["items"]] == [201]


async def test_an_evaluator_that_verifies_less_than_a_test_settles_nothing(
    client, agent_client, namespace
):
    judge = await agent_client("evaluator", verifies="judge")

    answer = await judge.post(
        inside(namespace, "/settlements"), json={"event": "rain", "resolutions": {"yes": "yes"}}
    )

    assert problem(answer) == (403, "claim_too_high", "resolutions")
    assert answer.json()["limit"] == "judge"


async def test_a_key_is_made_for_a_claim_and_shows_it(client, agent_client, namespace):
    body = {"role": "agent", "name": "tester", "namespace": namespace, "verifies": "test"}

    made = await client.post("/v1/keys", json=body)

    assert made.json()["verifies"] == "test"
    keys = await everything(client, "/v1/keys")
    assert [key["verifies"] for key in keys if key["id"] == made.json()["id"]] == ["test"]
    tester = await agent_client(verifies="test")
    path = await a_receipt(tester, namespace)
    assert (await tester.post(path, json=an_outcome(verifier="test"))).status_code == 202
    too_high = await client.post("/v1/keys", json=body | {"verifies": "human"})
    assert problem(too_high) == (422, "rejected", "verifies")
    assert too_high.json()["limit"] == "test"


async def test_nobody_grants_a_higher_claim_than_their_own(agent_client, namespace):
    admin = await agent_client("admin", verifies="judge")
    body = {"name": "made", "namespace": namespace}

    usual = await admin.post("/v1/keys", json=body | {"role": "evaluator"})
    named = await admin.post("/v1/keys", json=body | {"role": "admin", "verifies": "test"})
    own = await admin.post("/v1/keys", json=body | {"role": "evaluator", "verifies": "judge"})

    for refused in (usual, named):
        assert problem(refused) == (403, "claim_too_high", "verifies")
        assert refused.json()["limit"] == "judge"
    assert (own.status_code, own.json()["verifies"]) == (201, "judge")


@pytest.mark.parametrize("first", ["agent", "evaluator"])
async def test_the_party_that_is_judged_stands_below_its_judge_whichever_came_first(
    client, agent_client, namespace, first
):
    """Of equal rank: the agent's key may claim a test, and the evaluator tests."""
    agent = await agent_client(agents=["solver"], verifies="test")
    judge = await agent_client("evaluator")
    path = await a_receipt(agent, namespace)
    told = {
        "agent": (agent, an_outcome(reward=1.0, verifier="test")),
        "evaluator": (judge, an_outcome(reward=0.1, verifier="test")),
    }
    order = [first, *(name for name in told if name != first)]

    answers = [await told[name][0].post(path, json=told[name][1]) for name in order]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert await in_effect(client, namespace) == [("test", 0.1)]
    if first == "evaluator":
        assert answers[1].json()["reason"] == "outranked"


async def test_a_judge_is_not_completed_by_the_party_it_judges(client, agent_client, namespace):
    """The same word with a run without memory added would turn a bad run into a good pair."""
    agent = await agent_client(agents=["solver"], verifies="test")
    judge = await agent_client("evaluator")
    path = await a_receipt(agent, namespace)
    said = an_outcome(reward=0.2, verifier="test", evaluator="harness")
    await judge.post(path, json=said)

    added = await agent.post(path, json=said | {"without": {"reward": 0.0}})

    assert added.json()["reason"] == "outranked"
    [kept] = await outcomes(client, namespace, state="accepted")
    assert kept["reward_without"] is None


async def test_an_admin_that_ran_is_judged_as_an_agent_is(client, agent_client, namespace):
    admin = await agent_client("admin", verifies="test")
    judge = await agent_client("evaluator")
    path = await a_receipt(admin, namespace)
    await admin.post(path, json=an_outcome(reward=1.0, verifier="test"))

    await judge.post(path, json=an_outcome(reward=0.1, verifier="test"))

    assert await in_effect(client, namespace) == [("test", 0.1)]


async def test_a_settlement_stands_above_the_forecasters_own_word(client, agent_client, namespace):
    agent = await agent_client(agents=["solver"], verifies="test")
    judge = await agent_client("evaluator")
    task = {"text": "Will it rain?", "key": "rain#1", "group_key": "rain", "category": "weather"}
    await remembered(agent, namespace)
    asked = await agent.post(inside(namespace, "/retrievals"), json=an_ask(task=task))
    receipt = asked.json()
    own = {"metric": "brier", "value": {"p": [1.0]}, "truth": {"y": [1]}, "verifier": "test"}
    reported = await agent.post(reporting_of(namespace, receipt), json=own)
    assert reported.status_code == 202, reported.text
    forecast = {
        "agent": "solver",
        "retrieval_id": receipt["retrieval_id"],
        "probabilities": {"yes": 0.9, "no": 0.1},
    }
    predicted = await agent.post(inside(namespace, "/predictions"), json=forecast)
    assert predicted.status_code == 201, predicted.text

    settled = await judge.post(
        inside(namespace, "/settlements"),
        json={"event": "rain", "resolutions": {"yes": "no", "no": "yes"}},
    )

    assert settled.status_code == 201, settled.text
    [current] = await outcomes(client, namespace, state="accepted")
    assert (current["evaluator"], current["reward"] < 0.5) == ("settlement", True)
    again = await agent.post(reporting_of(namespace, receipt), json=own | {"value": {"p": [0.99]}})
    assert again.json()["reason"] == "outranked"


async def test_an_unbound_key_does_not_speak_for_an_agent_that_has_a_key(
    client, agent_client, namespace
):
    """It would move what that agent earned: its baseline, and what it thinks of each memory."""
    bound = await agent_client(agents=["m1"])
    unbound = await agent_client()

    for path, body in (
        ("/experiences", an_experience(agent="m1")),
        ("/retrievals", an_ask(agent="m1")),
        ("/trajectories", {"agent": "m1", "task": {"text": "t"}, "steps": [{"text": "s"}]}),
        ("/tickets/claims", {"agent": "m1"}),
    ):
        refused = await unbound.post(inside(namespace, path), json=body)
        assert problem(refused) == (403, "forbidden", "agent"), refused.text
        assert "has, or had, a key of its own" in refused.json()["detail"]

    await remembered(unbound, namespace, agent="m2")
    await remembered(bound, namespace, agent="m1", lesson="another lesson")
    await remembered(client, namespace, agent="m1", lesson="the word of who manages")


async def end_by_revocation(engine, client, key_id: str) -> None:
    assert (await client.delete(f"/v1/keys/{key_id}")).status_code == 204


async def end_by_expiry(engine, client, key_id: str) -> None:
    async with engine.database.transaction() as connection:
        await connection.execute(
            update(api_key).where(api_key.c.id == UUID(key_id)).values(expires_at=datetime.now(UTC))
        )


@pytest.mark.parametrize("end", [end_by_revocation, end_by_expiry])
async def test_the_end_of_a_bound_key_hands_what_its_agent_wrote_to_no_unbound_one(
    engine, client, agent_client, namespace, end
):
    bound = await agent_client(agents=["m1"])
    unbound = await agent_client()
    memory_id = await remembered(bound, namespace, agent="m1")
    memory = inside(namespace, f"/experiences/{memory_id}")
    change, seen = {"lesson": "The opposite"}, {"If-Match": '"1"'}
    key_id = (await bound.get("/v1/me")).json()["key_id"]
    assert (await unbound.patch(memory, json=change, headers=seen)).status_code == 403

    await end(engine, client, key_id)

    assert (await bound.get("/v1/me")).status_code == 401
    edited = await unbound.patch(memory, json=change, headers=seen)
    retired = await unbound.post(f"{memory}/retire", json={"reason": "mine now"})
    written = await unbound.post(
        inside(namespace, "/experiences"), json=an_experience(agent="m1", lesson="In its name")
    )
    for refused in (edited, retired, written):
        assert problem(refused)[:2] == (403, "forbidden"), refused.text
        assert "has, or had, a key of its own" in refused.json()["detail"]
    heir = await agent_client(agents=["m1"])
    assert (await heir.patch(memory, json=change, headers=seen)).status_code == 200
    await remembered(client, namespace, agent="m1", lesson="the word of who manages after the end")


async def an_earlier_lie(engine, client, agent_client, namespace) -> tuple[str, str, str]:
    """What an agent claimed when its key still could: its memory, its outcome and its key."""
    agent = await agent_client(agents=["solver"], verifies="test")
    memory_id = await remembered(agent, namespace)
    receipt = await retrieved(agent, namespace)
    told = await agent.post(
        reporting_of(namespace, receipt),
        json=an_outcome(reward=1, without={"reward": 0}, verifier="test"),
    )
    assert told.status_code == 202, told.text
    honest = await retrieved(client, namespace)
    await client.post(
        reporting_of(namespace, honest), json=an_outcome(verifier="human", without={"reward": 0.7})
    )
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    key_id = (await agent.get("/v1/me")).json()["key_id"]
    async with engine.database.transaction() as connection:
        await connection.execute(
            update(api_key).where(api_key.c.id == UUID(key_id)).values(verifies="self")
        )
    return memory_id, told.json()["outcome_id"], key_id


async def test_what_was_claimed_before_the_rule_is_listed_and_taken_back_by_one_request(
    engine, client, agent_client, namespace
):
    """Nothing said is changed by the upgrade; what today's rule would refuse can be withdrawn."""
    memory_id, lie, _ = await an_earlier_lie(engine, client, agent_client, namespace)
    weight = inside(namespace, f"/experiences/{memory_id}/weight")
    before = (await client.get(weight)).json()["effective_weight"]

    listed = (await client.get(inside(namespace, "/outcomes?claims=too_high"))).json()
    seen = await client.post(inside(namespace, "/rollbacks"), json={"claims": "too_high"})
    still = (await client.get(weight)).json()["effective_weight"]
    done = await client.post(
        inside(namespace, "/rollbacks"), json={"claims": "too_high", "dry_run": False}
    )

    assert (listed["total"], [one["id"] for one in listed["items"]]) == (1, [lie])
    assert seen.status_code == done.status_code == 200, done.text
    assert (seen.json()["dry_run"], seen.json()["outcomes"]) == (True, [lie])
    assert still == pytest.approx(before)
    assert (done.json()["outcomes"], done.json()["retired"]) == ([lie], [])
    assert done.json()["difference"].keys() == seen.json()["difference"].keys()
    assert (await client.get(weight)).json()["effective_weight"] < before
    after = (await client.get(inside(namespace, "/outcomes?claims=too_high"))).json()
    assert after["total"] == 0
    memory = (await client.get(inside(namespace, f"/experiences/{memory_id}"))).json()
    assert memory["status"] == "active"
    audit = (await client.get(inside(namespace, "/audit"))).json()["items"]
    [entry] = [one for one in audit if one["action"] == "rollback"]
    assert (entry["subject"], entry["detail"]["outcomes"]) == ("too_high", 1)


async def test_claims_that_are_too_high_are_taken_back_of_one_key_alone(
    engine, client, agent_client, namespace
):
    _, lie, key_id = await an_earlier_lie(engine, client, agent_client, namespace)
    other = await agent_client("evaluator")
    other_id = (await other.get("/v1/me")).json()["key_id"]
    path = inside(namespace, "/rollbacks")

    theirs = await client.post(path, json={"claims": "too_high", "key_id": other_id})
    own = await client.post(path, json={"claims": "too_high", "key_id": key_id})

    assert (theirs.json()["outcomes"], own.json()["outcomes"]) == ([], [lie])
    assert own.json()["retired"] == []
    assert problem(await client.post(path, json={})) == (422, "rejected", "agent")
    assert problem(await client.post(path, json={"claims": "low"}))[::2] == (422, "claims")


async def test_a_half_that_claims_too_much_takes_its_pair_along(
    engine, client, agent_client, namespace
):
    agent = await agent_client(agents=["solver"], verifies="test")
    judge = await agent_client("evaluator")
    await remembered(agent, namespace)
    task = {"text": "Will it rain in June?", "key": "rain", "category": "weather"}
    on = await retrieved(agent, namespace, task=task, purpose="paired", arm="auto")
    off = await retrieved(agent, namespace, task=task, arm="off")
    good, bad = an_outcome(reward=0.9, verifier="test"), an_outcome(reward=0.1, verifier="test")
    assert (await judge.post(reporting_of(namespace, on), json=good)).status_code == 202
    assert (await agent.post(reporting_of(namespace, off), json=bad)).status_code == 202
    key_id = (await agent.get("/v1/me")).json()["key_id"]
    async with engine.database.transaction() as connection:
        await connection.execute(
            update(api_key).where(api_key.c.id == UUID(key_id)).values(verifies="self")
        )

    listed = await outcomes(client, namespace, claims="too_high")

    assert {one["evidence"] for one in listed} == {"paired", "none"}
    assert {one["partner_id"] is not None for one in listed} == {True}


@pytest.mark.parametrize(
    ("path", "body", "other"),
    [
        ("/experiences", an_experience(), {"lesson": "Ask the neighbours"}),
        (
            "/constraints",
            {
                "agent": "solver",
                "trigger": "a price is given for a container",
                "enforce": "counting containers before multiplying",
                "task": {"text": "Ann buys 6 boxes.", "category": "mathematics"},
            },
            {"enforce": "writing down the unit of each quantity"},
        ),
    ],
)
async def test_an_agents_memory_starts_at_neutral_at_most(
    agent_client, namespace, path, body, other
):
    agent = await agent_client(agents=["solver"])
    admin = await agent_client("admin")

    refused = await agent.post(inside(namespace, path), json=body | {"weight": 1.01})
    doubted = await agent.post(inside(namespace, path), json=body | {"weight": 0.5})
    granted = await admin.post(inside(namespace, path), json=body | other | {"weight": 2.0})

    assert problem(refused) == (422, "rejected", "weight")
    assert refused.json()["limit"] == 1
    assert (doubted.status_code, granted.status_code) == (201, 201), doubted.text


async def test_a_start_weight_is_shown_as_a_claim(client, agent_client, namespace):
    admin = await agent_client("admin")
    memory_id = await remembered(admin, namespace, weight=1.5)

    memory = (await client.get(inside(namespace, f"/experiences/{memory_id}"))).json()

    assert (memory["start_weight"], memory["effective_weight"]) == (1.5, 1.5)
