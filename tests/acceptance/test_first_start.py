"""The first start, as a person at a terminal sees it, and one that is stopped early."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.servers import PATIENCE_SECONDS, ROOT, Home, environment

Start = Callable[..., "subprocess.Popen[bytes]"]
WAITING = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'"""


@pytest.fixture
def start() -> Generator[Start]:
    """`memlift serve` with these variables, and where it writes to."""
    started: list[subprocess.Popen[bytes]] = []

    def serve(output: int, **variables: object) -> "subprocess.Popen[bytes]":
        surroundings = environment({key: str(value) for key, value in variables.items()})
        process = subprocess.Popen(
            [sys.executable, "-m", "server.cli", "serve"],
            cwd=ROOT,
            env=surroundings,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        started.append(process)
        return process

    yield serve
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def read_until(terminal: int, words: str) -> str:
    said = ""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while words not in said:
        assert time.monotonic() < deadline, said
        if select.select([terminal], [], [], 0.2)[0]:
            said += os.read(terminal, 65536).decode()
    return said


def test_a_person_is_told_where_to_go_and_a_link_logs_in_once(used_home: Home, start: Start):
    terminal, other_end = pty.openpty()
    port = find_free_port()
    start(other_end, MEMLIFT_HOME=used_home.data, MEMLIFT_PORT=port)
    said = read_until(terminal, "memlift report")
    address = f"http://127.0.0.1:{port}"

    assert f"MemLift serves on {address}" in said
    assert str(used_home.operator_key) in said
    code = re.search(rf"{address}/dashboard/login\?link=([\w-]+)", said)
    assert code is not None
    with httpx.Client(base_url=address, headers={"origin": address}, timeout=60) as browser:
        assert browser.get("/", headers={"accept": "text/html"}).status_code == 303
        answer = browser.post("/dashboard/login", data={"link": code[1]})
        assert answer.status_code == 303
        assert browser.get("/dashboard/ns/default/").status_code == 200
        assert browser.post("/dashboard/login", data={"link": code[1]}).status_code == 401
    os.close(other_end)
    os.close(terminal)


def test_a_start_that_is_stopped_while_it_asks_the_database_says_nothing_of_the_driver(
    home: Home, start: Start, fresh_database: Callable[[], str], superuser_url: str
) -> None:
    url = fresh_database()
    above = make_conninfo(superuser_url, dbname=conninfo_to_dict(url)["dbname"])
    with psycopg.connect(above) as holder, psycopg.connect(url, autocommit=True) as watcher:
        # The first question is whether there are vectors.
        holder.execute("LOCK TABLE pg_extension IN ACCESS EXCLUSIVE MODE")
        process = start(
            subprocess.PIPE,
            MEMLIFT_HOME=home.data,
            MEMLIFT_DATABASE_URL=url,
            MEMLIFT_PORT=find_free_port(),
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (watcher.execute(WAITING).fetchone() or (0,))[0]:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)

        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        holder.rollback()

    assert (process.returncode, said.decode()) == (0, "")
