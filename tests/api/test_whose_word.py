"""Who is who is decided by keys: what one party says of its own proves and moves nothing."""

import pytest
from api_builders import a_task, an_experience, an_outcome, inside, remembered, retrieved

KIN = [
    pytest.param(["m1", "m2"], None, "m2", id="one key bound to both agents"),
    pytest.param(["m1", "m2"], ["m2", "m3"], "m3", id="two keys that share an agent"),
    pytest.param(None, "unbound", "m2", id="two keys bound to no agent"),
]
"""The agents of the author's key, those of the tester's (None: the same key), and who tries."""


async def declare(client, slug):
    """Agents of two families: what one learns reaches the other only once it is proven."""
    for name, family in (("m1", "one"), ("m2", "one"), ("m3", "one"), ("south", "other")):
        answer = await client.post(
            inside(slug, "/agents"), json={"name": name, "model": name, "family": family}
        )
        assert answer.status_code == 201, answer.text


async def two_keys(agent_client, own, other):
    author = await agent_client(agents=own)
    if other is None:
        return author, author
    return author, await agent_client(agents=None if other == "unbound" else other)


async def candidate_tried(author, tester, slug, agent) -> tuple[str, dict[str, object]]:
    """The candidate that the author's key stored as m1, and its ticket once `agent` tried it."""
    body = an_experience(agent="m1", verify=True, task=a_task(key="t"))
    made = await author.post(inside(slug, "/experiences"), json=body)
    assert made.status_code == 201, made.text
    claim = await tester.post(inside(slug, "/tickets/claims"), json={"agent": agent})
    [ticket] = claim.json()["items"]
    trials = [
        {"slot": slot["slot"], "reward": 1, "without": {"reward": 0}} for slot in ticket["trials"]
    ]
    done = await tester.post(
        inside(slug, f"/tickets/{ticket['id']}/trials"), json={"agent": agent, "trials": trials}
    )
    assert done.status_code == 201, done.text
    return made.json()["id"], done.json()


async def is_served_to(client, slug, agent, memory_id) -> bool:
    receipt = await retrieved(client, slug, agent=agent)
    return memory_id in {item["memory_id"] for item in receipt["memories"]}


@pytest.mark.parametrize(("own", "other", "agent"), KIN)
async def test_a_party_that_tries_its_own_candidate_proves_nothing_to_others(
    client, agent_client, namespace, own, other, agent
):
    await declare(client, namespace)
    author, tester = await two_keys(agent_client, own, other)

    memory_id, ticket = await candidate_tried(author, tester, namespace, agent)

    assert ticket["decision"] == "admitted"
    assert all(trial["self_verified"] for trial in ticket["trials"])
    memory = (await client.get(inside(namespace, f"/experiences/{memory_id}"))).json()
    assert memory["trust"] == "unverified"
    assert await is_served_to(client, namespace, "m1", memory_id)
    assert not await is_served_to(client, namespace, "south", memory_id)


async def test_another_party_that_tries_a_candidate_proves_it(client, agent_client, namespace):
    await declare(client, namespace)
    author, tester = await two_keys(agent_client, ["m1", "m2"], ["m3"])

    memory_id, ticket = await candidate_tried(author, tester, namespace, "m3")

    assert not any(trial["self_verified"] for trial in ticket["trials"])
    assert await is_served_to(client, namespace, "south", memory_id)


def proof(memory_id) -> dict[str, object]:
    """A pair that went as well as can be by a memory that was acted on."""
    return an_outcome(reward=1, without={"reward": 0}, used=[memory_id])


async def praised(writer, reporter, slug, *, author="m1", agent="m1") -> str:
    """The memory that the one key wrote, after a pair that the other one reported for it."""
    memory_id = await remembered(writer, slug, agent=author)
    receipt = await retrieved(reporter, slug, agent=agent)
    assert [item["memory_id"] for item in receipt["memories"]] == [memory_id]
    path = inside(slug, f"/retrievals/{receipt['retrieval_id']}/outcome")
    answer = await reporter.post(path, json=proof(memory_id))
    assert answer.status_code == 202, answer.text
    return memory_id


async def weight_of(client, slug, memory_id) -> float:
    applied = await client.post(inside(slug, "/outcomes/apply"), json={})
    assert applied.status_code == 200
    answer = await client.get(inside(slug, f"/experiences/{memory_id}/weight"))
    return answer.json()["effective_weight"]


async def a_second_party(agent_client, slug, *, writes=True):
    """A key of nobody else's that wrote or reported here."""
    other = await agent_client(agents=["other"])
    if writes:
        own = {"agent": "other", "lesson": "Weigh the flour", "visibility": "agent"}
        await remembered(other, slug, **own)
        return
    receipt = await retrieved(other, slug, agent="other", arm="off")
    path = inside(slug, f"/retrievals/{receipt['retrieval_id']}/outcome")
    assert (await other.post(path, json=an_outcome())).status_code == 202


@pytest.mark.parametrize("writes", [True, False], ids=["it wrote", "it reported"])
@pytest.mark.parametrize(("own", "other", "agent"), KIN)
async def test_a_partys_word_on_its_own_memory_moves_nothing_where_there_is_a_second_party(
    client, agent_client, namespace, *, own, other, agent, writes
):
    await a_second_party(agent_client, namespace, writes=writes)
    writer, reporter = await two_keys(agent_client, own, other)

    memory_id = await praised(writer, reporter, namespace, agent=agent)

    assert await weight_of(client, namespace, memory_id) == pytest.approx(1.0)


@pytest.mark.parametrize(("own", "other", "agent"), KIN)
async def test_a_party_that_is_alone_learns_from_its_own_word(
    client, agent_client, namespace, own, other, agent
):
    writer, reporter = await two_keys(agent_client, own, other)
    await agent_client(agents=["stranger"])

    memory_id = await praised(writer, reporter, namespace, agent=agent)

    assert await weight_of(client, namespace, memory_id) > 1.2


@pytest.mark.parametrize("role", ["admin", "operator"])
async def test_who_manages_is_nobodys_author(client, agent_client, namespace, role):
    """The same agent's name stands on the memory and on the receipt."""
    await a_second_party(agent_client, namespace)
    manager = client if role == "operator" else await agent_client(role)
    agent = await agent_client(agents=["m1"])

    by_agent = await praised(manager, agent, namespace)

    assert await weight_of(client, namespace, by_agent) > 1.0


async def test_an_evaluators_word_on_an_agents_own_memory_counts(client, agent_client, namespace):
    await a_second_party(agent_client, namespace)
    agent = await agent_client(agents=["m1"])
    judge = await agent_client("evaluator")
    memory_id = await remembered(agent, namespace, agent="m1")
    receipt = await retrieved(agent, namespace, agent="m1")
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")

    answer = await judge.post(path, json=proof(memory_id))

    assert answer.status_code == 202, answer.text
    assert await weight_of(client, namespace, memory_id) > 1.2


async def test_a_memory_that_nobody_else_sees_may_be_praised_by_its_author(
    client, agent_client, namespace
):
    await a_second_party(agent_client, namespace)
    agent = await agent_client(agents=["m1"])
    memory_id = await remembered(agent, namespace, agent="m1", visibility="agent")
    receipt = await retrieved(agent, namespace, agent="m1")
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")

    answer = await agent.post(path, json=proof(memory_id))

    assert answer.status_code == 202, answer.text
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    own = await agent.get(inside(namespace, f"/experiences/{memory_id}"))
    assert own.json()["effective_weight"] > 1.2
