"""Suite `scale`: the same retrievals by one, two and four serving processes on one database, behind
nginx as we ship it. Each process computes with `threads` threads, so that more processes are more
of the machine; run it where there are four times as many cores, and some for the rest.
"""

import shutil
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

import httpx

from benchmarks import metrics
from benchmarks.bench import Bench, Served
from benchmarks.load import Shot, fire, timings
from benchmarks.metrics import Row, Target, at_least, not_run
from benchmarks.suites.plan import Suite
from benchmarks.texts import experiences
from clients.demo.server import fresh_folder, start
from memory.kernel.postgres.embedded.ports import find_free_port

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "deploy/nginx/memlift.conf"
PROCESSES = (1, 2, 4)
BATCH = 256
AIMS = {2: 1.7, 4: 3.0}
"""By processes, how many times the rate of one is aimed at."""
WITHIN = 30.0


def run(bench: Bench) -> None:
    """Fill once; then for each number of processes start them, warm them up, and ask."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        bench.say("needs nginx: apt-get install nginx-light")
        return
    variables = {
        "OMP_NUM_THREADS": str(bench.settings["threads"]),
        "MEMLIFT_REQUEST_RATE": "1000000",
        "MEMLIFT_REQUEST_BURST": "1000000",
        "MEMLIFT_PROXIES": "1",
    }
    first = start(fresh_folder("memlift-scale"), variables, bench.say)
    with ExitStack() as ending:
        ending.callback(first.remove)
        ending.callback(first.stop)
        whole = Served(first.url, first.key(), first.data, first.process.pid)
        _fill(bench, whole)
        shared = variables | {"MEMLIFT_DATABASE_URL": str(whole.database_url())}
        urls = [first.url]
        for number in PROCESSES:
            while len(urls) < number:
                other = start(fresh_folder("memlift-scale"), shared, bench.say)
                ending.callback(other.remove)
                ending.callback(other.stop)
                urls.append(other.url)
            with _balanced(nginx, urls) as url:
                _measure(bench, Served(url, whole.key, None, None), number)


def _fill(bench: Bench, server: Served) -> None:
    headers = {"authorization": f"Bearer {server.key}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=3600) as client:
        for number in range(bench.settings["namespaces"]):
            slug = _slug(number)
            body = {"slug": slug, "settings": {"control_rate": 0}}
            client.post("/v1/namespaces", json=body).raise_for_status()
            rows = experiences(bench.settings["memories"], bench.settings["seed"] + number)
            while batch := list(islice(rows, BATCH)):
                place = f"/v1/namespaces/{slug}/experiences/batch"
                client.post(place, json={"items": batch}).raise_for_status()
    bench.say("filled")


def _measure(bench: Bench, server: Served, processes: int) -> None:
    namespaces, asked = bench.settings["namespaces"], bench.settings["retrievals"]
    callers = bench.settings["callers"]
    shots = [
        Shot(
            "POST",
            f"/v1/namespaces/{_slug(number % namespaces)}/retrievals",
            {"agent": "asker", "task": {"text": f"task {processes}.{number} of the day"}},
        )
        for number in range(asked + namespaces)
    ]
    # Each namespace is read in by the process that has it from now on.
    fire(server, shots[:namespaces], 1)
    begun = time.monotonic()
    hits = fire(server, shots[namespaces:], callers)
    took = time.monotonic() - begun
    bench.timed(_operation(processes), callers, timings(hits))
    well = sum(hit.timing.ok for hit in hits)
    bench.number(_rate(processes), well / took, "a second")
    bench.say(f"{processes} processes: {well / took:.1f} a second, {asked - well} failed")


@contextmanager
def _balanced(nginx: str, urls: Sequence[str]) -> Generator[str]:
    folder, port = fresh_folder("memlift-nginx"), find_free_port()
    before, _, rest = SHIPPED.read_text().partition("    server 127.0.0.1:8001")
    _, _, after = rest.partition("fail_timeout=5s;\n    keepalive")
    lines = "".join(f"    server {url.removeprefix('http://')};\n" for url in urls)
    text = f"{before}{lines}    keepalive{after}"
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}")
    (folder / "memlift.conf").write_text(text.replace("/var/log/nginx", str(folder)))
    alone = shutil.copy(SHIPPED.with_name("alone.conf"), folder)
    process = subprocess.Popen([nginx, "-p", f"{folder}/", "-c", alone])  # noqa: S603 - found on the path
    try:
        _await(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(WITHIN)
        shutil.rmtree(folder, ignore_errors=True)


def _await(url: str) -> None:
    deadline = time.monotonic() + WITHIN
    while True:
        try:
            httpx.get(f"{url}/health/live").raise_for_status()
        except httpx.HTTPError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _slug(number: int) -> str:
    return f"scaled-{number}"


def _operation(processes: int) -> str:
    return f"retrieve_{processes}_processes"


def _rate(processes: int) -> str:
    return f"retrievals by {processes} processes"


def targets(rows: Sequence[Row]) -> list[Target]:
    """More processes answer nearly as many times more."""
    found = metrics.numbers(rows)
    one = found.get(_rate(1))
    made: list[Target] = []
    for processes, aim in AIMS.items():
        name = f"rate of {processes} processes, times that of one"
        rate = found.get(_rate(processes))
        if one is None or rate is None:
            made.append(not_run(name, aim, "needs nginx and a machine with cores for all"))
        else:
            parts = {_rate(1): one, _rate(processes): rate}
            made.append(at_least(name, aim, rate / one, parts))
    return made


SUITE = Suite(
    about="retrievals by 1, 2 and 4 processes behind nginx",
    settings={
        "namespaces": 32,
        "memories": 2_000,
        "retrievals": 8_000,
        "callers": 64,
        "threads": 3,
        "seed": 1,
    },
    server=None,
    run=run,
    targets=targets,
)
