"""Who is refused reads what it asked for, and who may."""

import pytest

NOBODY = "01900000-0000-7000-8000-000000000001"


async def test_a_namespace_that_is_not_there_is_named_to_whoever_asks(
    client, agent_client, namespace
):
    agent = await agent_client("agent")
    missing = await client.get("/v1/namespaces/nowhere")
    foreign = await agent.get("/v1/namespaces/default")

    assert missing.json()["detail"] == "no such namespace: nowhere"
    assert foreign.json()["detail"] == "no such namespace: default"
    draft = {"role": "agent", "name": "x", "namespace": "nowhere"}
    made = await client.post("/v1/keys", json=draft)
    assert made.json()["detail"] == "no such namespace: nowhere"


async def test_an_admin_cannot_tell_a_foreign_namespace_from_none(client, agent_client, namespace):
    admin = await agent_client("admin")

    said = [
        (await admin.post("/v1/keys", json={"role": "agent", "name": "x", "namespace": slug}))
        .json()["detail"]
        .replace(slug, "")
        for slug in ("default", "nowhere")
    ]

    assert said == ["no such namespace: "] * 2


@pytest.mark.parametrize(
    ("path", "noun"),
    [
        ("retrievals", "retrieval"),
        ("outcomes", "outcome"),
        ("memories", "memory"),
        ("experiences", "memory"),
        ("constraints", "memory"),
        ("tickets", "ticket"),
        ("changesets", "changeset"),
        ("tasks", "task"),
        ("contrasts", "contrast"),
        ("contradictions", "contradiction"),
        ("trajectories", "trajectory"),
        ("predictions", "prediction"),
        ("settlements", "settlement"),
    ],
)
async def test_a_thing_that_is_not_there_is_named(client, namespace, path, noun):
    problem = (await client.get(f"/v1/namespaces/{namespace}/{path}/{NOBODY}")).json()

    assert (problem["status"], problem["detail"]) == (404, f"no such {noun}: {NOBODY}")


async def test_a_key_that_may_not_reads_which_may(agent_client, namespace):
    agent = await agent_client("agent")

    problem = (await agent.get(f"/v1/namespaces/{namespace}/audit")).json()

    assert problem["code"] == "forbidden"
    assert problem["detail"] == "a key of role agent may not manage; admin and operator may"
