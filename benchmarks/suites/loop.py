"""Suite `loop`: what the loop costs over HTTP, beside what its parts cost alone.

A namespace is filled with made experiences; then new tasks are retrieved and their outcomes
reported by one caller and by sixteen. The control arm is off, so that every retrieval is served in
full. The parts are timed with the server idle: embedding one text, the search, one durable receipt.
"""

import asyncio
from collections.abc import Sequence
from itertools import count, islice
from uuid import UUID

from benchmarks import metrics
from benchmarks.bench import Bench
from benchmarks.kernels.commit import Example, commit_alone
from benchmarks.kernels.embedding import embedding_alone
from benchmarks.kernels.search import search_alone
from benchmarks.kernels.size import database_bytes
from benchmarks.load import Hit, Shot, fire, timings
from benchmarks.suites.plan import Suite
from benchmarks.texts import experiences, tasks
from benchmarks.watch import MemoryWatch

ONE, MANY = 1, 16
BATCH = 256
K = 3
LIVE = "live"
RATIO = 1.5
PARTS = ("embedding", "search", "commit", LIVE)


def run(bench: Bench) -> None:
    """Fill, retrieve, report, and time the parts."""
    server = bench.server
    if server.pid is None:
        _measure(bench)
        return
    with MemoryWatch(server.pid, server.data) as watch:
        _measure(bench)
    bench.number("peak_memory_server", watch.server, "bytes")
    bench.number("peak_memory_database", watch.database, "bytes")


def _measure(bench: Bench) -> None:
    prefix, namespace_id = _namespace(bench)
    _fill(bench, prefix)
    receipts = _retrievals(bench, prefix)
    _outcomes(bench, prefix, receipts)
    url = bench.server.database_url()
    if url is None:
        bench.say("the database of this server is not at hand: its parts are not timed apart")
        return
    asyncio.run(_parts(bench, url, Example(namespace_id, UUID(receipts[0]))))


def _namespace(bench: Bench) -> tuple[str, UUID]:
    """A namespace of its own, numbered where earlier runs have left theirs."""
    for number in count(1):
        slug = f"bench-loop-{number}"
        body = {"slug": slug, "settings": {"control_rate": 0.0}}
        [hit] = fire(bench.server, [Shot("POST", "/v1/namespaces", body)], ONE)
        if hit.timing.ok:
            return f"/v1/namespaces/{slug}", UUID(hit.answer["id"])
        if hit.status != CONFLICT:
            raise SystemExit(f"the server refused a namespace: {hit.status} {hit.answer}")
    raise AssertionError("numbers do not end")


def _fill(bench: Bench, prefix: str) -> None:
    made = experiences(bench.settings["experiences"], bench.settings["seed"])
    bench.say(f"storing {bench.settings['experiences']} experiences in batches of {BATCH}")
    while batch := list(islice(made, BATCH)):
        shot = Shot("POST", f"{prefix}/experiences/batch", {"items": batch})
        hits = fire(bench.server, [shot], ONE)
        bench.timed("remember_batch", ONE, timings(hits))
        refused = [i for i in hits[0].answer.get("items", ()) if i["status"] >= FIRST_PROBLEM]
        if not hits[0].timing.ok or refused:
            raise SystemExit(f"experiences were refused: {hits[0].status} {refused[:1]}")


def _retrievals(bench: Bench, prefix: str) -> list[str]:
    """Times of `/health/live` and of retrievals; returns the receipts."""
    seed, shots = bench.settings["seed"], bench.settings["requests"]
    fire(bench.server, _asks(prefix, 20, seed + 1), ONE)
    receipts: list[str] = []
    for callers, number in ((ONE, shots), (MANY, 2 * shots)):
        _timed(bench, LIVE, callers, [Shot("GET", "/health/live")] * number)
        hits = _timed(bench, "retrieve", callers, _asks(prefix, number, seed + 1 + callers))
        receipts += [hit.answer["retrieval_id"] for hit in hits if hit.timing.ok]
    if not receipts:
        raise SystemExit("no retrieval was answered")
    return receipts


def _outcomes(bench: Bench, prefix: str, receipts: Sequence[str]) -> None:
    by_one = bench.settings["requests"]
    shots = [
        Shot("POST", f"{prefix}/retrievals/{receipt}/outcome", {"reward": number % 11 / 10})
        for number, receipt in enumerate(receipts)
    ]
    _timed(bench, "outcome", ONE, shots[:by_one])
    _timed(bench, "outcome", MANY, shots[by_one:])
    _timed(bench, "apply", ONE, [Shot("POST", f"{prefix}/outcomes/apply", {})])


async def _parts(bench: Bench, url: str, example: Example) -> None:
    times, seed = bench.settings["requests"], bench.settings["seed"]
    bench.say("the parts alone")
    bench.timed("embedding", ONE, await embedding_alone(list(tasks(times, seed + 100))))
    texts = list(tasks(times, seed + 101))
    bench.timed("search", ONE, await search_alone(url, example, texts, K))
    bench.timed("commit", ONE, await commit_alone(url, example, times))
    bench.number("database_size", await database_bytes(url), "bytes")


def _asks(prefix: str, number: int, seed: int) -> list[Shot]:
    return [
        Shot("POST", f"{prefix}/retrievals", {"agent": "bench", "task": {"text": text}, "k": K})
        for text in tasks(number, seed)
    ]


def _timed(bench: Bench, operation: str, callers: int, shots: Sequence[Shot]) -> list[Hit]:
    bench.say(f"{operation}: {len(shots)} by {callers}")
    hits = fire(bench.server, shots, callers)
    bench.timed(operation, callers, timings(hits))
    return hits


def targets(rows: Sequence[metrics.Row]) -> list[metrics.Target]:
    """A retrieval costs at most half more than its parts: embedding, search, receipt, no-op."""
    found = metrics.table(rows)
    parts = {n: found[f"{n}@{ONE}"].p50 for n in ("retrieve", *PARTS) if f"{n}@{ONE}" in found}
    whole = len(parts) == len(PARTS) + 1
    measured = parts["retrieve"] / sum(parts[name] for name in PARTS) if whole else None
    name = "retrieve p50 / (embedding + search + commit + live), one caller"
    return [metrics.at_most(name, RATIO, measured, parts)]


CONFLICT = 409
FIRST_PROBLEM = 300

SUITE = Suite(
    about="the loop over HTTP, beside its parts alone",
    settings={"experiences": 10_000, "requests": 400, "seed": 1},
    # A key may ask as fast as it is answered: what is measured is the server, not its limit.
    server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
    run=run,
    targets=targets,
)
