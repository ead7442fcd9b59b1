"""Alive without asking anyone; ready when everything that is needed is there."""

from memory.kernel.postgres.compatibility import Check
from server.app import create_app
from server.settings import Settings
from tests.fixtures.http import a_client


async def test_alive_before_anything_is_opened(tmp_path):
    app = create_app(Settings(data=tmp_path))

    async with a_client(app, None) as stranger:
        live = await stranger.get("/health/live")
        ready = await stranger.get("/health/ready")
        served = await stranger.get("/v1/me", headers={"authorization": "Bearer ml_x"})

    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
    assert (served.status_code, served.json()["code"]) == (503, "not_open")
    assert served.headers["retry-after"] == "1"


async def test_readiness_names_what_is_there_and_what_is_missing(app):
    async with a_client(app, None) as stranger:
        answer = await stranger.get("/health/ready")

    checks = answer.json()["checks"]
    # What jobs and namespaces of other tests left behind is no part of this one.
    of_all = {"jobs", "other_models"}
    assert {name for name, check in checks.items() if check["ok"]} - of_all == {
        "database",
        "migrations",
        "role",
        "embedder",
        "model",
    }
    assert of_all < checks.keys()
    # The application of the tests runs no jobs, so nobody leads: requests are served all the same.
    assert not checks["leader"]["ok"]
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert "no leader" in answer.json()["degraded"]


async def test_the_metrics_are_open_on_loopback_and_need_a_key_elsewhere(app, client, tmp_path):
    async with a_client(app, None) as stranger:
        near = await stranger.get("/metrics")
    far_app = create_app(Settings(data=tmp_path, host="0.0.0.0"))
    far_app.state.shared.engine = app.state.shared.engine
    async with a_client(far_app, None) as stranger:
        far = await stranger.get("/metrics")
        keyed = await stranger.get(
            "/metrics", headers={"authorization": client.headers["authorization"]}
        )

    assert "memlift_requests_total" in near.text
    assert "memlift_pool_size" in near.text
    assert far.status_code == 401
    assert keyed.status_code == 200


async def test_no_metric_names_a_namespace_or_an_agent(client, namespace):
    await client.get(f"/v1/namespaces/{namespace}/agents/solver")

    text = (await client.get("/metrics")).text
    assert namespace not in text
    assert "solver" not in text


async def test_what_all_namespaces_cost_is_told_to_an_operator_alone(
    app, client, namespace, monkeypatch
):
    checks = {name: Check(ok=True, detail=f"of {name}") for name in ("server_cost", "leader")}
    monkeypatch.setattr(type(app.state.shared.readiness), "checks", lambda _: dict(checks))
    body = {"role": "admin", "name": "test", "namespace": namespace}
    admin = (await client.post("/v1/keys", json=body)).json()["token"]
    operator = client.headers["authorization"].removeprefix("Bearer ")

    told: list[tuple[str, str]] = []
    for token in (operator, admin, None):
        async with a_client(app, token) as caller:
            # As a proxy would send it on.
            answer = await caller.get("/health/ready", headers={"x-forwarded-for": "192.0.2.1"})
        found = answer.json()["checks"]
        told.append((found["server_cost"]["detail"], found["leader"]["detail"]))

    assert told == [("of server_cost", "of leader"), ("met", "of leader"), ("met", "met")]
