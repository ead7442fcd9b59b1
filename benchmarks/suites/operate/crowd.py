"""Many callers in a process of their own, so that they do not slow whoever measures beside them.

`python -m benchmarks.suites.operate.crowd KIND URL NAMESPACE SECONDS`, with the key on its input:
`writers` are 200 who edit one memory, `loaders` eight who bring batches of 256 memories. It prints
how many calls were answered, and how many of them well.
"""

import itertools
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from benchmarks.bench import Served
from benchmarks.load import Line, Shot
from benchmarks.texts import experiences

WRITERS, LOADERS, BATCH = 200, 8, 256
PAUSE = 0.2
"""Before a call after one that was refused, as a client that is told to come back."""
Answers = list[bool]


def main(words: list[str]) -> None:
    kind, url, namespace, seconds = words
    server = Served(url, sys.stdin.readline().strip(), None, None)
    callers = {"writers": (WRITERS, write), "loaders": (LOADERS, load)}
    count, act = callers[kind]
    over = time.monotonic() + float(seconds)
    memory = _first(server, namespace)
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    answers: Answers = []
    lock = threading.Lock()

    def one(number: int) -> None:
        said = act(server, namespace, number, lambda: time.monotonic() < over, memory)
        with lock:
            answers.extend(said)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))
    sys.stdout.write(f"{len(answers)} {sum(answers)}\n")


Goes = Callable[[], bool]


def write(server: Served, namespace: str, number: int, goes: Goes, memory: str) -> Answers:
    """Edit the one memory, upon whatever version it has now."""
    path = f"/v1/namespaces/{namespace}/experiences/{memory}"
    said: Answers = []
    with closing(Line(server)) as line:
        for turn in itertools.count():
            if not goes():
                return said
            read = line.fire(Shot("GET", path))
            body = {"lesson": f"wording {turn} of writer {number}"}
            etag = {"If-Match": f'"{read.answer.get("version", 1)}"'}
            hit = line.fire(Shot("PATCH", path, body, etag))
            said.append(hit.timing.ok)
            if not hit.timing.ok:
                time.sleep(PAUSE)
    return said


def load(server: Served, namespace: str, number: int, goes: Goes, _: str) -> Answers:
    """Bring batch after batch of memories that are not there yet."""
    path = f"/v1/namespaces/{namespace}/experiences/batch"
    rows = experiences(10**9, 1_000 + number)
    said: Answers = []
    with closing(Line(server)) as line:
        while goes():
            batch = [row | {"agent": f"agent-{number}"} for row in itertools.islice(rows, BATCH)]
            hit = line.fire(Shot("POST", path, {"items": batch}))
            said.append(hit.timing.ok)
            if not hit.timing.ok:
                time.sleep(PAUSE)
    return said


def _first(server: Served, namespace: str) -> str:
    with closing(Line(server)) as line:
        listed = line.fire(Shot("GET", f"/v1/namespaces/{namespace}/experiences?limit=1"))
    return str(listed.answer["items"][0]["id"])


if __name__ == "__main__":
    main(sys.argv[1:])
