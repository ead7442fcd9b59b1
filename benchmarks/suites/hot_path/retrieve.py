"""Suite `retrieve`: a retrieval over 10,000 memories, beside the first release and its floor.

Four servers stand side by side, of which one works at a time: the first release, today's that asks
the database (by meaning alone, as it is to be used), and today's that keeps a resident copy, by
words as new namespaces are and by meaning alone. `--set database=0` leaves out the second; with
`--set workers=N` there is one more, of N workers with a copy each, and the memory of each process
is told; with `--set cards=M` there are, beside the copy and the workers, only workers that share M
cards. One caller asks each the same task in turn; then blocks of sixteen callers, and of whole
batches, take turns, and beside a card it is told how busy it is meanwhile. The floor is timed with
the servers idle: embedding one text, one durable receipt in one pipelined round trip, and a call
that does nothing. Of where the time goes inside, the server's own histogram is read before and
after.
"""

import asyncio
import re
import shutil
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

import psutil
import torch

from benchmarks import metrics
from benchmarks.bench import Bench
from benchmarks.kernels.commit import Example, commit_pipelined
from benchmarks.kernels.embedding import embedding_alone
from benchmarks.load import Hit, Shot, fire, fire_in_turn, timings
from benchmarks.metrics import Target, at_least, at_most, not_run
from benchmarks.suites.hot_path.filling import made_texts
from benchmarks.suites.hot_path.servers import (
    BY_MEANING,
    CARDS,
    COPY,
    FIRST,
    GPU,
    MEANING,
    SQL,
    WORKERS,
    Contender,
    contenders,
    read_metrics,
)
from benchmarks.suites.plan import Suite
from benchmarks.texts import tasks

ONE = 1
WARM = 12
ROUNDS = 2
BATCH = 64
MANY = 128
LIVE, DEVICE, COMMIT = "live", "device", "commit"
BUSY = "busy"
NAMES = (FIRST, SQL, COPY, MEANING)
BUSY_EVERY = 0.1
"""Seconds between two readings of how busy a card is."""
STAGE = re.compile(
    r'memlift_retrieval_stage_seconds_(sum|count){stage="(\w+)"(?:,worker="\d+")?} (\S+)'
)
NO_CARD = "(no card here)"
NO_FIRST = "(no source of the first release here)"


def run(bench: Bench) -> None:
    """Fill, ask in turn, ask at once, ask in batches, and time the floor."""
    bench.number(GPU, float(torch.cuda.is_available()), "cards")
    bench.say("embedding, where that was not done before")
    texts = made_texts(bench.folder.parent, bench.settings["memories"], bench.settings["seed"])
    names = [name for name in NAMES if name != SQL or bench.settings["database"]]
    names += [WORKERS] if bench.settings["workers"] > 1 else []
    if bench.settings["cards"] > 1:
        names = [COPY, WORKERS, CARDS]
    bench.say(f"by meaning alone (rerank none): {', '.join(sorted(BY_MEANING & {*names}))}")
    with contenders(bench, names, texts) as found:
        _warm(bench, found)
        receipts = _by_one(bench, found)
        _by_many(bench, found)
        _in_batches(bench, found)
        _memory(bench, found)
        asyncio.run(_floor(bench, found[COPY], UUID(receipts[COPY])))


def _warm(bench: Bench, found: Mapping[str, Contender]) -> None:
    """By callers at once where there are workers, so that each of them has made its copy."""
    for name, one in found.items():
        callers = bench.settings["callers"] if name in (WORKERS, CARDS) else ONE
        texts = tasks(WARM * callers, bench.settings["seed"] + 1)
        fire(one.served, [one.ask(text) for text in texts], callers)


def _by_one(bench: Bench, found: Mapping[str, Contender]) -> Mapping[str, str]:
    """Of each server a receipt."""
    count, seed = bench.settings["requests"], bench.settings["seed"]
    bench.say(f"{count} tasks by one caller, each of every server")
    before = {name: _stages(one) for name, one in found.items()}
    rounds = [[one.ask(text) for one in found.values()] for text in tasks(count, seed + 2)]
    hits = _in_turn(found, rounds)
    for name, some in hits.items():
        bench.timed(f"retrieve_{name}", ONE, timings(some))
    for name, one in found.items():
        for stage, seconds in _stages(one).items():
            spent = seconds - before[name].get(stage, 0.0)
            bench.number(f"stage_{name}_{stage}", 1000 * spent / count, "ms a retrieval, mean")
    return {name: str(some[-1].answer["retrieval_id"]) for name, some in hits.items()}


