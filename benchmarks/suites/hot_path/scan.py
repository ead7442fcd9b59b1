"""Suite `scan`: the exact scan of a resident copy against the bandwidth of the memory.

Random unit vectors of 384 float32, as the copy holds them. The bandwidth is measured in the same
run, in turn with the scan: one pass that reads as many bytes and adds them up, by as many threads
as torch is given. The product of numpy alone is timed too: what a scan costs beyond it are the
norms and the clamping.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from benchmarks import metrics
from benchmarks.bench import Bench, Timing
from benchmarks.metrics import Target, at_most, not_run
from benchmarks.suites.plan import Suite
from memory.retrieval.resident.rows import FieldView
from memory.retrieval.store.search import Probe

ONE = 1
WIDTH = 384
BLOCK = 50_000
SCAN, PRODUCT, READ = "scan", "product", "read"
ON_CPU = "(copies are scanned by the processor)"


def run(bench: Bench) -> None:
    """Each size: scan, product and pass in turn."""
    for size in (bench.settings["small"], bench.settings["large"]):
        bench.say(f"{size} rows")
        _measure(bench, size)


def _measure(bench: Bench, size: int) -> None:
    chance = np.random.default_rng(bench.settings["seed"])
    vectors = np.empty((size, WIDTH), dtype=np.float32)
    for start in range(0, size, BLOCK):
        some = vectors[start : start + BLOCK]
        some[:] = chance.standard_normal(some.shape, dtype=np.float32)
        some /= np.linalg.norm(some, axis=1, keepdims=True)
    view = FieldView(vectors, np.ones(size))
    probe = vectors[size // 2].astype(np.float16)
    wide = probe.astype(np.float32)
    whole = torch.from_numpy(vectors)
    ways: dict[str, Callable[[], object]] = {
        SCAN: lambda: view.cosines([Probe(probe, "situation")]),
        PRODUCT: lambda: vectors @ wide,
        READ: whole.sum,
    }
    bench.number(f"bytes_{size}", vectors.nbytes, "bytes")
    rounds = max(3, bench.settings["rounds"] * bench.settings["small"] // size)
    for number in range(rounds + 1):
        for name, compute in ways.items():
            began = time.perf_counter()
            compute()
            ms = (time.perf_counter() - began) * 1000
            # The first round touches the memory for the first time.
            if number:
                bench.timed(f"{name}_{size}", ONE, [Timing(began, ms, ok=True)])


def targets(rows: Sequence[metrics.Row]) -> list[Target]:
    """The scan of a million rows against the pass over as many bytes, both at their medians."""
    p50 = {name.partition("@")[0]: one.p50 for name, one in metrics.table(rows).items()}
    size = max((int(n.partition("_")[2]) for n in p50 if n.startswith(SCAN)), default=0)
    parts = {
        name: p50[f"{name}_{size}"] for name in (SCAN, PRODUCT, READ) if f"{name}_{size}" in p50
    }
    found = metrics.numbers(rows)
    if READ in parts:
        parts["GB/s"] = found[f"bytes_{size}"] / parts[READ] / 1e6
    measured = parts[SCAN] / parts[READ] if SCAN in parts and READ in parts else None
    return [
        at_most(f"scan of {size:,} rows / bandwidth, two cores", 1.7, measured, parts),
        not_run("1 M rows, one probe / bandwidth, GPU", 1.7, ON_CPU),
        not_run("10 M rows, 16 probes / bandwidth, GPU", 1.2, ON_CPU),
        not_run("a segment of 10,000 rows, ms, GPU", 0.06, ON_CPU),
    ]


SUITE = Suite(
    about="the exact scan of a resident copy against the bandwidth of the memory",
    settings={"small": 10_000, "large": 1_000_000, "rounds": 1_000, "seed": 3},
    server=None,
    run=run,
    targets=targets,
)
