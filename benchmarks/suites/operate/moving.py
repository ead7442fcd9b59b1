"""Part of the suite `operate`: a namespace moves to a second deployment while agents write to it
and another namespace is used.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import httpx

from benchmarks.bench import Bench, Served
from benchmarks.metrics import Target, at_least, at_most
from clients.demo.server import fresh_folder, start

ROOT = Path(__file__).parents[3]
OTHER = "stays"
LONGEST = "longest refusal while a namespace moves"
TOLD = "pause, as the command tells it"
WHOLE = "move"
LOST, DOUBLED = "acknowledged writes lost by the move", "writes doubled by the move"
MOVED_EXACT = "beliefs fold to the same bits after the move"
BESIDE_QUIET, BESIDE_MOVING = "longest read beside, quiet", "longest read beside a move"
MOVED, MOVING = 421, 503
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


def run(bench: Bench, client: httpx.Client, slug: str) -> None:
    """Move `slug` away from the server under measurement, which has a data directory."""
    home = bench.server.data
    assert home is not None
    key = {"name": "mover", "role": "agent", "namespace": slug}
    token = _post(client, "/v1/keys", key)["token"]
    _post(client, "/v1/namespaces", {"slug": OTHER})
    there = start(fresh_folder("memlift-target"), {"MEMLIFT_REQUEST_RATE": "1000000"}, bench.say)
    try:
        writers = [Writer(token, bench.server.url, slug, f"agent {n}") for n in range(WRITERS)]
        bench.number(BESIDE_QUIET, _longest_read(client, _lasting(_QUIET_SECONDS)), "ms")
        over = Event()
        with ThreadPoolExecutor(WRITERS + 1) as threads:
            writing = [threads.submit(writer.write_until, over) for writer in writers]
            reading = threads.submit(_longest_read, client, over.is_set)
            try:
                words = ("--to", str(there.data / "address"), "--address", there.url)
                _move(bench, home, slug, *words)
                time.sleep(1)
            finally:
                over.set()
            for one in writing:
                one.result()
            bench.number(BESIDE_MOVING, reading.result(), "ms")
        waits = [wait for writer in writers for wait in writer.waits]
        bench.number(LONGEST, max(waits, default=0.0), "s")
        _compare(bench, Served(there.url, there.key(), there.data, None), slug, writers)
    finally:
        there.stop()
        there.remove()


def _move(bench: Bench, home: Path, slug: str, *words: str) -> None:
    begun = time.monotonic()
    done = subprocess.run(  # noqa: S603 - a command of ours
        [sys.executable, "-m", "server.cli", "move", slug, *words, "--data", str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    bench.number(WHOLE, time.monotonic() - begun, "s")
    for line in (done.stdout + done.stderr).splitlines():
        bench.say(f"move: {line}")
    done.check_returncode()
    told = done.stdout.splitlines()[-1]
    bench.number(TOLD, float(told.partition("answered 503, for ")[2].split(" ")[0]), "s")


def _compare(bench: Bench, there: Served, slug: str, writers: list[Writer]) -> None:
    wanted = [situation for writer in writers for situation in writer.acknowledged]
    headers = {"authorization": f"Bearer {there.key}"}
    with httpx.Client(base_url=there.url, headers=headers, timeout=3600) as client:
        found: list[str] = []
        cursor: str | None = None
        while True:
            query = {"limit": "200"} | ({} if cursor is None else {"cursor": cursor})
            page = client.get(f"/v1/namespaces/{slug}/experiences", params=query)
            page.raise_for_status()
            found += [one["situation"] for one in page.json()["items"]]
            cursor = page.json().get("next_cursor")
            if cursor is None:
                break
        rebuilt = _post(client, f"/v1/namespaces/{slug}/jobs/rebuild/runs", {})
    bench.number("writes acknowledged during the move", len(wanted), "writes")
    bench.number(LOST, len(set(wanted) - set(found)), "writes")
    bench.number(DOUBLED, len(found) - len(set(found)), "writes")
    bench.number(MOVED_EXACT, float(rebuilt["result"]["exact"]), "check")


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


def _post(client: httpx.Client, path: str, body: object) -> dict[str, Any]:
    answer = client.post(path, json=body)
    answer.raise_for_status()
    return json.loads(answer.text)


def targets(found: dict[str, float]) -> list[Target]:
    """Five seconds for one namespace, nothing lost, nothing twice, and the same beliefs."""
    names = (WHOLE, TOLD, BESIDE_QUIET, BESIDE_MOVING)
    parts = {name: found[name] for name in names if name in found}
    return [
        at_most("refusals while a namespace moves, s", 5.0, found.get(LONGEST), parts),
        at_most(LOST, 0.0, found.get(LOST), {}),
        at_most(DOUBLED, 0.0, found.get(DOUBLED), {}),
        at_least(MOVED_EXACT, 1.0, found.get(MOVED_EXACT), {}),
    ]
