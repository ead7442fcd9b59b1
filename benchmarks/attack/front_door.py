"""The front door: hundreds of requests without a key at once, while a legitimate caller asks.

`python -m benchmarks.attack.front_door SECONDS URL…` is the crowd, in a process of its own so that
it does not take the caller's time. Every five seconds 500 requests come at once: unknown keys, no
keys, the readiness check, and bodies that nobody asked for.
"""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from benchmarks.attack.bank import task
from benchmarks.attack.siege import Grounds
from benchmarks.attack.wire import Caller
from benchmarks.attack.world import K, open_world, settle
from benchmarks.bench import Timing

CROWD = 500
EVERY = 5.0
SECONDS = 30
TICK = 0.1
CALLERS = 48
TEXTS = 20
PATIENCE = 60.0
QUIET, CROWDED = "ask_quiet", "ask_crowded"


def measure(grounds: Grounds) -> dict[str, list[Timing]]:
    """How long a legitimate caller waits, without the crowd and with it."""
    world = open_world(grounds.admin, grounds.urls, grounds.seed, "front-door")
    settle(world, rounds=0)
    notes = [note for note in world.notes if not note.fresh][:TEXTS]
    asks = [{"agent": "alder", "task": {"text": task(n, 0, 0)}, "k": K} for n in notes]
    token, path = world.honest["alder"].caller.token, world.path("/retrievals")
    door = _Door(token, grounds.urls, path, asks)
    door.warm()
    found = {QUIET: door.ask_steadily()}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.attack.front_door", str(SECONDS), *grounds.urls]
    crowd = subprocess.Popen(command, cwd=root)  # noqa: S603 - our own command line, no shell
    try:
        found[CROWDED] = door.ask_steadily()
    finally:
        crowd.terminate()
        crowd.wait()
    world.close()
    return found


class _Door:
    """A caller that asks every tenth of a second, whether it was answered or not."""

    def __init__(self, token: str, urls: Sequence[str], path: str, asks: Sequence[object]) -> None:
        self._token, self._urls, self._path, self._asks = token, urls, path, asks
        self._own = threading.local()

    def warm(self) -> None:
        for body in [*self._asks] * len(self._urls):
            self._caller().demand("POST", self._path, body)

    def ask_steadily(self) -> list[Timing]:
        began = time.perf_counter()
        with ThreadPoolExecutor(CALLERS) as callers:
            asked = []
            for number in range(int(SECONDS / TICK)):
                due = began + number * TICK
                time.sleep(max(0.0, due - time.perf_counter()))
                asked.append(callers.submit(self._ask, number, due))
            return [one.result() for one in asked]

    def _ask(self, number: int, due: float) -> Timing:
        """Timed from when it was due: who waits for a free line waits too."""
        body = self._asks[number % len(self._asks)]
        answer = self._caller().ask("POST", self._path, body)
        return Timing(due, (time.perf_counter() - due) * 1000, answer.good)

    def _caller(self) -> Caller:
        caller = getattr(self._own, "caller", None)
        if caller is None:
            caller = self._own.caller = Caller(self._token, self._urls)
        return caller


async def crowd(urls: Sequence[str], seconds: float) -> Counter[int]:
    """All bursts; how often each status came (0: no answer)."""
    answered: Counter[int] = Counter()
    tasks: list[asyncio.Task[int]] = []
    began = time.monotonic()
    for burst in range(int(seconds / EVERY)):
        await asyncio.sleep(max(0.0, began + burst * EVERY - time.monotonic()))
        tasks += [
            asyncio.create_task(_knock(urls[n % len(urls)], n // len(urls))) for n in range(CROWD)
        ]
    answered.update(await asyncio.gather(*tasks))
    return answered


async def _knock(url: str, number: int) -> int:
    place = urlsplit(url)
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            try:
                writer.write(request(number, place.netloc))
                await writer.drain()
                line = await reader.readline()
                await reader.read()
                return int(line.split()[1])
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError, IndexError):
        return 0


def request(number: int, host: str) -> bytes:
    """One of four that need no key, in turn."""
    body = json.dumps({"agent": "x", "task": {"text": "y" * 500}}).encode()
    large = json.dumps({"agent": "x", "task": {"text": "y" * 100_000}}).encode()
    head = f"Host: {host}\r\nConnection: close\r\n"
    json_head = f"{head}Content-Type: application/json\r\n"
    # Of the right form, and another one each time.
    unknown = f"ml_{uuid4().hex}_{'ab' * 32}"
    known = "/v1/namespaces/default/retrievals"
    return (
        f"POST {known} HTTP/1.1\r\n{json_head}Authorization: Bearer {unknown}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body,
        f"GET {known} HTTP/1.1\r\n{head}\r\n".encode(),
        f"GET /health/ready HTTP/1.1\r\n{head}\r\n".encode(),
        f"POST {known} HTTP/1.1\r\n{json_head}Content-Length: {len(large)}\r\n\r\n".encode()
        + large,
    )[number % 4]


def main(words: Sequence[str]) -> None:
    seconds, *urls = words
    found = asyncio.run(crowd(urls, float(seconds)))
    print("    the crowd was answered", dict(sorted(found.items())), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
