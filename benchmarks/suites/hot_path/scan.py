"""Suite `scan`: the exact scan of a resident copy against the bandwidth of the memory.

Random unit vectors of 384 float32, as the copy holds them. The bandwidth is measured in the same
run, in turn with the scan: one pass that reads as many bytes and adds them up, by as many threads
as torch is given. The product of numpy alone is timed too: what a scan costs beyond it are the
scales and the clamping.

Beside a card, rows on it are searched as a server does, with all that a caller waits for: probes
go there, the best come back. The bandwidth is again that of one pass that reads and adds as many
bytes. Rows there are one block again and again, its components shifted, so that no two are equal.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch

from benchmarks import metrics
from benchmarks.bench import Bench, Timing
from benchmarks.metrics import Target, at_most, not_run
from benchmarks.suites.plan import Suite
from memory.inference.segments import DeviceSegment, free_bytes
from memory.retrieval.head import margin
from memory.retrieval.resident.rows import FieldView, scales_of
from memory.retrieval.store.search import Probe

ONE = 1
WIDTH = 384
BLOCK = 50_000
SCAN, PRODUCT, READ = "scan", "product", "read"
NO_CARD, NO_ROOM = "(no card here)", "(the card has no room for them)"
CARD, CARD_READ = "card", "card_read"
SEGMENT, MANY, MOST = 10_000, 1_000_000, 10_000_000
PROBES = {SEGMENT: (1, 16, 64), MANY: (1, 16), MOST: (1, 16)}
HEAD = 12
WARM = 3
ROOM = 3
"""A segment that grows holds its rows twice, and scores beside them."""


def run(bench: Bench) -> None:
    """Each size: scan, product and pass in turn."""
    for size in (bench.settings["small"], bench.settings["large"]):
        bench.say(f"{size} rows")
        _measure(bench, size)
    if torch.cuda.is_available():
        device = torch.device("cuda", torch.cuda.current_device())
        for size in PROBES:
            if ROOM * 4 * size * WIDTH < free_bytes(device):
                bench.say(f"{size} rows on {torch.cuda.get_device_name(device)}")
                _measure_card(bench, size, device)
                torch.cuda.empty_cache()


def _unit_rows(chance: np.random.Generator, size: int) -> npt.NDArray[np.float16]:
    some = chance.standard_normal((size, WIDTH), dtype=np.float32)
    return (some / np.linalg.norm(some, axis=1, keepdims=True)).astype(np.float16)


def _measure_card(bench: Bench, size: int, device: torch.device) -> None:
    chance = np.random.default_rng(bench.settings["seed"])
    block = _unit_rows(chance, min(size, BLOCK))
    segment, scales = DeviceSegment(device), scales_of(block)
    wide = block.astype(np.float32)
    for number, start in enumerate(range(0, size, BLOCK)):
        segment.write(start, np.roll(wide, number, axis=1), scales)
    seen = np.ones(size, dtype=np.bool_)
    whole = torch.rand((size, WIDTH), device=device)
    bound = margin(WIDTH)
    for probes in PROBES[size]:
        for number in range(bench.settings["card_rounds"] + WARM):
            asked = _unit_rows(chance, probes)
            began = time.perf_counter()
            segment.nearest(asked, seen, HEAD, bound)
            ms = (time.perf_counter() - began) * 1000
            read = _on_device(whole.sum)
            if number >= WARM:
                bench.timed(f"{CARD}_{size}_{probes}", ONE, [Timing(began, ms, ok=True)])
                bench.timed(f"{CARD_READ}_{size}", ONE, [Timing(began, read, ok=True)])
    bench.number(f"{CARD}_bytes_{size}", 4.0 * size * WIDTH, "bytes")


def _on_device(compute: Callable[[], object]) -> float:
    """Milliseconds by the clock of the card."""
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    began.record()
    compute()
    ended.record()
    ended.synchronize()
    return began.elapsed_time(ended)


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
        PRODUCT: lambda: np.einsum("ij,j->i", vectors, wide),
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
        _on_card("1 M rows, one probe / bandwidth, GPU", 1.7, p50, MANY, 1),
        _on_card("10 M rows, one probe / bandwidth, GPU", 1.2, p50, MOST, 1),
        _on_card("10 M rows, 16 probes / bandwidth, GPU", 1.2, p50, MOST, 16),
        _segment(p50),
    ]


def _on_card(name: str, most: float, p50: Mapping[str, float], size: int, probes: int) -> Target:
    """A search, with the way there and back, against the pass over as many bytes."""
    names = (f"{CARD}_{size}_{probes}", f"{CARD_READ}_{size}")
    if not all(one in p50 for one in names):
        has_card = any(one.startswith(CARD) for one in p50)
        return not_run(name, most, NO_ROOM if has_card else NO_CARD)
    parts = {one: p50[one] for one in names}
    return at_most(name, most, parts[names[0]] / parts[names[1]], parts)


def _segment(p50: Mapping[str, float]) -> Target:
    name, most = "a segment of 10,000 rows, ms, GPU", 0.06
    parts = {n: ms for n, ms in p50.items() if n.startswith(f"{CARD}_{SEGMENT}_")}
    if not parts:
        return not_run(name, most, NO_CARD)
    return at_most(name, most, parts[f"{CARD}_{SEGMENT}_{ONE}"], parts)


SUITE = Suite(
    about="the exact scan of a resident copy against the bandwidth of the memory",
    settings={"small": 10_000, "large": 1_000_000, "rounds": 1_000, "card_rounds": 50, "seed": 3},
    server=None,
    run=run,
    targets=targets,
)
