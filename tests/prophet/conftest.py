"""A real memory server, the agent as a process, and the public client as a process: all offline."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from uuid import uuid4

import pytest
from memlift_client import MemLift

from tests.acceptance.servers import Server
from tests.prophet.processes import Agent, Prophet, offline

ROOT = Path(__file__).parents[2]

LOCAL = ("127.0.0.1", "::1")
# Short titles are less alike than the texts that the gates are measured for.
OPEN = {"raw_gate": 0.01, "score_floor": 0.001, "slot_rate": 0, "coins": False}


@pytest.fixture
def wall(shared_server: Server) -> MemLift:
    """A fresh namespace in which it is now."""
    return _namespace(shared_server, "wall")


@pytest.fixture
def replay(shared_server: Server) -> MemLift:
    """A fresh namespace that is told the time."""
    return _namespace(shared_server, "replay")


def _namespace(server: Server, clock: str) -> MemLift:
    slug = f"p{uuid4().hex[:12]}"
    server.client().create_namespace(slug, clock=clock, settings=OPEN)
    return server.client(slug)


@pytest.fixture
def grounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process too, nothing beyond this machine is reached."""
    connect = socket.socket.connect

    def connected(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple):
            assert address[0] in LOCAL, address
        connect(self, address)  # pyright: ignore[reportArgumentType] - what the caller gave

    monkeypatch.setattr(socket.socket, "connect", connected)


@pytest.fixture
def serve(shared_server: Server) -> Generator[Callable[..., Agent]]:
    """Start `python -m clients.prophet serve` with these words; without `url`, at the server."""
    started: list[Agent] = []

    def start(*words: str, namespace: str = "default", url: str | None = None) -> Agent:
        key = shared_server.home.operator_key.read_text().strip()
        agent = Agent.serving(
            *("--url", url or shared_server.url, "--key", key, "--namespace", namespace), *words
        )
        started.append(agent)
        return agent.await_ready()

    yield start
    for agent in started:
        agent.stop()


@pytest.fixture
def prophet(tmp_path: Path) -> Prophet:
    """The public client `prophet forecast WORDS`, by module: prophet-arena installs a command of
    the same name.
    """

    def run(*words: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "ai_prophet.main", "forecast", *map(str, words)],
            cwd=tmp_path,
            env=offline(os.environ),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def poll(shared_server: Server) -> Prophet:
    """`python -m clients.prophet poll WORDS` at this namespace, once."""

    def run(namespace: str, *words: object) -> "subprocess.CompletedProcess[str]":
        key = shared_server.home.operator_key.read_text().strip()
        where = ("--url", shared_server.url, "--key", key, "--namespace", namespace)
        return subprocess.run(
            [sys.executable, "-m", "clients.prophet", "poll", *where, *map(str, words)],
            cwd=ROOT,
            env=offline(os.environ),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
