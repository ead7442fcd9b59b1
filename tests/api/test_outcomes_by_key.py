"""A result that comes back by the key of a task or by a trace, from who holds no receipt."""

import asyncio

import pytest
from api_builders import a_task, an_outcome, inside, problem, remembered, retrieved

SITUATION = "a customer asks to cancel an order"
TASK = {"text": SITUATION, "key": "order-17", "category": "support"}


async def told(client, slug, status=202, **said):
    answer = await client.post(inside(slug, "/outcomes"), json=an_outcome(**said))
    assert answer.status_code == status, answer.text
    return answer.json()["items"]


async def refused(client, slug, **said):
    answer = await client.post(inside(slug, "/outcomes"), json=an_outcome(**said))
    return (*problem(answer), answer.json())


async def outcomes_of(client, slug, receipt):
    query = {"retrieval_id": receipt["retrieval_id"]}
    return (await client.get(inside(slug, "/outcomes"), params=query)).json()["items"]


async def a_run(client, slug, **changes):
    return await retrieved(client, slug, **({"task": TASK, "arm": "on"} | changes))


def receipt_id(receipt):
    return receipt["retrieval_id"]


def bound(items):
    return [one["retrieval_id"] for one in items]


async def test_it_moves_what_the_open_receipt_served_and_says_which_that_was(client, namespace):
    note = await remembered(client, namespace, situation=SITUATION)
    receipt = await a_run(client, namespace)
    await a_run(client, namespace, task=TASK | {"key": "order-18"})

    [one] = await told(client, namespace, task_key="order-17", reward=1)

    assert (one["retrieval_id"], one["agent"]) == (receipt["retrieval_id"], "solver")
    assert (one["status"], one["evidence"], one["warnings"]) == ("accepted", "single", [])
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    weight = (await client.get(inside(namespace, f"/experiences/{note}"))).json()
    assert weight["effective_weight"] > 1.0


async def test_every_retrieval_of_a_trace_takes_the_result_for_what_it_served_itself(
    client, namespace
):
    await remembered(client, namespace, situation=SITUATION, lesson="ask for proof")
    shipped = await remembered(client, namespace, situation="glass is shipped", lesson="wrap it")
    trace = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}
    first = await a_run(client, namespace, **trace, k=1)
    second = await a_run(client, namespace, **trace, k=1, task={"text": "glass is shipped"})
    run = {"steps": [{"role": "assistant", "text": "It was wrapped"}]}

    items = await told(client, namespace, **trace, reward=1, used=[shipped], run=run)

    assert bound(items) == [first["retrieval_id"], second["retrieval_id"]]
    assert [one["run_id"] is not None for one in items] == [False, True]
    used = [(await outcomes_of(client, namespace, one))[0]["used"] for one in (first, second)]
    assert used == [[], [shipped]]
    unknown = await refused(client, namespace, **trace, reward=0, used=[receipt_id(first)])
    assert unknown[:3] == (409, "no_open_receipt", "trace_id")


async def test_the_same_report_again_says_the_same_and_does_nothing(client, namespace):
    first = [await a_run(client, namespace) for _ in range(2)]
    said = {"task_key": "order-17", "reward": 0.5}

    items = await told(client, namespace, **said)
    again = await told(client, namespace, status=200, **said)

    assert again == items
    assert bound(items) == [receipt_id(one) for one in first]
    new = await a_run(client, namespace)
    assert bound(await told(client, namespace, **said)) == [receipt_id(new)]
    assert bound(await told(client, namespace, status=200, **said)) == [receipt_id(new)]
    assert [len(await outcomes_of(client, namespace, one)) for one in (*first, new)] == [1, 1, 1]


async def test_many_at_once_leave_one_outcome_a_receipt(client, namespace):
    receipts = [await a_run(client, namespace) for _ in range(3)]
    path, body = inside(namespace, "/outcomes"), an_outcome(task_key="order-17")

    answers = await asyncio.gather(*(client.post(path, json=body) for _ in range(6)))

    assert sorted(one.status_code for one in answers) == [200] * 5 + [202]
    assert len({one.text for one in answers}) == 1
    assert [len(await outcomes_of(client, namespace, one)) for one in receipts] == [1, 1, 1]


async def test_the_latest_alone_where_that_is_asked(client, namespace):
    old, new = [await a_run(client, namespace) for _ in range(2)]

    items = await told(client, namespace, task_key="order-17", policy="latest")

    assert bound(items) == [receipt_id(new)]
    assert await outcomes_of(client, namespace, old) == []


async def test_a_better_verified_word_takes_the_place_of_the_agents_own(
    client, agent_client, namespace
):
    agent, judge = await agent_client(), await agent_client("evaluator")
    receipt = await a_run(agent, namespace)
    [own] = await told(agent, namespace, task_key="order-17", reward=1)

    [test] = await told(judge, namespace, task_key="order-17", reward=0, verifier="test")

    first, second = await outcomes_of(client, namespace, receipt)
    assert (first["id"], first["status"]) == (own["outcome_id"], "superseded")
    assert (second["id"], second["supersedes"]) == (test["outcome_id"], own["outcome_id"])


