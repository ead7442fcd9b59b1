"""Part of the suite `operate`: a namespace moves to a second deployment while agents write to it
and another namespace is used.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from subprocess import CalledProcessError
from threading import Event
from uuid import uuid4

import httpx

from benchmarks.metrics import Target, at_least, at_most
from benchmarks.suites.operate.bank import PATIENCE, SLUG, Operated
from clients.demo.server import LocalServer, fresh_folder, start

OTHER = "stays"
WRITTEN = "writes acknowledged during the move"
LONGEST = "longest refusal while a namespace moves"
TOLD = "pause, as the command tells it"
WHOLE = "move"
LOST, DOUBLED = "acknowledged writes lost by the move", "writes doubled by the move"
MOVED_EXACT = "beliefs fold to the same bits after the move"
BESIDE_QUIET, BESIDE_MOVING = "longest read beside, quiet", "longest read beside a move"
MOVED, MOVING = 421, 503
BEGUN, MOST_MOVES = "moves that were begun", 3
WRITERS = 4
_QUIET_SECONDS = 3.0


@dataclass
class Writer:
    """One agent: each write is sent until it is acknowledged, wherever it is sent to."""

    token: str
    address: str
    slug: str
    name: str
    acknowledged: list[str] = field(default_factory=list[str])
    waits: list[float] = field(default_factory=list[float])
    """Seconds from a first refusal to the answer."""

    def write_until(self, over: Event) -> None:
        with httpx.Client(timeout=120) as client:
            for number in count():
                if over.is_set():
                    return
                self._write(client, f"{self.name}, write {number} of the day")

    def _write(self, client: httpx.Client, situation: str) -> None:
        headers = {"authorization": f"Bearer {self.token}", "idempotency-key": uuid4().hex}
        body = {"agent": self.name, "situation": situation, "lesson": f"what {situation} taught"}
        refused_at: float | None = None
        while True:
            place = f"{self.address}/v1/namespaces/{self.slug}/experiences"
            answer = client.post(place, json=body, headers=headers)
            if answer.is_success:
                break
            refused_at = refused_at or time.monotonic()
            if answer.status_code == MOVED:
                self.address = answer.headers["location"]
            elif answer.status_code != MOVING:
                answer.raise_for_status()
            time.sleep(0.01)
        self.acknowledged.append(situation)
        if refused_at is not None:
            self.waits.append(time.monotonic() - refused_at)


def run(operated: Operated) -> None:
    """Move the namespace away from the server under measurement."""
    bench, client = operated.bench, operated.client
    key = {"name": "mover", "role": "agent", "namespace": SLUG}
    token = operated.post("/v1/keys", key)["token"]
    operated.post("/v1/namespaces", {"slug": OTHER})
    there = start(fresh_folder("memlift-target"), {"MEMLIFT_REQUEST_RATE": "1000000"}, bench.say)
    try:
        writers = [Writer(token, bench.server.url, SLUG, f"agent {n}") for n in range(WRITERS)]
        bench.number(BESIDE_QUIET, _longest_read(client, _lasting(_QUIET_SECONDS)), "ms")
        over = Event()
        with ThreadPoolExecutor(WRITERS + 1) as threads:
            writing = [threads.submit(writer.write_until, over) for writer in writers]
            reading = threads.submit(_longest_read, client, over.is_set)
            try:
                words = ("--to", there.data / "address", "--address", there.url)
                said = _move(operated, *words)
                time.sleep(1)
            finally:
                over.set()
            for one in writing:
                one.result()
            bench.number(BESIDE_MOVING, reading.result(), "ms")
        bench.number(TOLD, told_pause(said), "s")
        waits = [wait for writer in writers for wait in writer.waits]
        bench.number(LONGEST, max(waits, default=0.0), "s")
        _compare(operated, there, writers)
    finally:
        there.stop()
        there.remove()


def _move(operated: Operated, *words: object) -> str:
    """What the command said at last: where the last round took longer than the pause, the namespace
    is served where it was, and an operator moves it again.
    """
    for begun in range(1, MOST_MOVES + 1):
        operated.bench.number(BEGUN, begun, "moves")
        try:
            return operated.command(WHOLE, "move", SLUG, *words)
        except CalledProcessError:
            if begun == MOST_MOVES:
                raise
    raise AssertionError("a move was begun")


def told_pause(said: str) -> float:
    """Seconds without answers, from the last line of the command."""
    return float(said.splitlines()[-1].partition("; 503 for ")[2].split(" ")[0])


def _compare(operated: Operated, there: LocalServer, writers: list[Writer]) -> None:
    """What was written during the move, and is at its new place."""
    bench = operated.bench
    wanted = [situation for writer in writers for situation in writer.acknowledged]
    headers = {"authorization": f"Bearer {there.key()}"}
    with httpx.Client(base_url=there.url, headers=headers, timeout=PATIENCE) as client:
        moved = Operated(bench, client, there.data)
        found = [text for writer in writers for text in _written(client, writer.name)]
        rebuilt = moved.post(f"/v1/namespaces/{SLUG}/jobs/rebuild/runs", {})
    bench.number(WRITTEN, len(wanted), "writes")
    bench.number(LOST, len(set(wanted) - set(found)), "writes")
    bench.number(DOUBLED, len(found) - len(set(found)), "writes")
    bench.number(MOVED_EXACT, float(rebuilt["result"]["exact"]), "check")


def _written(client: httpx.Client, agent: str) -> list[str]:
    """Situations of all that this agent has written."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": "200", "agent": agent} | ({} if cursor is None else {"cursor": cursor})
        page = client.get(f"/v1/namespaces/{SLUG}/experiences", params=query)
        page.raise_for_status()
        found += [one["situation"] for one in page.json()["items"]]
        cursor = page.json().get("next_cursor")
        if cursor is None:
            return found


def _longest_read(client: httpx.Client, over: Callable[[], bool]) -> float:
    longest = 0.0
    while not over():
        begun = time.monotonic()
        client.get(f"/v1/namespaces/{OTHER}/experiences").raise_for_status()
        longest = max(longest, (time.monotonic() - begun) * 1000)
        time.sleep(0.01)
    return longest


def _lasting(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def targets(found: Mapping[str, float]) -> list[Target]:
    """Five seconds for one namespace, nothing lost, nothing twice, and the same beliefs."""
    names = (WHOLE, BEGUN, TOLD, WRITTEN, BESIDE_QUIET, BESIDE_MOVING)
    parts = {name: found[name] for name in names if name in found}
    return [
        at_most("refusals while a namespace moves, s", 5.0, found.get(LONGEST), parts),
        at_most(LOST, 0.0, found.get(LOST), {}),
        at_most(DOUBLED, 0.0, found.get(DOUBLED), {}),
        at_least(MOVED_EXACT, 1.0, found.get(MOVED_EXACT), {}),
    ]
