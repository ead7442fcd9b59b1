"""Keys over HTTP: a token is shown once, and a role is what it is."""

from uuid import uuid4

import pytest
from api_builders import everything, inside, problem


async def test_a_token_is_shown_when_its_key_is_made_and_never_again(client, namespace):
    body = {"role": "agent", "name": "ci", "namespace": namespace, "agents": ["solver"]}

    made = await client.post("/v1/keys", json=body)

    assert made.status_code == 201
    token = made.json()["token"]
    assert token.startswith("ml_")
    assert token not in str(await everything(client, "/v1/keys"))
    assert made.json()["agents"] == ["solver"]


async def test_a_key_says_what_it_is(client, agent_client, namespace):
    agent = await agent_client("agent", ["solver"])

    assert (await client.get("/v1/me")).json()["namespace"] is None
    me = (await agent.get("/v1/me")).json()
    assert (me["role"], me["namespace"], me["agents"]) == ("agent", namespace, ["solver"])


async def test_a_revoked_key_opens_nothing(client, agent_client, namespace):
    agent = await agent_client("agent")
    key_id = (await agent.get("/v1/me")).json()["key_id"]

    assert (await client.delete(f"/v1/keys/{key_id}")).status_code == 204

    answer = await agent.get(inside(namespace, "/experiences"))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_key_that_is_not_there_cannot_be_revoked(client):
    assert (await client.delete(f"/v1/keys/{uuid4()}")).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"role": "king"}, "role"),
        ({"role": "operator"}, "namespace"),
        ({"namespace": None}, "namespace"),
        ({"name": "  "}, "name"),
        ({"agents": []}, "agents"),
        ({"agents": "solver"}, "agents"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2030-01-01T00:00:00"}, "expires_at"),
    ],
)
async def test_a_key_that_cannot_be_is_refused_by_field(client, namespace, change, field):
    body = {"role": "agent", "name": "ci", "namespace": namespace} | change

    assert problem(await client.post("/v1/keys", json=body)) == (422, "rejected", field)


async def test_a_key_that_ends_says_so_in_the_audit_and_one_that_has_ended_is_not_made(
    client, namespace
):
    body = {"role": "agent", "name": "ends", "namespace": namespace}
    over = await client.post("/v1/keys", json=body | {"expires_at": "2020-01-01T00:00:00Z"})
    made = await client.post("/v1/keys", json=body | {"expires_at": "2090-01-01T00:00:00Z"})

    assert over.json()["detail"] == "expires_at must lie in the future"
    assert made.status_code == 201
    entries = await everything(client, inside(namespace, "/audit"))
    ends = [one["detail"]["expires_at"] for one in entries if one["action"] == "key.create"]
    assert ends == ["2090-01-01T00:00:00+00:00"]


async def test_an_admin_makes_keys_for_its_own_namespace_alone(agent_client, namespace, replay):
    admin = await agent_client("admin")
    body = {"role": "reader", "name": "r"}

    own = await admin.post("/v1/keys", json=body | {"namespace": namespace})
    other = await admin.post("/v1/keys", json=body | {"namespace": replay})

    assert own.status_code == 201
    assert other.status_code == 404
