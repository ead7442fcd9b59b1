"""Suite `operate`: what an operator's work on a filled server takes, and what holds meanwhile.

`--set parts=transfer,retention` runs these parts alone. `outages` starts servers of its own;
`transfer`, `reembedding`, `endurance` and `move` work on one namespace of `memories`, which the
last of them takes away.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence

import httpx

from benchmarks.bench import Bench
from benchmarks.metrics import Row, Target, at_most, numbers
from benchmarks.suites.operate import (
    bulkheads,
    endurance,
    moving,
    outages,
    reembedding,
    retention,
    transfer,
)
from benchmarks.suites.operate.bank import PATIENCE, Operated, fill
from benchmarks.suites.plan import Suite
from clients.demo.server import ServerFailed

PARTS: Mapping[str, Callable[[Operated], None]] = {
    "outages": outages.run,
    "bulkheads": bulkheads.run,
    "retention": retention.run,
    "transfer": transfer.run,
    "reembedding": reembedding.run,
    "endurance": endurance.run,
    "move": moving.run,
}
ON_BANK = {"transfer", "reembedding", "endurance", "move"}
FAILED = "parts that failed"
FAULTS = (httpx.HTTPError, OSError, ServerFailed, subprocess.SubprocessError)


def run(bench: Bench) -> None:
    """The parts that are asked for, in their order. One that fails is said and counted, and does
    not keep the others from being run.
    """
    asked, home = bench.words["parts"].split(","), bench.server.data
    if unknown := set(asked) - set(PARTS):
        raise SystemExit(f"parts are {','.join(PARTS)}, not {','.join(sorted(unknown))}")
    if home is None:
        raise SystemExit("without --data, a server that was not started here has no home to read")
    headers = {"authorization": f"Bearer {bench.server.key}"}
    failed = 0
    with httpx.Client(base_url=bench.server.url, headers=headers, timeout=PATIENCE) as client:
        operated = Operated(bench, client, home)
        if ON_BANK.intersection(asked):
            fill(operated)
        for name in (one for one in PARTS if one in asked):
            bench.say(f"part {name}")
            try:
                PARTS[name](operated)
            except FAULTS as fault:
                bench.say(f"part {name} failed: {fault}")
                failed += 1
    bench.number(FAILED, failed, "parts")


def targets(rows: Sequence[Row]) -> list[Target]:
    """The copy is what its original is, retention locks briefly and changes no belief, nobody
    notices who is busy beside them, and nothing is lost whatever fails.
    """
    found = numbers(rows)
    return [
        at_most(FAILED, 0.0, found.get(FAILED), {}),
        *outages.targets(found),
        *bulkheads.targets(found),
        *retention.targets(found),
        *transfer.targets(found),
        *reembedding.targets(found),
        *moving.targets(found),
        *endurance.targets(found),
    ]


SUITE = Suite(
    about="what an operator's work takes, who notices it, and what is lost when things fail",
    settings={
        "memories": 10_000,
        "runs": 300,
        "old_runs": 3_000,
        "crowd_seconds": 20,
        "reembed_rate": 100,
        "minutes": endurance.ENOUGH_MINUTES,
        "warm_minutes": 15,
        "pause_ms": 20,
        "operations": 100_000,
        "callers": 6,
        "kills": 10,
        "rounds": 2,
        "seed": 1,
    },
    server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
    run=run,
    targets=targets,
    words={"parts": ",".join(PARTS)},
)