async def test_a_key_that_guesses_a_strangers_task_learns_what_a_wrong_guess_would_tell(
    agent_client, namespace
):
    owner, stranger = await agent_client("agent", ["solver"]), await agent_client("agent", ["x"])
    receipt = await a_run(owner, namespace)

    guessed = await refused(stranger, namespace, task_key="order-17")
    nothing = await refused(stranger, namespace, task_key="order-99")

    assert guessed[:3] == nothing[:3] == (404, "retrieval_not_found", "task_key")
    assert guessed[3]["detail"] == nothing[3]["detail"].replace("order-99", "order-17")
    assert await outcomes_of(owner, namespace, receipt) == []


async def test_who_retrieves_under_a_strangers_task_has_no_share_in_its_result(
    agent_client, namespace
):
    owner, rider = await agent_client("agent", ["solver"]), await agent_client("agent", ["x"])
    judge = await agent_client("evaluator")
    receipt = await a_run(owner, namespace)
    ridden = await a_run(rider, namespace, agent="x")
    said = {"task_key": "order-17", "reward": 1, "verifier": "test"}

    for policy in ("all_open", "latest"):
        status, code, field, body = await refused(judge, namespace, **said, policy=policy)
        assert (status, code, field) == (409, "ambiguous_key", "agent")
        named = {(one["agent"], one["retrieval_id"]) for one in body["limit"]}
        assert named == {("solver", receipt_id(receipt)), ("x", receipt_id(ridden))}

    assert bound(await told(judge, namespace, **said, agent="solver")) == [receipt_id(receipt)]
    assert await outcomes_of(judge, namespace, ridden) == []


async def test_receipts_that_two_parties_opened_for_one_agent_are_reported_one_by_one(
    client, agent_client, namespace
):
    first = await a_run(await agent_client(), namespace)
    second = await a_run(client, namespace)
    judge = await agent_client("evaluator")

    status, code, field, body = await refused(
        judge, namespace, task_key="order-17", agent="solver", reward=1
    )

    assert (status, code, field) == (409, "ambiguous_key", "task_key")
    assert bound(body["limit"]) == [receipt_id(second), receipt_id(first)]


async def test_one_result_is_not_that_of_a_run_with_memory_and_of_one_without(client, namespace):
    await remembered(client, namespace, situation=SITUATION)
    await a_run(client, namespace, arm="auto", purpose="paired")
    off = await a_run(client, namespace, arm="off")

    status, code, field, _ = await refused(client, namespace, task_key="order-17")

    assert (status, code, field) == (409, "ambiguous_key", "policy")
    items = await told(client, namespace, task_key="order-17", policy="latest")
    assert bound(items) == [receipt_id(off)]


async def test_more_receipts_than_one_report_is_bound_to_are_refused_with_the_limit(
    client, namespace
):
    ask = {"agent": "solver", "task": TASK, "arm": "on"}
    path = inside(namespace, "/retrievals/batch")
    await client.post(path, json={"items": [ask] * 65})

    status, code, field, body = await refused(client, namespace, task_key="order-17")

    assert (status, code, field) == (409, "ambiguous_key", "policy")
    assert "more than the 64" in body["detail"]
    assert len(body["limit"]) == 20
    assert len(await told(client, namespace, task_key="order-17", policy="latest")) == 1


async def test_an_answered_receipt_is_corrected_by_name_alone(client, namespace):
    receipt = await a_run(client, namespace)
    [first] = await told(client, namespace, task_key="order-17", reward=0)

    status, code, field, body = await refused(client, namespace, task_key="order-17", reward=1)
    assert (status, code, field) == (409, "no_open_receipt", "task_key")
    assert [(one["retrieval_id"], one["state"]) for one in body["limit"]] == [
        (receipt_id(receipt), "answered")
    ]

    wrong = await refused(
        client, namespace, task_key="order-17", reward=1, supersedes=receipt_id(receipt)
    )
    assert wrong[:3] == (409, "no_open_receipt", "supersedes")
    [second] = await told(
        client, namespace, task_key="order-17", reward=1, supersedes=first["outcome_id"]
    )
    states = {o["id"]: o["status"] for o in await outcomes_of(client, namespace, receipt)}
    assert states == {first["outcome_id"]: "superseded", second["outcome_id"]: "accepted"}


async def test_a_late_result_counts_while_the_receipt_lives_and_an_expired_one_is_seen(
    client, replay
):
    await remembered(client, replay, situation=SITUATION, learned_at="2026-03-01T11:00:00Z")
    ask = {"as_of": "2026-03-01T12:00:00Z", "expires_in": 3600.0}
    await a_run(client, replay, **ask)
    other = await a_run(client, replay, **ask, task=TASK | {"key": "order-18"})

    [late] = await told(client, replay, task_key="order-17", known_at="2026-03-01T12:59:00Z")
    status, code, _, body = await refused(
        client, replay, task_key="order-18", known_at="2026-03-01T13:01:00Z"
    )

    assert (late["evidence"], late["warnings"]) == ("single", [])
    assert (status, code) == (409, "no_open_receipt")
    assert [(one["retrieval_id"], one["state"]) for one in body["limit"]] == [
        (receipt_id(other), "expired")
    ]
    # The newest known fact is the present of such a namespace.
    later = await a_run(client, replay, as_of="2026-03-01T14:00:00Z", task=a_task())
    path = inside(replay, f"/retrievals/{receipt_id(later)}/outcome")
    await client.post(path, json=an_outcome(known_at="2026-03-01T14:00:00Z"))
    await client.post(inside(replay, "/outcomes/apply"), json={})
    found = await client.get(inside(replay, "/retrievals"), params={"state": "expired"})
    assert bound(found.json()["items"]) == [receipt_id(other)]
    health = (await client.get(inside(replay, "/learning-health"))).json()
    assert health["expired_receipts"] == 1


