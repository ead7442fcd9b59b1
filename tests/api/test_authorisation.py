"""Who shows no key gets nothing; who shows one gets what it is for (case P14)."""

import re
from pathlib import Path

import pytest
from api_builders import an_ask, an_experience, an_outcome, inside, problem, remembered, retrieved

from server.app import create_app
from server.settings import Settings
from tests.fixtures.http import a_client

SOME_ID = "01900000-0000-7000-8000-000000000000"
OPEN = {"/health/live", "/health/ready", "/metrics"}


def every_operation() -> list[tuple[str, str]]:
    document = create_app(Settings(data=Path("unused"))).openapi()
    return [
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if path not in OPEN
    ]


def filled(path: str, namespace: str) -> str:
    for name in re.findall(r"{(\w+_id)}", path):
        path = path.replace(f"{{{name}}}", SOME_ID)
    path = path.replace("{namespace}", namespace).replace("{name}", "solver")
    return path.replace("{job}", "decay")


async def test_no_route_answers_without_a_key(app, namespace, subtests):
    async with a_client(app, None) as stranger:
        for method, path in every_operation():
            with subtests.test(f"{method} {path}"):
                answer = await stranger.request(method, filled(path, namespace))

                assert problem(answer)[:2] == (401, "unauthenticated")
                assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "token",
    ["x", "ml_", "ml_1_2", f"ml_{'0' * 32}_{'0' * 64}", "ml_ü_2"],
)
async def test_no_made_up_token_opens_anything(app, token):
    async with a_client(app, None) as stranger:
        header = f"Bearer {token}".encode()
        answer = await stranger.get("/v1/me", headers={b"authorization": header})

    assert answer.status_code == 401


async def test_another_namespace_is_not_there(agent_client, replay, subtests):
    admin = await agent_client("admin")

    for method, path in every_operation():
        if "{namespace}" in path:
            with subtests.test(f"{method} {path}"):
                answer = await admin.request(method, filled(path, replay))

                assert answer.status_code == 404, answer.text


async def test_another_namespaces_ids_are_not_there(client, agent_client, replay, namespace):
    memory_id = await remembered(client, namespace)
    receipt = await retrieved(client, namespace)
    other = await agent_client("admin", slug=replay)

    for path in (
        f"/experiences/{memory_id}",
        f"/experiences/{memory_id}/versions",
        f"/experiences/{memory_id}/weight",
        f"/retrievals/{receipt['retrieval_id']}",
        f"/retrievals/{receipt['retrieval_id']}/explain",
        f"/tasks/{receipt['task_id']}",
    ):
        assert (await other.get(inside(replay, path))).status_code == 404, path
    report = await other.post(
        inside(replay, f"/retrievals/{receipt['retrieval_id']}/outcome"),
        json=an_outcome(known_at="2026-03-01T12:00:00Z"),
    )
    assert report.status_code == 404


async def test_another_namespaces_cursor_is_refused(client, namespace, replay):
    for lesson in ("one", "two"):
        await remembered(client, namespace, lesson=lesson)
    page = await client.get(inside(namespace, "/experiences"), params={"limit": 1})

    answer = await client.get(
        inside(replay, "/experiences"), params={"limit": 1, "cursor": page.json()["next_cursor"]}
    )

    assert problem(answer) == (422, "bad_cursor", "cursor")


@pytest.mark.parametrize(
    ("role", "wish"),
    [
        ("reader", ("POST", "/experiences", an_experience())),
        ("reader", ("POST", "/retrievals", an_ask())),
        ("reader", ("POST", f"/retrievals/{SOME_ID}/outcome", an_outcome())),
        ("reader", ("POST", "/constraints", {"agent": "a", "trigger": "t", "avoid": "a"})),
        ("evaluator", ("POST", f"/constraints/{SOME_ID}/suspend", {})),
        ("agent", ("POST", f"/contradictions/{SOME_ID}/resolve", {"keep": "both"})),
        ("reader", ("POST", "/erasures", {"agent": "solver"})),
        ("reader", ("POST", "/agents", {"name": "x"})),
        ("evaluator", ("POST", "/experiences", an_experience())),
        ("evaluator", ("POST", "/retrievals", an_ask())),
        ("agent", ("GET", "/audit", None)),
        ("agent", ("DELETE", f"/experiences/{SOME_ID}", None)),
        ("agent", ("POST", "/jobs/decay/runs", {})),
        ("agent", ("PATCH", "", {"learning": "frozen"})),
        ("admin", ("POST", "/deletion", None)),
    ],
)
async def test_a_role_does_what_it_is_for(agent_client, namespace, role, wish):
    method, path, body = wish
    someone = await agent_client(role)

    answer = await someone.request(
        method, inside(namespace, path), json=body, headers={"If-Match": '"1"'}
    )

    assert problem(answer)[:2] == (403, "forbidden")


@pytest.mark.parametrize("role", ["agent", "evaluator", "reader"])
async def test_what_is_outside_namespaces_is_for_managers(agent_client, role):
    someone = await agent_client(role)

    assert (await someone.post("/v1/namespaces", json={"slug": "mine"})).status_code == 403
    assert (await someone.get("/v1/keys")).status_code == 403
    assert (await someone.get("/v1/jobs")).status_code == 403


async def test_a_key_speaks_only_for_its_agents(agent_client, namespace):
    agent = await agent_client("agent", ["solver"])

    answer = await agent.post(
        inside(namespace, "/experiences"), json=an_experience(agent="someone else")
    )

    assert problem(answer) == (403, "forbidden", "agent")


async def test_one_agents_private_memory_is_not_there_for_another(agent_client, namespace):
    solver = await agent_client("agent", ["solver"])
    other = await agent_client("agent", ["other"])
    memory_id = await remembered(solver, namespace, visibility="agent")

    assert (await solver.get(inside(namespace, f"/experiences/{memory_id}"))).status_code == 200
    assert (await other.get(inside(namespace, f"/experiences/{memory_id}"))).status_code == 404


@pytest.mark.parametrize("name", ["x' OR 1=1 --", "%' --", "$.a", "}", "\\"])
async def test_a_filter_is_a_parameter_and_never_a_piece_of_a_query(client, namespace, name):
    await remembered(client, namespace, metadata={"kind": "plain"})

    path = inside(namespace, "/experiences")
    for query in ({"agent": name}, {"category": name}):
        assert (await client.get(path, params=query)).json()["total"] == 0
    raw = await client.get(path, params={"metadata": name})
    assert problem(raw)[0] == 422
