"""What a language model was asked and said, over the API."""

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest
from api_builders import an_experience, inside, problem, remembered, retrieved
from fastapi import FastAPI

from memory.inference.service import register_model
from memory.kernel.engine import Engine, NamedLlm
from memory.llm.provider import ProviderClient
from server.app import create_app
from server.settings import Settings
from tests.fixtures.engine import NOON, an_engine
from tests.fixtures.http import a_client
from tests.fixtures.language_model import TOKENS, Script
from tests.fixtures.llm_builders import with_llm


@pytest.fixture
async def speaking(
    database_url: str, writer: ProviderClient, tmp_path: Path
) -> AsyncGenerator[FastAPI]:
    """The application with a language model."""

    async def opened(_: Settings) -> Engine:
        engine = an_engine(database_url, llm=writer)
        await register_model(engine, NOON)
        return engine

    settings = Settings(
        data=tmp_path, database_url=database_url, request_rate=1e6, request_burst=10**6
    )
    made = create_app(settings, opened, jobs=None)
    async with made.router.lifespan_context(made):
        yield made


@pytest.fixture
async def speaker(speaking: FastAPI, operator_token: str) -> AsyncGenerator[httpx.AsyncClient]:
    async with a_client(speaking, operator_token) as opened:
        yield opened


async def a_key(client: httpx.AsyncClient, slug: str, role: str, **more: object) -> str:
    body = {"role": role, "name": "test", "namespace": slug, **more}
    return (await client.post("/v1/keys", json=body)).json()["token"]


async def listed(client: httpx.AsyncClient, slug: str, **query: object) -> list[dict[str, object]]:
    answer = await client.get(inside(slug, "/llm-calls"), params=query)  # pyright: ignore[reportArgumentType] - plain values
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_each_try_is_listed_with_its_prompt_answer_and_fault(speaker, namespace, script):
    script.say("empty", "good")
    await remembered(speaker, namespace)
    receipt = await retrieved(speaker, namespace)

    failed, done = await listed(speaker, namespace, retrieval_id=receipt["retrieval_id"])

    assert receipt["compiler"] == "model/openai/stub"
    assert (failed["status"], failed["fault"], failed["attempt"]) == ("failed", "empty", 1)
    assert (done["status"], done["fault"], done["attempt"]) == ("done", None, 2)
    assert done["tokens"] == TOKENS
    assert "base rate of the month" in str(done["prompt"])
    assert "cites" in str(done["answer"])
    assert await listed(speaker, namespace, status="failed") == [failed]
    assert await listed(speaker, namespace, role="reflect") == []


