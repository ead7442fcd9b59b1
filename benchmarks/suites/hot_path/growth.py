"""Suite `growth`: what a retrieval costs as its namespace grows, one server, tasks in turn.

10,000 made memories, and 200,000 that are copies of them with numbered texts and noisy vectors;
4 constraints, and 4,000 that are copies of these with tasks of their own. The rows are copied into
the tables by SQL, since over HTTP the embedding alone would take an hour. Beside a card the copies
are searched there; `--set card=0` hides it from the server.
"""

import re
import time
from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

import psycopg
import torch

from benchmarks import metrics
from benchmarks.bench import Bench
from benchmarks.load import Shot, fire, fire_in_turn, timings
from benchmarks.metrics import Target, at_least, at_most
from benchmarks.suites.hot_path.filling import clone, copy_in, enter, made_texts, multiplied
from benchmarks.suites.hot_path.servers import (
    COPY,
    GPU,
    SQL,
    Contender,
    expect,
    prepare,
    read_metrics,
    serving,
    settle,
)
from benchmarks.suites.plan import Suite
from benchmarks.texts import tasks

FILLS, MEMORIES, BYTES = "resident_fills", "resident_memories", "resident_bytes"
GAUGE = re.compile(r"^memlift_(resident_\w+?)(?:_total)? (\S+)$", re.MULTILINE)
FILLED, TAKEN = "filled", "taken"
MOST_SECONDS = 300
LEAST_BYTES = 2 * 4 * 384 + 2 * 46 + 16
"""Of a memory: two vectors in single precision, its 46 word pieces in two bytes each, 16 more."""
ONE = 1
WARM = 20
SMALL, LARGE = "small", "large"
FEW, MANY = 4, 4_000
FEW_CONSTRAINTS, MANY_CONSTRAINTS = "few_constraints", "many_constraints"


def run(bench: Bench) -> None:
    """Fill the namespaces of one server, with a copy or without, and ask in turn."""
    settings = bench.settings
    texts = made_texts(bench.folder.parent, settings["memories"], settings["seed"])
    name = COPY if settings["copy"] else SQL
    has_card = bool(settings["card"]) and torch.cuda.is_available()
    bench.number(GPU, float(has_card), "cards")
    with serving(name, more={} if has_card else {"CUDA_VISIBLE_DEVICES": ""}) as served:
        found = {SMALL: prepare(name, served, texts, SMALL)}
        bench.say(f"copying {settings['large']} memories into a namespace")
        grown = multiplied(texts, settings["large"], settings["seed"])
        found[LARGE] = prepare(name, served, grown, LARGE)
        constrained = {
            slug: prepare(name, served, texts, slug.replace("_", "-"))
            for slug in (FEW_CONSTRAINTS, MANY_CONSTRAINTS)
        }
        for slug, contender in constrained.items():
            _bind(bench, contender, MANY if slug == MANY_CONSTRAINTS else FEW)
        settle(bench)
        if settings["copy"]:
            _touch(bench, found[LARGE])
        _in_turn(bench, found)
        _in_turn(bench, constrained)


def _touch(bench: Bench, one: Contender) -> None:
    """The first call fills the copy of the large namespace: how many memories a second, and what
    each of them takes, as the server counts it.
    """
    bench.say("filling a copy at first touch")
    [text] = tasks(1, bench.settings["seed"] + 4)
    # The key's namespace was read before its memories were copied in: this call reads it anew.
    expect(one.served, one.ask(text))
    before, began = _gauges(one), time.perf_counter()
    expect(one.served, one.ask(text))
    while (memories := (now := _gauges(one))[MEMORIES] - before[MEMORIES]) <= 0:
        if now[MEMORIES] >= bench.settings["large"]:
            break
        if time.perf_counter() - began > MOST_SECONDS:
            raise SystemExit(f"the copy was not filled within {MOST_SECONDS} s")
        time.sleep(0.1)
    bench.number(FILLED, memories / (time.perf_counter() - began), "memories a second")
    bench.number(TAKEN, (now[BYTES] - before[BYTES]) / memories, "bytes a memory")


def _gauges(one: Contender) -> Mapping[str, float]:
    said = read_metrics(one.served)
    return {name: float(value) for name, value in GAUGE.findall(said)}


def _in_turn(bench: Bench, found: Mapping[str, Contender]) -> None:
    """The first calls fill the copies, or the database's memory."""
    count, seed = bench.settings["requests"], bench.settings["seed"]
    for one in found.values():
        fire(one.served, [one.ask(text) for text in tasks(WARM, seed + 1)], ONE)
    bench.say(f"{count} tasks in turn: {', '.join(found)}")
    rounds = [[one.ask(text) for one in found.values()] for text in tasks(count, seed + 2)]
    hits = fire_in_turn([one.served for one in found.values()], rounds)
    for name, some in zip(found, hits, strict=True):
        if not all(hit.timing.ok for hit in some):
            raise SystemExit(f"{name} was answered with {sorted({hit.status for hit in some})}")
        bench.timed(f"retrieve_{name}", ONE, timings(some))


