"""The process that serves: it owns its Postgres, ends cleanly, and is replaced after kill -9."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import httpx
import psutil
import pytest

from memory.kernel.postgres.compatibility import complaints, facts
from memory.kernel.postgres.embedded import EmbeddedPostgres, reached
from memory.kernel.postgres.embedded.ports import find_free_port
from memory.kernel.postgres.migrate import heads

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 90
PROGRAM = """
import sys
from pathlib import Path
from server.hosting import serve
from server.settings import load
data, port, workers = sys.argv[1:]
serve(load({"data": Path(data), "port": int(port), "workers": int(workers)}),
      "tests.embedded.small_app:create_app")
"""
Serve = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def serve(data: Path) -> Generator[Serve]:
    """Start a server on the data directory; returns its process and address once it is live."""
    started: list[subprocess.Popen[str]] = []

    def start(workers: int = 1) -> tuple[subprocess.Popen[str], str]:
        port = find_free_port()
        command = [sys.executable, "-c", PROGRAM, str(data), str(port), str(workers)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process, live(process, f"http://127.0.0.1:{port}")

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def live(process: subprocess.Popen[str], address: str) -> str:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            httpx.get(f"{address}/health/live").raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.2)
        else:
            return address
    raise AssertionError(process.communicate()[1])


def test_a_served_database_is_at_head_and_fit_for_use(data: Path, serve: Serve) -> None:
    serve()

    with reached(data) as url:
        current, head = heads(url)
        assert current == head
        assert complaints(facts(url)) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_and_then_its_postgres(
    used: Path, serve: Serve, number: signal.Signals
) -> None:
    process, _ = serve()

    process.send_signal(number)

    assert process.wait(PATIENCE_SECONDS) == 0
    assert not (used / "pg" / "postmaster.pid").exists()
    assert not (used / "address").exists()


def test_several_workers_share_one_database_and_their_cost_is_said(
    used: Path, serve: Serve
) -> None:
    process, address = serve(2)

    told = httpx.get(f"{address}/health/live").json()
    assert told["database"] == (used / "address").read_text().strip()

    process.terminate()
    said = process.communicate(timeout=PATIENCE_SECONDS)[1]
    assert "2 workers: one process more holds the model for all" in said
    assert process.returncode == 0


@pytest.mark.usefixtures("used")
def test_workers_end_with_the_parent_that_was_killed(serve: Serve) -> None:
    process, _ = serve(2)
    workers = psutil.Process(process.pid).children(recursive=True)
    workers = [worker for worker in workers if "spawn_main" in " ".join(worker.cmdline())]
    assert len(workers) == 3  # the owner of the model is one

    process.kill()

    assert psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)[1] == []


def test_a_killed_server_is_replaced_by_the_next_one(used: Path, serve: Serve) -> None:
    process, _ = serve()
    process.kill()
    process.wait()

    _, address = serve()

    assert httpx.get(f"{address}/health/live").status_code == 200


def test_a_command_starts_the_database_for_itself_where_nothing_serves(data: Path) -> None:
    with reached(data) as url:
        assert complaints(facts(url)) == []

    assert not (data / "pg" / "postmaster.pid").exists()


def test_a_command_beside_a_server_uses_its_database(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        with reached(used) as url:
            assert url == address.url
        assert complaints(facts(address.url)) == []
