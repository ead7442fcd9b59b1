"""A server whose models run elsewhere: the whole application, real Postgres, real HTTP to them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from server.app import create_app
from server.settings import Settings
from tests.fixtures.http import a_client, a_namespace
from tests.fixtures.model_server import ModelServerScript, a_model_server

TASK = "the airport is closed by fog"
LESSON = {
    "agent": "ada",
    "category": "travel",
    "situation": "the airport is closed by fog in winter",
    "lesson": "rebook on the train before the others do",
}


async def until_ready(client: httpx.AsyncClient) -> None:
    for _ in range(600):
        answer = await client.get("/health/ready")
        if answer.json()["checks"]["embedder"]["ok"]:
            return
        await asyncio.sleep(0.05)
    pytest.fail(answer.text)


async def test_a_retrieval_is_embedded_and_reranked_elsewhere_and_says_when_it_cannot_be(
    migrated_database: Callable[..., str], tmp_path: Path
):
    with a_model_server(ModelServerScript()) as models:
        settings = Settings(
            data=tmp_path,
            database_url=migrated_database(),
            embedding_url=models.url + "/v1",
            embedding_model="acme/words",
            embedding_revision="r1",
            embedding_timeout=2,
            reranker_url=models.url,
            reranker_model="acme/words",
            reranker_revision="r1",
        )
        app = create_app(settings, jobs=None)
        async with app.router.lifespan_context(app):
            key = (tmp_path / "operator.key").read_text().strip()
            async with a_client(app, key) as client:
                await until_ready(client)
                slug = await a_namespace(client, "wall")
                path = f"/v1/namespaces/{slug}"
                made = await client.post(f"{path}/experiences", json=LESSON)
                ask = {"agent": "ada", "task": {"text": TASK}, "format": "memories"}
                served = await client.post(f"{path}/retrievals", json=ask)
                asked = {where for where, _ in models.asked}
                models.asked.clear()
                plain = await client.post(f"{path}/retrievals", json=ask | {"rerank": "none"})
                settings_path, none = f"/v1/namespaces/{slug}", {"settings": {"rerank": "none"}}
                etag = (await client.get(settings_path)).headers["etag"]
                kept = await client.patch(settings_path, json=none, headers={"If-Match": etag})
                by_setting = await client.post(f"{path}/retrievals", json=ask)
                asked_plain = {where for where, _ in models.asked}
                models.statuses = [503] * 99
                ask["task"] = {"text": "another task"}
                failed = await client.post(f"{path}/retrievals", json=ask)
                metrics = await client.get("/metrics")

    assert made.status_code == 201, made.text
    assert served.status_code == 201, served.text
    assert [item["relevance"] for item in served.json()["memories"]] == [1.0]
    assert asked == {"/v1/embeddings", "/rerank"}
    assert kept.status_code == 200, kept.text
    for one in (plain, by_setting):
        assert [item["relevance"] for item in one.json()["memories"]] == [
            item["similarity"] for item in one.json()["memories"]
        ]
    assert "/rerank" not in asked_plain
    assert failed.status_code == 503
    assert failed.json()["code"] == "model_server_failed"
    assert "The embedding server answered 503" in failed.json()["detail"]
    assert failed.headers["retry-after"] == "2"
    assert 'memlift_faults_total{code="model_server_failed"} 1.0' in metrics.text
    assert "memlift_embedder_failures 1.0" in metrics.text
