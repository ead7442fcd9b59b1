"""The memory server is down, slow or refuses: the agent forecasts on and says so.

Only where it was never reached does the agent not begin.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from memlift_client import MemLift
from prophet_events import asked

from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.servers import Server
from tests.prophet.processes import Agent, offline

Serve = Callable[..., Agent]
ENDED = threading.Event()
TITLE = "Will the ferry run on Sunday?"


class Front(BaseHTTPRequestHandler):
    """Passes on what is only read: the greeting of an agent that starts."""

    memory_server = ""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Quiet."""

    def do_GET(self) -> None:
        headers = {"Authorization": self.headers["Authorization"]}
        answer = httpx.get(self.memory_server + self.path, headers=headers)
        self.close_connection = True
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)


class Tarpit(Front):
    """Sends a piece of an answer again and again, without ever coming to its end."""

    def do_POST(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        with suppress(OSError):
            while not ENDED.wait(0.1):
                self.wfile.write(b" ")


@contextmanager
def listening(handler: type[Front], shared_server: Server) -> Generator[str]:
    """The address of `handler` before the memory server, as long as the block lasts."""
    handler.memory_server = shared_server.url
    ENDED.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        ENDED.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def tarpit(shared_server: Server) -> Generator[str]:
    with listening(Tarpit, shared_server) as url:
        yield url


def test_a_server_that_is_down_costs_memory_and_not_the_forecast(
    shared_server: Server, serve: Serve
) -> None:
    with listening(Front, shared_server) as url:
        agent = serve(url=url)

    answer = agent.predict(asked("down", TITLE, crowd={"Yes": 0.8, "No": 0.2}))

    assert answer["p_yes"] == 0.8
    assert "Forecast without memory: the server gave none" in answer["rationale"]
    assert "did not take the forecast" in answer["rationale"]
    assert "down#0: no retrieval by the memory server" in agent.logged()


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "--port", "0"),
        ("evaluate", "--dataset", "none.jsonl"),
        ("poll", "--records", "none.jsonl", "--every", "60"),
    ],
    ids=lambda words: words[0],
)
def test_an_agent_that_never_reached_its_memory_exits_and_says_so(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "none.jsonl").touch()
    nobody = f"http://127.0.0.1:{find_free_port()}"

    ended = prophet_at(nobody, *words, folder=tmp_path)

    assert ended.returncode == 1
    assert f"cannot use namespace default of the memory server at {nobody}" in ended.stderr
    assert "--url" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_agent_with_a_wrong_key_exits_and_says_so(shared_server: Server, tmp_path: Path) -> None:
    ended = prophet_at(shared_server.url, "serve", "--port", "0", folder=tmp_path)

    assert ended.returncode == 1
    assert "401" in ended.stderr


def prophet_at(url: str, *words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """`python -m clients.prophet WORDS`, which is expected to end by itself."""
    command = [sys.executable, "-m", "clients.prophet", *words, "--url", url, "--key", "none"]
    environment = offline(os.environ)
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_server_that_drips_is_not_waited_for(serve: Serve, tarpit: str) -> None:
    agent = serve("--memory-seconds", "0.5", url=tarpit)

    answer = agent.predict(asked("slow", TITLE))

    assert answer["p_yes"] == 0.5
    assert "no answer within 0.5 s" in answer["rationale"]
    assert "slow#0: no retrieval by the memory server" in agent.logged()


def test_a_key_that_may_not_ask_is_named_and_the_forecast_is_given(
    shared_server: Server, wall: MemLift, serve: Serve
) -> None:
    here = wall.get_namespace().slug
    reader = wall.create_key(role="reader", name="reader", namespace=here)

    answer = serve("--key", reader.token, namespace=here).predict(asked("refused", TITLE))

    assert answer["p_yes"] == 0.5
    assert "403" in answer["rationale"]


def test_a_window_that_closed_is_answered_and_its_forecast_not_kept(
    wall: MemLift, serve: Serve
) -> None:
    agent = serve(namespace=wall.get_namespace().slug)

    answer = agent.predict(asked("closed", TITLE, close_time="2026-01-01T00:00:00"))

    assert answer["p_yes"] == 0.5
    assert "prediction_closed" in answer["rationale"]
    assert wall.list_predictions().total == 0
