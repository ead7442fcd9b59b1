"""Two workers at one address, and the process that holds the model for both."""

import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import psutil
import pytest
from memlift_client import MemLift
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance.servers import PATIENCE_SECONDS, Home, Server

AT_ONCE = 16
ROUTE = "/v1/namespaces/{namespace}/experiences"
OWNER = "the owner of the models"


@pytest.fixture(scope="module")
def server(used_home: Home, begin: Callable[..., Server]) -> Server:
    # What is forked from a daemon may have no children of its own.
    return begin(used_home, warm=False, MEMLIFT_WORKERS=2).await_led()


@pytest.fixture
def memory(server: Server) -> MemLift:
    both_ready(server)
    return server.client()


def both_ready(server: Server) -> None:
    """Both workers say so: which of them answers is chance, so one is asked often."""
    server.until(lambda: {server.readiness()[0] for _ in range(8)} == {200})
    server.until(lambda: all(ups(server)))


def numbers(server: Server, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a name, by their labels."""
    key = server.home.operator_key.read_text().strip()
    answer = httpx.get(
        f"{server.url}/metrics", headers={"authorization": f"Bearer {key}"}, timeout=60
    )
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.raise_for_status().text)
        for sample in family.samples
        if sample.name == name
    }


def ups(server: Server) -> list[float]:
    return [*numbers(server, "memlift_worker_up").values(), numbers(server, "memlift_owner_up")[()]]


def pid(server: Server, name: str) -> int:
    """The process that was started last under this name, as the log says."""
    found = re.findall(rf"{name} is process (\d+)", server.log.read_text())
    return int(found[-1])


def remember(memory: MemLift, word: str) -> str:
    situation = f"The {word} valve sticks when the pump starts"
    lesson = f"Open the {word} valve by hand before the pump is started"
    return str(memory.remember(agent="bot", situation=situation, lesson=lesson).id)


def found(memory: MemLift, word: str) -> list[str]:
    task = f"The {word} valve sticks when the pump starts"
    served = memory.retrieve(agent="bot", task=task, purpose="paired", explore=False, k=3)
    return [str(one.memory_id) for one in served.memories]


def test_callers_at_once_are_spread_over_the_workers_and_one_page_counts_them_all(
    server: Server, memory: MemLift
) -> None:
    key = server.home.operator_key.read_text().strip()
    together = Barrier(AT_ONCE)

    def call(_: int) -> None:
        with httpx.Client(headers={"authorization": f"Bearer {key}"}, timeout=60) as client:
            together.wait()
            for _ in range(20):
                client.get(f"{server.url}/v1/namespaces/default/experiences").raise_for_status()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(call, range(AT_ONCE)))

    counts: Counter[str] = Counter()
    for labels, count in numbers(server, "memlift_requests_total").items():
        if ROUTE in labels:
            counts[labels[-1]] += int(count)
    assert set(counts) == {"1", "2"}
    assert counts.total() == 20 * AT_ONCE


def test_each_worker_at_once_finds_what_was_written_through_any(
    server: Server, memory: MemLift
) -> None:
    words = ("amber", "beryl", "coral", "dusty", "ebony", "flint")

    for word in words:
        known = remember(server.client(), word)
        assert {known in found(server.client(), word) for _ in range(6)} == {True}

    items = numbers(server, "memlift_owner_items_total")
    assert items[("embedder",)] >= 2 * len(words)


def test_a_worker_that_is_killed_is_started_again_while_the_other_serves(
    server: Server, memory: MemLift
) -> None:
    known = remember(memory, "garnet")

    os.kill(pid(server, "worker 1"), signal.SIGKILL)

    # Calls that were under way there end with it; the client repeats them.
    assert all(known in found(server.client(), "garnet") for _ in range(6))
    server.until(lambda: numbers(server, "memlift_worker_restarts_total")[("1",)] == 1)
    both_ready(server)
    assert numbers(server, "memlift_worker_restarts_total")[("2",)] == 0
    assert all(known in found(server.client(), "garnet") for _ in range(6))


def test_while_the_owner_of_the_model_is_gone_callers_are_told_when_to_come_back(
    server: Server, memory: MemLift
) -> None:
    known = remember(memory, "hazel")
    key = server.home.operator_key.read_text().strip()

    os.kill(pid(server, OWNER), signal.SIGKILL)
    refused = httpx.post(
        f"{server.url}/v1/namespaces/default/retrievals",
        headers={"authorization": f"Bearer {key}"},
        json={"agent": "bot", "task": {"text": "a valve that nobody has asked for yet"}},
        timeout=60,
    )
    listed = {one.id for one in server.client().each_experience()}

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert refused.json()["code"] in {"model_away", "model_loading"}
    assert known in {str(one) for one in listed}
    both_ready(server)
    assert numbers(server, "memlift_owner_restarts_total")[()] == 1
    assert known in found(memory, "hazel")


def test_a_signal_ends_all_of_them_and_leaves_nothing_behind(server: Server, home: Home) -> None:
    both_ready(server)
    parent = psutil.Process(server.process.pid)
    children = parent.children(recursive=True)

    assert server.stop() == 0

    assert psutil.wait_procs(children, timeout=PATIENCE_SECONDS)[1] == []
    assert list(home.data.glob("workers-*")) == []
    assert server.log.read_text().count("MemLift serves on") == 1
    assert "Traceback" not in server.log.read_text()