def _bind(bench: Bench, one: Contender, count: int) -> None:
    """So many constraints, the first few over HTTP, each of a task of its own."""
    texts = list(tasks(count, bench.settings["seed"] + 5))
    for number, text in enumerate(texts[:FEW]):
        body = {
            "agent": "agent-0",
            "trigger": f"a case of kind {number} comes up",
            "enforce": f"writing down the state of part {number} before it is changed",
            "task": {"text": text},
        }
        expect(one.served, Shot("POST", f"{one.prefix}/constraints", body))
    if count > FEW:
        _copy_constraints(one, texts[FEW:])


def _copy_constraints(one: Contender, texts: Sequence[str]) -> None:
    with psycopg.connect(one.database_url) as connection:
        enter(connection, one.namespace_id)
        patterns = connection.execute(_PATTERNS).fetchall()
        connection.execute(_FILLED)
        rows = (_row(patterns[place % len(patterns)], text) for place, text in enumerate(texts))
        copy_in(connection, ("uuid", "uuid", "uuid", "uuid", "text"), rows)
        for table, (key, changes) in _CHANGES.items():
            clone(connection, table, changes, f"t.{key}")
    with psycopg.connect(one.database_url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def _row(pattern: Sequence[UUID], text: str) -> Sequence[object]:
    memory_id, task_id = pattern
    return uuid4(), memory_id, uuid4(), task_id, text


_PATTERNS = """SELECT m.id, s.task_id FROM memory m JOIN constraint_support s ON s.memory_id = m.id
    WHERE m.kind = 'constraint' ORDER BY m.id"""


_FILLED = """CREATE TEMPORARY TABLE filled (id uuid, pattern uuid, task_id uuid, task_pattern uuid,
    text text) ON COMMIT DROP"""


_CHANGES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "task": (
        "id = f.task_pattern",
        {"id": "f.task_id", "text": "f.text", "sha256": "sha256(f.text::bytea)", "key": "NULL"},
    ),
    "task_embedding": ("task_id = f.task_pattern", {"task_id": "f.task_id"}),
    "memory": (
        "id = f.pattern",
        {"id": "f.id", "sha256": "sha256(f.text::bytea)", "source_group": "f.id::text"},
    ),
    "memory_version": ("memory_id = f.pattern", {"memory_id": "f.id"}),
    "memory_weight": ("memory_id = f.pattern", {"memory_id": "f.id"}),
    "embedding": ("memory_id = f.pattern", {"memory_id": "f.id"}),
    "constraint_support": (
        "memory_id = f.pattern",
        {"id": "gen_random_uuid()", "memory_id": "f.id", "task_id": "f.task_id"},
    ),
}


def targets(rows: Sequence[metrics.Row]) -> list[Target]:
    """The large namespace against the small one; many constraints against few."""
    p50 = {name: one.p50 for name, one in metrics.table(rows).items()}
    has_card = bool(metrics.numbers(rows).get(GPU))
    name, most = ("two cores", 3.5) if not has_card else ("GPU", 1.2)
    numbers = metrics.numbers(rows)
    return [
        at_least("memories a second into a copy at first touch", 100_000, numbers.get(FILLED), {}),
        at_most(
            "bytes of a copy / (vectors + word pieces + 16), a memory",
            1.15,
            None if TAKEN not in numbers else numbers[TAKEN] / LEAST_BYTES,
            {"bytes": numbers.get(TAKEN, 0.0)},
        ),
        _ratio(f"200,000 memories / 10,000, p50, {name}", most, p50, LARGE, SMALL),
        _ratio("4,000 constraints / 4, p50", 1.15, p50, MANY_CONSTRAINTS, FEW_CONSTRAINTS),
    ]


def _ratio(name: str, most: float, p50: Mapping[str, float], large: str, small: str) -> Target:
    parts = {n: p50[f"retrieve_{n}@1"] for n in (large, small) if f"retrieve_{n}@1" in p50}
    whole = len(parts) == 2  # noqa: PLR2004 - both of them
    return at_most(name, most, parts[large] / parts[small] if whole else None, parts)


SUITE = Suite(
    about="a retrieval as its namespace grows: memories, constraints",
    settings={
        "memories": 10_000,
        "large": 200_000,
        "requests": 100,
        "copy": 1,
        "card": 1,
        "seed": 1,
        "settle": 75,
    },
    server=None,
    run=run,
    targets=targets,
)
