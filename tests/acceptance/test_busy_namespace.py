"""One namespace is busy, over HTTP and on a real Postgres: who calls in another one is answered,
and so is whoever asks how the server is.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg

from tests.acceptance.servers import Home, Server

WRITERS = 40
PATIENCE = 3600
TASK = {"text": "a forecast of rain"}


def test_writers_who_wait_for_a_row_keep_no_other_namespace_waiting(
    home: Home, begin: Callable[..., Server], url: str, superuser: str
) -> None:
    server = begin(home, MEMLIFT_DATABASE_URL=url, MEMLIFT_TURN_TIMEOUT=PATIENCE).await_ready()
    operator = server.client()
    for slug in ("busy", "quiet"):
        operator.create_namespace(slug, settings={"control_rate": 0.0})
    busy, quiet = server.client("busy"), server.client("quiet")
    contested = busy.remember(agent="solver", situation="rain", lesson="begin with the base rate")
    quiet.remember(agent="solver", situation="rain", lesson="begin with the base rate")

    def write(number: int) -> bool:
        return busy.edit_experience(contested.id, 1, pinned=bool(number % 2)).version == 1

    with psycopg.connect(superuser) as lock, ThreadPoolExecutor(WRITERS) as crowd:
        lock.execute("SELECT FROM namespace WHERE slug = 'busy' FOR UPDATE")
        writers = [crowd.submit(write, number) for number in range(WRITERS)]
        server.until(lambda: numbers(server)["memlift_calls_waiting"] >= WRITERS - 10)

        assert quiet.retrieve(agent="solver", task=TASK).memories
        assert server.readiness()[0] == 200
        assert numbers(server)["memlift_calls_waiting"] > 0
        assert not any(writer.done() for writer in writers)
        lock.rollback()
        assert all(writer.result() for writer in writers)

    after = numbers(server)
    assert after["memlift_calls_waiting"] == after["memlift_calls_refused"] == 0


def numbers(server: Server) -> dict[str, float]:
    """What `/metrics` says, by name and labels."""
    lines = httpx.get(f"{server.url}/metrics", timeout=30).text.splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}
