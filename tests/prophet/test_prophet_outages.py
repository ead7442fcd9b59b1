"""The memory server is down, slow or refuses: the agent forecasts on and says so."""

import socket
import threading
from collections.abc import Callable, Generator

import pytest
from memlift_client import MemLift
from prophet_events import asked

from tests.acceptance.servers import Server, free_port
from tests.prophet.processes import Agent

Serve = Callable[..., Agent]
TITLE = "Will the ferry run on Sunday?"


@pytest.fixture
def tarpit() -> Generator[str]:
    """Accepts, and sends a piece of an answer again and again without ever coming to its end."""
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def drip(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while not ended.wait(0.1):
                    connection.sendall(b" ")
            except OSError:
                return

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=drip, args=(connection,), daemon=True))
            threads[-1].start()

    listener = socket.create_server(("127.0.0.1", 0))
    accepting = threading.Thread(target=accept, args=(listener,), daemon=True)
    accepting.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    ended.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    accepting.join()
    for thread in threads:
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
    memory_server: Server, wall: MemLift, serve: Serve
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
