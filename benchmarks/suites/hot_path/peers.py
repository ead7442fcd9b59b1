"""Suite `peers`: a read beside mem0, on the same texts, with the same model and no language model.

Both hold the same memories; mem0 stores one text of each, ours a situation and a lesson. One caller
asks both the same in turn, then blocks of one and of sixteen callers take turns. The processor time
of a block is that of the server and of its database, read off the processes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from benchmarks import metrics
from benchmarks.bench import Bench, Served
from benchmarks.kernels.embedding import embedded
from benchmarks.load import Shot, fire, fire_in_turn, timings
from benchmarks.metrics import Row, Target, at_least, at_most, not_run
from benchmarks.peers import mem0
from benchmarks.suites.hot_path.filling import Texts, made_texts
from benchmarks.suites.hot_path.servers import COPY, prepare, serving, settle
from benchmarks.suites.plan import Suite
from benchmarks.texts import tasks
from benchmarks.watch import family, postmaster

ONE, MANY = 1, 16
ROUNDS = 2
WARM = 12
K = 10
MEM0 = "mem0"
NAMES = (COPY, MEM0)
READY = "mem0_is_installed"


@dataclass(frozen=True, slots=True)
class _Peer:
    """A server and how it is asked."""

    served: Served
    ask: Callable[[str], Shot]

    def seconds(self) -> float:
        """Processor time of server and database since they started."""
        assert self.served.pid is not None
        assert self.served.data is not None
        heads = {self.served.pid, postmaster(self.served.data)} - {None}
        found = {one.pid: one for pid in heads if pid is not None for one in family(pid)}
        return sum(map(_spent, found.values()))


def _spent(process: psutil.Process) -> float:
    """Its own, and that of children that have ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system + times.children_user + times.children_system


def run(bench: Bench) -> None:
    """Fill both with the same, ask in turn, then in blocks."""
    bench.number(READY, float(mem0.PYTHON.exists()), "")
    if not mem0.PYTHON.exists():
        bench.say("mem0 is not installed (`make install-peers`): nothing is measured")
        return
    bench.say("embedding, where that was not done before")
    texts = made_texts(bench.folder.parent, bench.settings["memories"], bench.settings["seed"])
    with serving(COPY) as ours, mem0.serving() as theirs:
        contender = prepare(COPY, ours, texts)
        _fill(bench, theirs, texts)
        found = {
            COPY: _Peer(
                ours, lambda text: Shot("POST", f"{contender.prefix}/retrievals", _body(text))
            ),
            MEM0: _Peer(theirs.served, lambda text: theirs.ask(text, K)),
        }
        settle(bench)
        for one in found.values():
            fire(one.served, [one.ask(t) for t in tasks(WARM, bench.settings["seed"] + 1)], ONE)
        _in_turn(bench, found)
        _in_blocks(bench, found)


def _body(text: str) -> dict[str, object]:
    return {"agent": "agent-0", "task": {"text": text}, "k": K, "format": "memories"}


def _fill(bench: Bench, theirs: mem0.Mem0, texts: Texts) -> None:
    """With one text of each memory, embedded by the same model."""
    words = [f"{item['situation']} {item['lesson']}" for item in texts.items]
    file: Path = bench.folder.parent / f"whole-{len(words)}-{bench.settings['seed']}.npy"
    if not file.exists():
        np.save(file, np.stack([one.vector for one in embedded(words)]))
    theirs.fill(words, np.load(file))


def _in_turn(bench: Bench, found: Mapping[str, _Peer]) -> None:
    count = bench.settings["requests"]
    bench.say(f"{count} tasks by one caller, each of both")
    rounds = [
        [one.ask(text) for one in found.values()]
        for text in tasks(count, bench.settings["seed"] + 2)
    ]
    hits = fire_in_turn([one.served for one in found.values()], rounds)
    for name, some in zip(found, hits, strict=True):
        bench.timed(name, ONE, timings(some))


def _in_blocks(bench: Bench, found: Mapping[str, _Peer]) -> None:
    count = bench.settings["requests"]
    for number in range(ROUNDS):
        for callers in (ONE, MANY):
            for name, one in found.items():
                seed = bench.settings["seed"] + 10 + number + callers
                shots = [one.ask(text) for text in tasks(count, seed)]
                bench.say(f"{count} tasks by {callers}: {name}")
                before = one.seconds()
                hits = fire(one.served, shots, callers)
                spent = 1000 * (one.seconds() - before) / count
                bench.number(f"cpu_{name}_{callers}_{number}", spent, "ms a read")
                bench.timed(f"block_{name}_{number}", callers, timings(hits))


def targets(rows: Sequence[Row]) -> list[Target]:
    """What a read costs, how long it takes and how many are answered, over mem0's."""
    names = (
        "processor time of a read / mem0's",
        "p50 of a read / mem0's",
        f"reads a second, {MANY} callers / mem0's",
    )
    found, table = metrics.numbers(rows), metrics.table(rows)
    if not found.get(READY):
        aims = (1.0, 0.6, 2.0)
        return [
            not_run(name, aim, "(mem0 is not installed)")
            for name, aim in zip(names, aims, strict=True)
        ]
    cpu = {
        name: sum(found[f"cpu_{name}_{ONE}_{n}"] for n in range(ROUNDS)) / ROUNDS for name in NAMES
    }
    p50 = {name: table[f"{name}@{ONE}"].p50 for name in NAMES}
    rates = {name: _rate(rows, name) for name in NAMES}
    return [
        at_most(names[0], 1.0, cpu[COPY] / cpu[MEM0], cpu),
        at_most(names[1], 0.6, p50[COPY] / p50[MEM0], p50),
        at_least(names[2], 2.0, rates[COPY] / rates[MEM0], rates),
    ]


def _rate(rows: Sequence[Row], name: str) -> float:
    parts = [
        metrics.figures(metrics.timings(rows, f"block_{name}_{n}", MANY)) for n in range(ROUNDS)
    ]
    return sum(one.n for one in parts) / sum(one.n / one.rate for one in parts)


SUITE = Suite(
    about="a read beside mem0, on the same texts with the same model",
    settings={
        "memories": 10_000,
        "requests": 200,
        "settle": 60,
        "seed": 1,
    },
    server=None,
    run=run,
    targets=targets,
)
