"""A namespace moves between two deployments while an agent writes: nothing acknowledged is lost,
nothing is there twice, and the command may die in the middle.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import httpx
import pytest
from memlift_client import MemLift, NamespaceSettingsFields

from benchmarks.suites.operate.moving import told_pause
from tests.acceptance.servers import PATIENCE_SECONDS, ROOT, Home, Server, command, environment

SLUG = "moving"
SETTINGS = NamespaceSettingsFields(control_rate=0, slot_rate=0, coins=False)


@dataclass
class Writer:
    """An agent that is told to write, and goes wherever it is sent; each write has a key of its
    own, so that one whose answer was lost may be sent again.
    """

    token: str
    address: str
    acknowledged: dict[str, str] = field(default_factory=dict)
    refused: list[tuple[float, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        with httpx.Client(timeout=60) as client:
            while not self.over.is_set():
                self._write_one(client, f"write {len(self.acknowledged)} of the day")

    def _write_one(self, client: httpx.Client, situation: str) -> None:
        headers = {"authorization": f"Bearer {self.token}", "idempotency-key": uuid4().hex}
        body = {"agent": "keeper", "situation": situation, "lesson": f"what {situation} taught"}
        while not self.over.is_set():
            place = f"{self.address}/v1/namespaces/{SLUG}/experiences"
            answer = client.post(place, json=body, headers=headers)
            if answer.status_code == 201:
                self.acknowledged[situation] = answer.json()["id"]
                return
            code = answer.json()["code"]
            if answer.status_code == 421:
                self.address = answer.headers["location"]
            elif (answer.status_code, code) == (503, "namespace_moving"):
                assert int(answer.headers["retry-after"]) >= 1
            else:
                self.others.append(answer.text)
            self.refused.append((time.monotonic(), code))
            time.sleep(0.01)


def test_a_namespace_moves_while_it_is_written_to(
    shared_server: Server, home: Home, begin: Callable[..., Server]
) -> None:
    there = begin(home).await_ready()
    operator = shared_server.client()
    operator.create_namespace(SLUG, settings=SETTINGS)
    token = operator.create_key(name="k", role="agent", namespace=SLUG).token
    here = shared_server.client(SLUG)
    lesson = teach(here)
    weight = here.get_weight(lesson).effective_weight
    assert weight > 1
    writer = Writer(token, shared_server.url)
    writing = threading.Thread(target=writer.write)
    writing.start()
    try:
        words = ["move", SLUG, "--to", home.address, "--address", there.url]
        killed_after_a_round([*map(str, words)], shared_server.home)
        until(lambda: len(writer.acknowledged) > 20, writer)
        moved = command(*words, MEMLIFT_HOME=shared_server.home.data)
        assert moved.returncode == 0, moved.stderr
        so_far = len(writer.acknowledged)
        until(lambda: len(writer.acknowledged) > so_far + 5, writer)
    finally:
        writer.over.set()
        writing.join()

    assert "going on with the move that was begun" in moved.stdout
    assert moved.stdout.splitlines()[-1].startswith(f"moved {SLUG} to {there.url}: ")
    assert " rows; 503 for " in moved.stdout
    assert told_pause(moved.stdout) > 0
    assert not writer.others, writer.others
    assert "namespace_moved" in {code for _, code in writer.refused}
    anew = there.client(SLUG)
    found = {
        one.situation: str(one.id)
        for one in anew.each_experience()
        if one.situation.startswith("write ")
    }
    assert found.items() >= writer.acknowledged.items(), "what was acknowledged is there"
    assert len(found) <= len(writer.acknowledged) + 1, "what was not, at most once"
    assert anew.get_weight(lesson).effective_weight == pytest.approx(weight, rel=1e-3)
    assert (anew.run_job("rebuild").result or {})["exact"] is True
    refused = httpx.get(
        f"{shared_server.url}/v1/namespaces/{SLUG}/memories",
        headers={"authorization": f"Bearer {token}"},
        timeout=30,
    )
    assert (refused.status_code, refused.json()["code"]) == (421, "namespace_moved")
    assert there.url in refused.json()["detail"]
    assert shared_server.readiness()[0] == 200
    give_up_what_is_left(shared_server.home, words)


def give_up_what_is_left(old: Home, words: Sequence[object]) -> None:
    dropped = command("move", SLUG, "--drop-remains", MEMLIFT_HOME=old.data)
    assert f"rows that {SLUG} left at the old place" in dropped.stdout
    freed = command(*words[:4], "--free-name", MEMLIFT_HOME=old.data)
    assert freed.stdout.startswith(f"the name {SLUG} is free"), freed.stderr


def teach(client: MemLift) -> str:
    """An agent learns something that helps; the id of what it learned."""
    client.remember(
        agent="keeper",
        situation="A customer wants to cancel an order that has already shipped",
        lesson="Offer the return label first; cancelling fails once the carrier has the parcel",
    )
    task = "Cancel order 17, it left the warehouse yesterday"
    served = client.retrieve(task, agent="keeper", purpose="paired")
    client.report(served.receipt, reward=1.0, without={"reward": 0.0})
    assert client.apply_outcomes().pending == 0
    return str(served.memories[0].memory_id)


def killed_after_a_round(words: list[str], home: Home) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "server.cli", *words],
        cwd=ROOT,
        env=environment({"MEMLIFT_HOME": str(home.data)}),
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout is not None
    assert " in " in process.stdout.readline()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_SECONDS)
    process.stdout.close()


def until(holds: Callable[[], bool], writer: Writer) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, writer.others
        time.sleep(0.05)
