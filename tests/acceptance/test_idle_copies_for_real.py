"""Erased words leave the copies of processes that are no longer asked about them."""

import re
from collections.abc import Callable
from uuid import uuid4

import httpx

from tests.acceptance.servers import Home, Server


def held(server: Server) -> int:
    """Memories in the copies of a process."""
    said = httpx.get(f"{server.url}/metrics", timeout=30).text
    found = re.search(r"^memlift_resident_memories (\S+)$", said, re.MULTILINE)
    assert found is not None, said
    return int(float(found[1]))


def test_a_process_that_nobody_asks_drops_what_another_erased(
    shared_server: Server, begin: Callable[..., Server]
):
    idle = begin(
        Home(shared_server.home.data.with_name(f"idle-{uuid4().hex[:8]}")),
        MEMLIFT_DATABASE_URL=shared_server.home.url(),
        MEMLIFT_RESIDENT_BYTES=64 * 1024**2,
    ).await_ready()
    slug = f"idle-{uuid4().hex[:8]}"
    shared_server.client().create_namespace(slug)
    writer = shared_server.client(slug)
    kept = writer.remember(agent="keeper", situation="rain is forecast", lesson="close the windows")
    secret = writer.remember(
        agent="keeper", situation="the vault is locked", lesson="it opens with the dog's name"
    )
    key = shared_server.home.operator_key.read_text().strip()
    idle.client(slug, key=key).retrieve("The vault has to be opened", agent="keeper")
    idle.until(lambda: held(idle) == 2)

    writer.erase(memory_id=secret.id)

    # Only its metrics are asked for from here on.
    idle.until(lambda: held(idle) == 1)
    assert writer.get_memory(kept.id).status == "active"