def _in_turn(
    found: Mapping[str, Contender], rounds: Sequence[Sequence[Shot]]
) -> Mapping[str, list[Hit]]:
    hits = fire_in_turn([one.served for one in found.values()], rounds)
    for name, some in zip(found, hits, strict=True):
        if not all(hit.timing.ok for hit in some):
            statuses = sorted({hit.status for hit in some})
            raise SystemExit(f"{name} answered with {statuses}")
    return dict(zip(found, hits, strict=True))


def _by_many(bench: Bench, found: Mapping[str, Contender]) -> None:
    """Blocks in turn, so that a spell of other work on the machine meets all of them."""
    count, callers = bench.settings["requests"], bench.settings["callers"]
    for number in range(ROUNDS):
        for name, one in found.items():
            bench.say(f"{count} tasks by {callers} callers: {name}")
            seed = bench.settings["seed"] + 10 + number
            with _watched_card(bench, name):
                hits = fire(one.served, [one.ask(text) for text in tasks(count, seed)], callers)
            bench.timed(f"retrieve_{name}_{number}", callers, timings(hits))


@contextmanager
def _watched_card(bench: Bench, name: str) -> Generator[None]:
    """Keeps the share of the time in which the cards computed anything, mean of all readings."""
    if not torch.cuda.is_available():
        yield
        return
    found: list[float] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(BUSY_EVERY):
            found.extend(_busy_now())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        if found:
            bench.number(f"{BUSY}_{name}", sum(found) / len(found), "% of the time")


def _busy_now() -> list[float]:
    """Of each card, by the driver's library, else by its program; nothing without either."""
    try:
        return [float(torch.cuda.utilization(card)) for card in range(torch.cuda.device_count())]
    except (ModuleNotFoundError, RuntimeError):
        program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words, no shell
    return [float(line) for line in done.stdout.split() if line.isdigit()]


def _in_batches(bench: Bench, found: Mapping[str, Contender]) -> None:
    """Batches, each beside a single task."""
    count, seed = bench.settings["batches"], bench.settings["seed"] + 30
    bench.say(f"{count} batches of {BATCH}, of every server")
    for number in range(count):
        texts = list(tasks(BATCH + 1, seed + number))
        rounds = [
            [one.ask(texts[0]) for one in found.values()],
            [one.ask_all(texts[1:]) for one in found.values()],
        ]
        for name, (single, batch) in _in_turn(found, rounds).items():
            bench.timed(f"single_{name}", ONE, timings([single]))
            bench.timed(f"batch_{name}", ONE, timings([batch]))


def _memory(bench: Bench, found: Mapping[str, Contender]) -> None:
    """Of each process of today's servers, without the database: resident, and its share of what
    processes have in common.
    """
    for name in (COPY, WORKERS, CARDS):
        if name not in found or found[name].served.pid is None:
            continue
        own = psutil.Process(found[name].served.pid)
        kept = [own, *(one for one in own.children() if "spawn_main" in " ".join(one.cmdline()))]
        for place, process in enumerate(kept):
            taken = process.memory_full_info()
            bench.number(f"rss_{name}_{place}", taken.rss / 2**20, "MiB")
            bench.number(f"pss_{name}_{place}", taken.pss / 2**20, "MiB")


async def _floor(bench: Bench, one: Contender, retrieval_id: UUID) -> None:
    count, seed = bench.settings["requests"], bench.settings["seed"] + 60
    bench.say("the floor: device, commit, and a call that does nothing")
    bench.timed(DEVICE, ONE, await embedding_alone(list(tasks(count, seed))))
    example = Example(one.namespace_id, retrieval_id)
    bench.timed(COMMIT, ONE, await commit_pipelined(one.database_url, example, count))
    live = fire(one.served, [Shot("GET", "/health/live")] * count, ONE)
    bench.timed(LIVE, ONE, timings(live))


def _stages(one: Contender) -> Mapping[str, float]:
    """Seconds by stage since the server's start; nothing of a server that does not say."""
    spent: dict[str, float] = {}
    for kind, stage, value in STAGE.findall(read_metrics(one.served)):
        if kind == "sum":
            spent[stage] = spent.get(stage, 0.0) + float(value)
    return spent


