"""`memlift serve` with a language model beside it: real settings, real library, real HTTP."""

import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from memlift_client import MemLift, MemLiftProblem, Retrieval

from tests.acceptance.servers import Home, Server
from tests.fixtures.language_model import API_KEY, GOOD, Script

Begin = Callable[..., Server]
ATTEMPTS = 60


@pytest.fixture(scope="module")
def server(used_home: Home, begin: Begin, language_model: Script) -> Server:
    return begin(
        used_home,
        MEMLIFT_LLM_MODEL="openai/stub",
        MEMLIFT_LLM_API_BASE=language_model.url,
        MEMLIFT_LLM_API_KEY=API_KEY,
        MEMLIFT_LLM_DAILY_TOKENS=50_000,
        # A busy machine takes longer than the second that an agent would wait.
        MEMLIFT_LLM_QUERY_TIMEOUT=30,
    )


def asked_of_the_model(memory: MemLift, text: str) -> Retrieval:
    """The library loads beside the first requests; until then guidelines are compiled by rule."""
    for _ in range(ATTEMPTS):
        answer = memory.retrieve(agent="solver", task={"text": text}, arm="on")
        if answer.compiler != "deterministic/1" and answer.search.by == "model":
            return answer
        time.sleep(0.5)
    pytest.fail("no answer came of the language model")


MODELS = """
[models.small]
model = "openai/small"
api_base = "{url}"
api_key = "{key}"
price = "0.1,0.4"

[roles]
search = "small"
"""


def test_a_namespace_asks_the_model_that_it_chose_within_what_the_server_may_cost(
    used_home: Home, begin: Begin, script: Script, tmp_path: Path
) -> None:
    models = tmp_path / "models.toml"
    models.write_text(MODELS.format(url=script.url, key="sk-small-0123456789"))
    server = begin(
        used_home,
        MEMLIFT_LLM_MODEL="openai/stub",
        MEMLIFT_LLM_API_BASE=script.url,
        MEMLIFT_LLM_API_KEY=API_KEY,
        MEMLIFT_LLM_PRICE="1,4",
        MEMLIFT_LLM_MODELS_FILE=models,
        MEMLIFT_LLM_SERVER_DAILY_COST=0.5,
        MEMLIFT_LLM_QUERY_TIMEOUT=30,
    )
    memory = server.await_ready().client()
    memory.remember(
        agent="solver",
        situation="Forecasting whether it snows in Oslo tomorrow during a mild November",
        lesson="Start from the base rate of the month before the day's forecast.",
        category="weather",
    )
    version = memory.get_namespace().version
    with pytest.raises(MemLiftProblem) as refused:
        memory.change_namespace(version, settings={"llm_models": {"compile": "large"}})
    memory.change_namespace(version, settings={"llm_models": {"compile": "small"}})

    answer = asked_of_the_model(memory, "Will it snow in Oslo tomorrow?")

    assert refused.value.field == "settings.llm_models.compile"
    assert answer.compiler == "model/openai/small"
    assert {one["model"] for one in script.asked} == {"small"}
    assert set(script.keys) == {"Bearer sk-small-0123456789"}
    budget = memory.llm_budget()
    assert [(one.name, one.price_known) for one in budget.models] == [
        ("default", True),
        ("small", True),
    ]
    assert {"compile", "search"} <= set(budget.models[1].roles)
    assert budget.server_cost_limit == 0.5
    assert budget.server_cost == pytest.approx(budget.cost)
    assert 0 < budget.cost < 0.01
    checks = memory.ready().checks
    assert checks["language_model"].detail == "default: openai/stub; small: openai/small"
    assert "of $0.5000 spent or set aside today (UTC)" in checks["server_cost"].detail
    memory.change_namespace(memory.get_namespace().version, settings={"llm_models": {}})
    assert server.stop() == 0


def test_a_guideline_in_the_models_words_comes_over_http_and_its_writing_is_readable(
    server: Server, script: Script
) -> None:
    memory = server.await_ready().client()
    memory.remember(
        agent="solver",
        situation="Forecasting whether it rains in Seattle tomorrow during a dry July",
        lesson="Start from the base rate of the month before the day's forecast.",
        category="weather",
    )
    bearer = {"authorization": f"Bearer {server.home.operator_key.read_text().strip()}"}

    answer = asked_of_the_model(memory, "Will it rain in Seattle tomorrow?")

    assert answer.compiler == "model/openai/stub"
    assert "begin with the base rate" in (answer.guideline.text or "")
    place = f"{server.url}/v1/namespaces/default/llm-calls"
    receipt = memory.get_retrieval(answer.retrieval_id or "")
    assert receipt.search is not None
    wanted = GOOD["search"]["queries"]
    assert [{"text": one.text, "target": one.target} for one in receipt.search.queries] == wanted
    # The second query is compared with lessons, and says almost what this one does.
    assert [item.query for item in receipt.items] == [2]
    metrics = httpx.get(f"{server.url}/metrics", headers=bearer).text
    assert 'memlift_llm_queries_total{result="asked"} 1.0' in metrics
    query = {"retrieval_id": answer.retrieval_id, "role": "compile"}
    [kept] = httpx.get(place, headers=bearer, params=query).json()["items"]
    assert (kept["role"], kept["status"]) == ("compile", "done")
    assert "base rate of the month" in kept["prompt"]
    budget = httpx.get(f"{place}/budget", headers=bearer).json()
    assert (budget["model"], budget["limit"]) == ("openai/stub", 50_000)
    assert 0 < budget["spent"] < 50_000
    assert API_KEY not in server.log.read_text()
    assert server.stop() == 0
