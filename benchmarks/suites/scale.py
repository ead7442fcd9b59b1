"""Suite `scale`: the same retrievals by one, two and four serving processes on one database, behind
nginx as we ship it. Each process computes with `threads` threads, so that more processes are more
of the machine; run it where there are four times as many cores, and some for the rest.

`--set balancer=/path/to/nginx` names a binary that is not on the path. With `--set balancer=none`
there is none: the callers send each namespace to one of the processes by themselves, which costs
nobody an exchange more and spreads namespaces evenly.
"""

import shutil
import subprocess
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil

from benchmarks import metrics
from benchmarks.bench import Bench, Served
from benchmarks.load import Hit, Shot, fire, timings
from benchmarks.metrics import Row, Target, at_least, not_run
from benchmarks.suites.hot_path.filling import made_texts
from benchmarks.suites.hot_path.servers import UNLIMITED, prepare
from benchmarks.suites.plan import Suite
from clients.demo.server import LocalServer, fresh_folder, start
from memory.kernel.postgres.embedded.ports import find_free_port

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "deploy/nginx/memlift.conf"
PROCESSES = (1, 2, 4)
AIMS = {2: 1.7, 4: 3.0}
"""By processes, how many times the rate of one is aimed at."""
WITHIN = 30.0
NGINX, NONE = "nginx", "none"


def run(bench: Bench) -> None:
    """Fill once; then for each number of processes start them, warm them up, and ask."""
    balancer = _balancer(bench.words["balancer"])
    bench.say(f"balancer: {balancer or 'none, the callers spread namespaces over the processes'}")
    texts = made_texts(bench.folder.parent, bench.settings["memories"], bench.settings["seed"])
    variables = {
        **UNLIMITED,
        "OMP_NUM_THREADS": str(bench.settings["threads"]),
        "MEMLIFT_PROXIES": "1",
    }
    with ExitStack() as ending:
        servers = [_begin(bench, variables, ending)]
        whole = _served(servers[0])
        for number in range(bench.settings["namespaces"]):
            prepare(_slug(number), whole, texts, _slug(number))
        bench.say(f"filled {bench.settings['namespaces']} namespaces")
        shared = variables | {"MEMLIFT_DATABASE_URL": str(whole.database_url())}
        for number in PROCESSES:
            while len(servers) < number:
                servers.append(_begin(bench, shared, ending))
            urls = [server.url for server in servers]
            if balancer is None:
                _measure(bench, servers, [Served(url, whole.key, None, None) for url in urls])
                continue
            with _balanced(balancer, urls) as url:
                _measure(bench, servers, [Served(url, whole.key, None, None)])


def _balancer(asked: str) -> str | None:
    """The nginx to start, None where there is to be none. Raises SystemExit where none is found."""
    if asked == NONE:
        return None
    found = shutil.which(asked) or shutil.which(asked, path="/usr/sbin")
    if found is None:
        raise SystemExit(
            f"{asked} is not found: apt-get install nginx-light, --set balancer=/path/to/nginx or "
            "--set balancer=none"
        )
    return found


def _begin(bench: Bench, variables: dict[str, str], ending: ExitStack) -> LocalServer:
    server = start(fresh_folder("memlift-scale"), variables, bench.say)
    ending.callback(server.remove)
    ending.callback(server.stop)
    return server


def _served(server: LocalServer) -> Served:
    return Served(server.url, server.key(), server.data, server.process.pid)


def _measure(bench: Bench, servers: Sequence[LocalServer], doors: Sequence[Served]) -> None:
    """Through one door, or through as many as there are processes, each with its namespaces."""
    processes, namespaces = len(servers), bench.settings["namespaces"]
    asked, callers = bench.settings["retrievals"], bench.settings["callers"]
    shots = [
        Shot(
            "POST",
            f"/v1/namespaces/{_slug(number % namespaces)}/retrievals",
            {"agent": "asker", "task": {"text": f"task {processes}.{number} of the day"}},
        )
        for number in range(asked + namespaces)
    ]
    # Each namespace is read in by the process that has it from now on.
    _through(doors, shots[:namespaces], namespaces, len(doors))
    spent = [_spent(server) for server in servers]
    begun = time.monotonic()
    hits = _through(doors, shots[namespaces:], namespaces, callers)
    took = time.monotonic() - begun
    bench.timed(_operation(processes), callers, timings(hits))
    well = sum(hit.timing.ok for hit in hits)
    bench.number(_rate(processes), well / took, "a second")
    bench.say(f"{processes} processes: {well / took:.1f} a second, {asked - well} failed")
    for place, (server, before) in enumerate(zip(servers, spent, strict=True)):
        name = f"processor time of process {place + 1} of {processes}"
        bench.number(name, _spent(server) - before, "s")


def _through(
    doors: Sequence[Served], shots: Sequence[Shot], namespaces: int, callers: int
) -> list[Hit]:
    """All shots; where there are several doors, a namespace goes to one of them, always the same,
    and callers are shared out evenly.
    """
    shares = [
        [shot for number, shot in enumerate(shots) if number % namespaces % len(doors) == place]
        for place in range(len(doors))
    ]
    with ThreadPoolExecutor(len(doors)) as pool:
        each = [callers // len(doors)] * len(doors)
        return [hit for hits in pool.map(fire, doors, shares, each) for hit in hits]


def _spent(server: LocalServer) -> float:
    """Seconds of processor time, without those of a database that it supervises."""
    own = psutil.Process(server.process.pid)
    family = [own, *own.children(recursive=True)]
    times = [one.cpu_times() for one in family if one.name() != "postgres"]
    return sum(one.user + one.system for one in times)


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
            made.append(not_run(name, aim, "needs a machine with cores for all"))
        else:
            parts = {_rate(1): one, _rate(processes): rate}
            made.append(at_least(name, aim, rate / one, parts))
    return made


SUITE = Suite(
    about="retrievals by 1, 2 and 4 processes on one database, behind nginx",
    settings={
        "namespaces": 64,
        "memories": 500,
        "retrievals": 3_000,
        "callers": 64,
        "threads": 3,
        "seed": 1,
    },
    server=None,
    run=run,
    targets=targets,
    words={"balancer": NGINX},
)