async def test_writings_come_in_pages(speaker, namespace, script):
    await remembered(speaker, namespace)
    for _ in range(3):
        await retrieved(speaker, namespace)
    place = inside(namespace, "/llm-calls")

    first = (await speaker.get(place, params={"limit": 2})).json()
    second = (await speaker.get(place, params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert first["total"] == second["total"] == 3
    assert second["next_cursor"] is None
    assert len({one["id"] for page in (first, second) for one in page["items"]}) == 3


async def test_the_budget_says_what_today_has_left(speaker, client, namespace, script):
    await remembered(speaker, namespace)
    await retrieved(speaker, namespace)

    budget = (await speaker.get(inside(namespace, "/llm-calls/budget"))).json()
    without = (await client.get(inside(namespace, "/llm-calls/budget"))).json()

    assert budget["model"] == "openai/stub"
    assert (budget["spent"], budget["reserved"], budget["stopped"]) == (TOKENS, 0, 0)
    assert budget["left"] == budget["limit"] - TOKENS
    assert without["model"] is None


async def test_readers_and_managers_see_writings_and_agents_do_not(speaking, speaker, namespace):
    for role, status in (("reader", 200), ("admin", 200), ("agent", 403), ("evaluator", 403)):
        async with a_client(speaking, await a_key(speaker, namespace, role)) as someone:
            for path in ("/llm-calls", "/llm-calls/budget"):
                answer = await someone.get(inside(namespace, path))
                assert answer.status_code == status, (role, path)


async def test_one_agents_private_text_is_withheld_from_other_keys(speaking, speaker, namespace):
    mine = await a_key(speaker, namespace, "admin", agents=["solver"])
    other = await a_key(speaker, namespace, "reader", agents=["other"])
    async with a_client(speaking, mine) as solver, a_client(speaking, other) as stranger:
        private = an_experience(visibility="agent", lesson="start from the base rate, in private")
        added = await solver.post(inside(namespace, "/experiences"), json=private)
        assert added.status_code == 201, added.text
        await retrieved(solver, namespace)

        [own] = await listed(solver, namespace)
        [foreign] = await listed(stranger, namespace)
        [unbound] = await listed(speaker, namespace)

    assert "in private" in str(own["prompt"])
    for one in (foreign, unbound):
        assert (one["private"], one["prompt"], one["answer"]) == (True, "", "")
        assert one["tokens"] == TOKENS


async def test_an_erasure_counts_the_writings_it_blanked(speaker, namespace, script):
    memory_id = await remembered(speaker, namespace)
    await retrieved(speaker, namespace)

    answer = await speaker.delete(inside(namespace, f"/experiences/{memory_id}"))

    assert answer.json()["erased"]["llm_calls"] == 1
    [kept] = await listed(speaker, namespace)
    assert (kept["prompt"], kept["answer"]) == ("", "")
    assert kept["erased_at"]


async def test_tries_and_tokens_are_counted_by_role_and_result(speaker, namespace, script: Script):
    script.say("echo", "good")
    await remembered(speaker, namespace)
    await retrieved(speaker, namespace)

    text = (await speaker.get("/metrics")).text

    assert 'memlift_llm_calls_total{result="echoed",role="compile"} 1.0' in text
    assert 'memlift_llm_calls_total{result="done",role="compile"} 1.0' in text
    assert f'memlift_llm_tokens_total{{role="compile"}} {2 * TOKENS}.0' in text


async def test_a_filter_that_means_nothing_is_refused(client, namespace):
    answer = await client.get(inside(namespace, "/llm-calls"), params={"role": "poet"})

    assert problem(answer) == (422, "rejected", "role")


async def test_a_namespace_chooses_a_model_by_name_and_sees_which_there_are(
    speaking, speaker, namespace, writer
):
    shared = speaking.state.shared
    further = {"small": NamedLlm(writer, (0.0, 0.0))}
    shared.engine = with_llm(shared.engine, writer, further=further, together=2.5)
    token = await a_key(speaker, namespace, "admin")
    place = f"/v1/namespaces/{namespace}"

    async with a_client(speaking, token) as admin:

        async def change(chosen: object) -> httpx.Response:
            etag = (await admin.get(place)).headers["etag"]
            body = {"settings": {"llm_models": chosen}}
            return await admin.patch(place, headers={"If-Match": etag}, json=body)

        refused = [
            await change({"compile": "large"}),
            await change({"poet": "small"}),
            await change({"compile": None}),
            await change({"compile": {"api_base": "http://elsewhere/v1"}}),
        ]
        chosen = await change({"compile": "small"})
        budget = (await admin.get(inside(namespace, "/llm-calls/budget"))).json()

    path = "settings.llm_models"
    assert [problem(one) for one in refused] == [
        (422, "rejected", f"{path}.compile"),
        (422, "rejected", f"{path}.poet"),
        (422, "rejected", f"{path}.compile"),
        (422, "rejected", f"{path}.compile"),
    ]
    assert refused[0].json()["limit"] == ["default", "small"]
    assert "it has default, small" in refused[0].json()["detail"]
    assert chosen.json()["settings"]["llm_models"] == {"compile": "small"}
    assert [(one["name"], "compile" in one["roles"]) for one in budget["models"]] == [
        ("default", False),
        ("small", True),
    ]
    assert budget["unknown_models"] == []
    assert (budget["server_cost_limit"], budget["server_cost"]) == (2.5, None)
    assert budget["server_cost_reached"] is False