async def test_no_key_claims_more_by_key_than_it_may_and_a_reader_reports_nothing(
    agent_client, namespace
):
    agent, reader = await agent_client(), await agent_client("reader")
    receipt = await a_run(agent, namespace)

    claimed = await refused(agent, namespace, task_key="order-17", verifier="test")
    read = await refused(reader, namespace, task_key="order-17")

    assert claimed[:3] == (403, "claim_too_high", "verifier")
    assert read[:2] == (403, "forbidden")
    assert await outcomes_of(agent, namespace, receipt) == []


async def test_where_one_receipt_refuses_none_takes_it(client, namespace):
    await remembered(client, namespace, situation=SITUATION)
    await a_run(client, namespace)
    await told(client, namespace, task_key="order-17", reward=0.5)
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    free = await a_run(client, namespace, trace_id="t1", task=a_task(category="fresh"))
    fixed = await a_run(client, namespace, trace_id="t1")

    status, code, _, _ = await refused(
        client, namespace, trace_id="t1", reward=1, reward_kind="binary"
    )

    assert (status, code) == (409, "other_metric")
    assert [await outcomes_of(client, namespace, one) for one in (free, fixed)] == [[], []]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({}, "task_key"),
        ({"task_key": "a", "trace_id": "b"}, "task_key"),
        ({"task_key": " "}, "task_key"),
        ({"trace_id": "t" * 201}, "trace_id"),
        ({"task_key": "a", "agent": " "}, "agent"),
        ({"task_key": "a", "policy": "newest"}, "policy"),
        ({"task_key": "a", "retrieval_id": "x"}, "retrieval_id"),
    ],
)
async def test_a_report_by_key_that_is_wrong_names_the_field(client, namespace, said, field):
    status, _, named, _ = await refused(client, namespace, **said)

    assert (status, named) in {(422, field), (413, field)}


async def test_an_unknown_field_is_told_with_those_that_there_are(client, namespace):
    path = inside(namespace, "/retrievals")

    top = await client.post(path, json={"agent": "a", "task": {"text": "T"}, "cateory": "x"})
    inner = await client.post(path, json={"agent": "a", "task": {"text": "T", "id": "x"}})
    batch = inside(namespace, "/outcomes/batch")
    item = await client.post(batch, json={"items": [{"retrieval_id": "x", "score": 1}]})

    assert "cateory: is no field here; expected are active_queries, agent, all_rankers" in top.text
    assert "task.id: is no field here; expected are category, closes_at" in inner.text
    details = {one["field"]: one["detail"] for one in item.json()["errors"]}
    assert "expected are answers, evaluator" in details["items.0.score"]


async def test_receipts_are_found_by_task_trace_agent_and_state(client, namespace):
    first = await a_run(client, namespace, trace_id="t1")
    second = await a_run(client, namespace, trace_id="t2", agent="other")
    await told(client, namespace, trace_id="t1")

    async def found(**query):
        answer = await client.get(inside(namespace, "/retrievals"), params=query)
        assert answer.status_code == 200, answer.text
        return bound(answer.json()["items"])

    assert await found(task_key="order-17") == [receipt_id(first), receipt_id(second)]
    assert await found(task_key="order-17", state="pending") == [receipt_id(second)]
    assert await found(task_key="order-17", agent="solver") == [receipt_id(first)]
    assert await found(trace_id="t2") == [receipt_id(second)]
    assert await found(task_key="order-99") == []
    one = await client.get(inside(namespace, f"/retrievals/{receipt_id(first)}"))
    assert one.json()["trace_id"] == "t1"
    known_at, text = one.json()["known_at"], SITUATION
    both = [receipt_id(first), receipt_id(second)]
    assert await found(words=" ".join(reversed(text.upper().split()))) == both
    assert await found(words="no such word") == []
    assert await found(since=known_at, before="2199-01-01T00:00:00Z") == both
    assert await found(before=known_at) == []
    assert await found(min_reward=0, max_reward=1) == [receipt_id(first)]
    for query, field in (
        ({"words": "a " * 17}, "words"),
        ({"min_reward": 1.5}, "min_reward"),
        ({"since": "yesterday"}, "since"),
    ):
        refused = await client.get(inside(namespace, "/retrievals"), params=query)
        assert problem(refused)[::2] == (422, field)
    blank = await client.get(inside(namespace, "/retrievals"), params={"task_key": " "})
    assert problem(blank) == (422, "rejected", "task_key")