def targets(rows: Sequence[metrics.Row]) -> list[Target]:
    """Against the first release, against the floor, its tail, and what a batch gains."""
    found = metrics.table(rows)
    p50 = {name: one.p50 for name, one in found.items()}
    copy, first = p50.get(f"retrieve_{COPY}@1"), p50.get(f"retrieve_{FIRST}@1")
    floor = {name: p50[f"{name}@1"] for name in (DEVICE, COMMIT, LIVE) if f"{name}@1" in p50}
    whole = None if len(floor) < 3 else sum(floor.values())  # noqa: PLR2004 - all of them
    tail = found.get(f"retrieve_{COPY}@1")
    batch, single = p50.get(f"batch_{COPY}@1"), p50.get(f"single_{COPY}@1")
    mine = {} if copy is None else {"p50": copy}
    return [
        *_against_first(rows, copy, first),
        at_most("p50 / (device + commit + live)", 2.0, _over(copy, whole), mine | floor),
        at_most("p99 / p50, one caller", 2.0, None if tail is None else tail.p99 / tail.p50, mine),
        *_throughput(rows),
        _cards(rows),
        _busy(rows),
        at_most(f"batch of {BATCH} / one task", 8.0, _over(batch, single), {}),
    ]


def _against_first(
    rows: Sequence[metrics.Row], copy: float | None, first: float | None
) -> list[Target]:
    has_card = bool(metrics.numbers(rows).get(GPU))
    names = ("p50 / first release, two cores", "p50 / first release, GPU")
    parts = {} if copy is None or first is None else {"p50": copy, FIRST: first}
    here = at_most(names[has_card], (1 / 3, 1 / 10)[has_card], _over(copy, first), parts)
    if copy is not None and first is None:
        here = not_run(here.name, here.target, NO_FIRST)
    other = not_run(names[1], 1 / 10, NO_CARD)
    return [here] if has_card else [here, other]


def _throughput(rows: Sequence[metrics.Row]) -> list[Target]:
    """Answers a second over both rounds: 64 callers with a card, else 16."""
    has_card = bool(metrics.numbers(rows).get(GPU))
    callers, times = (64, 12.0) if has_card else (16, 6.0)
    rates = {name: _rate(rows, name, callers) for name in (*NAMES, WORKERS)}
    name = f"retrievals a second / first release, {callers} callers"
    parts = {one: rate for one, rate in rates.items() if rate is not None}
    targets = [at_least(name, times, _over(rates[COPY], rates[FIRST]), parts)]
    if not has_card:
        targets.append(
            not_run("retrievals a second / first release, 64 callers, GPU", 12.0, NO_CARD)
        )
    return targets


def _cards(rows: Sequence[metrics.Row]) -> Target:
    """Several cards against one, with as many workers."""
    name, most = f"retrievals a second, {MANY} callers: several cards / one", 1.7
    rates = {one: _rate(rows, one, MANY) for one in (WORKERS, CARDS)}
    if rates[CARDS] is None:
        return not_run(name, most, "(not run with several cards)")
    parts = {one: rate for one, rate in rates.items() if rate is not None}
    return at_least(name, most, _over(rates[CARDS], rates[WORKERS]), parts)


def _busy(rows: Sequence[metrics.Row]) -> Target:
    """Stated, as the issue asks: there is no share that is wanted."""
    name = "share of the time in which the card computed, %, many callers (stated)"
    parts = {n: v for n, v in metrics.numbers(rows).items() if n.startswith(BUSY)}
    if not parts:
        return not_run(name, 0.0, NO_CARD)
    return at_least(name, 0.0, max(parts.values()), parts)


def _rate(rows: Sequence[metrics.Row], name: str, callers: int) -> float | None:
    parts = [metrics.timings(rows, f"retrieve_{name}_{n}", callers) for n in range(ROUNDS)]
    found = [metrics.figures(part) for part in parts if part]
    if not found:
        return None
    return sum(one.n for one in found) / sum(one.n / one.rate for one in found)


def _over(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one / other


SUITE = Suite(
    about="a retrieval over 10,000 memories, beside the first release and its floor",
    settings={
        "memories": 10_000,
        "requests": 200,
        "callers": 16,
        "batches": 5,
        "seed": 1,
        "settle": 75,
        "workers": 1,
        "cards": 1,
        "database": 1,
    },
    server=None,
    run=run,
    targets=targets,
)
