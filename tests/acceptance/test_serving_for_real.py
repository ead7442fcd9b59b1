"""`memlift serve` comes up, learns over HTTP, ends cleanly, and finds everything again."""

import stat
from collections.abc import Callable, Generator
from pathlib import Path

import httpx
import psutil
import pytest
from memlift_client import MemLift

from tests.acceptance.servers import Home, Server

SITUATION = "Forecasting whether it rains in Seattle tomorrow during a dry July"
LESSON = "Start from the base rate of the month before reading the day's forecast."
TASK = "Will it rain in Seattle tomorrow? It is July and the month was dry."

Begin = Callable[..., Server]


@pytest.fixture(scope="module")
def home(above: Path) -> Generator[Home]:
    """One whose name has to be quoted wherever it is passed on."""
    home = Home(above / "a # place")
    yield home
    home.clear()


@pytest.fixture(scope="module")
def server(home: Home, begin: Begin) -> Server:
    """One that is live; whether it is ready yet is for the first test to see."""
    server = begin(home, warm=False)
    server.until(lambda: is_live(server))
    return server


@pytest.fixture
def memory(server: Server) -> MemLift:
    return server.await_ready().client()


def is_live(server: Server) -> bool:
    try:
        return httpx.get(f"{server.url}/health/live").status_code == 200
    except httpx.TransportError:
        return False


def test_the_server_is_live_before_its_model_is_loaded_and_then_ready(server: Server) -> None:
    status, checks = server.readiness()
    server.await_led()

    assert status == 503
    assert not checks["embedder"]["ok"]
    assert all(check["ok"] for check in server.readiness()[1].values())


def test_the_operator_key_is_for_its_owner_alone_and_is_not_in_the_log(
    server: Server, home: Home
) -> None:
    server.await_ready()

    assert stat.S_IMODE(home.operator_key.stat().st_mode) == 0o600
    assert home.operator_key.read_text().strip() not in server.log.read_text()


def test_what_somebody_searched_for_is_not_in_the_log(server: Server) -> None:
    server.await_ready()

    httpx.get(f"{server.url}/dashboard/ns/default/memories?text=obsidianfern", timeout=60)
    httpx.get(f"{server.url}/v1/namespaces/default/memories?text=obsidianfern&cursor=x", timeout=60)

    server.until(lambda: "GET /v1/namespaces/default/memories HTTP" in server.log.read_text())
    assert "obsidianfern" not in server.log.read_text()


@pytest.mark.parametrize("key", [None, "ml_00000000000000000000000000000000_wrong"])
def test_without_a_valid_key_there_is_no_access(server: Server, key: str | None) -> None:
    server.await_ready()
    headers = {} if key is None else {"authorization": f"Bearer {key}"}

    answer = httpx.get(f"{server.url}/v1/namespaces/default/experiences", headers=headers)

    assert answer.status_code == 401


def test_the_loop_is_closed_over_http(memory: MemLift) -> None:
    lesson = memory.remember(agent="solver", situation=SITUATION, lesson=LESSON, category="weather")
    memory.add_meta_guideline(
        agent="solver",
        category="weather",
        failure_reason=f"Notes were followed blindly: {TASK}",
        instruction="Weigh the notes against the base rate of the month",
    )
    before = memory.get_weight(lesson.id)

    # A meta-guideline has a coin of its own, which is not tossed here.
    served = memory.retrieve(
        agent="solver",
        task={"text": TASK, "category": "weather"},
        purpose="paired",
        explore=False,
    )
    reported = memory.report(served.receipt, reward=0.9, without={"reward": 0.4}, verifier="test")
    memory.apply_outcomes()

    assert served.meta_guideline is not None
    assert [line.memory_ids for line in served.guideline.lines] == [
        (served.meta_guideline.memory_id,),
        (lesson.id,),
    ]
    assert LESSON in served.guideline.text
    assert memory.get_outcome(reported.outcome_id).status == "applied"
    after = memory.get_weight(lesson.id)
    assert after.effective_weight > before.effective_weight
    [event] = [
        row
        for row in memory.each_weight_event(lesson.id)
        if (row.subject, row.kind) == ("memory", "learn")
    ]
    assert event.outcome_id == reported.outcome_id
    assert event.weight_after == pytest.approx(after.effective_weight)
    [effect] = memory.effect()
    assert effect.paired.mean == pytest.approx(0.5)
    assert effect.strength == 1


def test_an_outcome_is_applied_by_the_leader_unasked(server: Server, memory: MemLift) -> None:
    served = memory.retrieve(
        agent="solver", task={"text": TASK, "category": "weather"}, purpose="paired"
    )
    reported = memory.report(served.receipt, reward=0.8, without={"reward": 0.4}, verifier="test")

    server.until(lambda: memory.get_outcome(reported.outcome_id).status == "applied")


def as_an_editor_leaves_it(home: Home) -> dict[str, str]:
    """Variables with quotes, carriage returns and nothing in them, and one that is misspelt."""
    return {
        "MEMLIFT_HOME": f'"{home.data}"\r',
        "MEMLIFT_DATABASE_URL": "",
        "MEMLIFT_DATABASE_PASSWORD": "\r",
        "MEMLIFT_OPERATOR_KEY_FILE": '""',
        "MEMLIFT_EMBEDDING_MODEL": "'all-MiniLM-L6-v2'\r",
        "MEMLIFT_LEADER_BEAT": " 1 \r",
        "MEMLIFT_DATABSE_URL": "misspelt",
    }


def test_ended_by_a_signal_it_leaves_nothing_running_and_the_next_start_finds_everything(
    home: Home, begin: Begin, server: Server, memory: MemLift
) -> None:
    known = contents(memory)
    key = home.operator_key.read_text()
    children = psutil.Process(server.process.pid).children(recursive=True)

    assert server.stop() == 0

    assert home.processes() == []
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert not home.address.exists()
    again = begin(home, warm=False, **as_an_editor_leaves_it(home)).await_ready()
    assert home.operator_key.read_text() == key
    assert contents(again.client()) == known


def contents(memory: MemLift) -> list[object]:
    """All that is remembered, but for weights as of now: those age."""
    memories = {
        row.id: (row.situation, row.lesson, row.version) for row in memory.each_experience()
    }
    events = [list(memory.each_weight_event(memory_id)) for memory_id in memories]
    outcomes = list(memory.each_outcome())
    assert memories
    assert outcomes
    return [memories, events, outcomes, list(memory.each_retrieval(state="all"))]
