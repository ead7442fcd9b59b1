"""The memory server is down, slow or refuses: the agent forecasts on and says so."""

import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from memlift_client import MemLift
from prophet_events import asked

from tests.acceptance.servers import Server, free_port
from tests.prophet.processes import Agent

Serve = Callable[..., Agent]
ENDED = threading.Event()
TITLE = "Will the ferry run on Sunday?"


class Tarpit(BaseHTTPRequestHandler):
    """Sends a piece of an answer again and again, without ever coming to its end."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Quiet."""

    def do_POST(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        with suppress(OSError):
            while not ENDED.wait(0.1):
                self.wfile.write(b" ")


@pytest.fixture
def tarpit() -> Generator[str]:
    ENDED.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tarpit)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    ENDED.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_server_that_is_down_costs_memory_and_not_the_forecast(serve: Serve) -> None:
    agent = serve(url=f"http://127.0.0.1:{free_port()}")

    answer = agent.predict(asked("down", TITLE, crowd={"Yes": 0.8, "No": 0.2}))

    assert answer["p_yes"] == 0.8
    assert "Forecast without memory: the server gave none" in answer["rationale"]
    assert "did not take the forecast" in answer["rationale"]
    assert "down#0: no retrieval by the memory server" in agent.logged()


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
