"""Suite `operate`: what an operator's work on a filled server takes, and what holds meanwhile.

A namespace leaves as a file and comes back beside itself, by the commands that an operator runs;
old receipts and outcomes are removed while an agent goes on reporting; a namespace moves to another
deployment; one is busy beside another; another model embeds; the server is under load for long; and
everything fails that can, on servers of its own (`outages.py`).
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from threading import Event

import httpx

from benchmarks.bench import Bench
from benchmarks.metrics import Row, Target, at_least, at_most, numbers
from benchmarks.suites.operate import bulkheads, endurance, moving, outages, reembedding
from benchmarks.suites.plan import Suite
from benchmarks.texts import experiences

ROOT = Path(__file__).parents[3]
SLUG, COPY, AGED = "operated", "operated-copy", "aged"
BATCH = 256
PATIENCE = 3600
EXACT = "beliefs of the copy fold to the same bits"
STILL_EXACT = "beliefs fold to the same bits after retention"
LONGEST = "longest slice of retention"
QUIET, BESIDE = "longest report, quiet", "longest report beside retention"
BEGAN, KEPT_DAYS = datetime(2024, 1, 1, tzinfo=UTC), 60

FULL = 100_000
"""Memories that times and sizes of a file are stated for."""


def run(bench: Bench) -> None:
    """What fails and who is busy; then fill a namespace, learn in it, and do the work on it. With
    `--set memories=0` only the former.
    """
    outages.run(bench)
    bulkheads.run(bench)
    if not bench.settings["memories"]:
        return
    home = bench.server.data
    if home is None:
        bench.say("a server that was not started here has no data directory: nothing to export")
        return
    headers = {"authorization": f"Bearer {bench.server.key}"}
    with httpx.Client(base_url=bench.server.url, headers=headers, timeout=PATIENCE) as client:
        _fill(bench, client)
        for name, words in (("plain", ("--vectors",)), ("without vectors", ("--no-vectors",))):
            file = bench.folder / f"{name.replace(' ', '-')}.tar"
            file.unlink(missing_ok=True)
            _command(bench, home, f"export, {name}", "export", SLUG, "--out", file, *words)
            bench.number(f"size, {name}", file.stat().st_size, "bytes")
        packed = bench.folder / "packed.tar.gz"
        packed.unlink(missing_ok=True)
        _command(bench, home, "export, packed", "export", SLUG, "--out", packed)
        bench.number("size, packed", packed.stat().st_size, "bytes")
        words = ("--namespace", COPY, "--conflict", "new_ids")
        said = _command(bench, home, "import", "import", bench.folder / "plain.tar", *words)
        bench.number("rows", int(said.splitlines()[-1].split()[1].replace(",", "")), "rows")
        rebuilt = _post(client, f"/v1/namespaces/{COPY}/jobs/rebuild/runs", {})
        bench.number(EXACT, float(json.loads(rebuilt.text)["result"]["exact"]), "check")
        _per_full(bench)
        _age(bench, client)
        moving.run(bench, client, SLUG)
    reembedding.run(bench, home, SLUG)
    endurance.run(bench, SLUG)
    for file in bench.folder.glob("*.tar*"):
        file.unlink()


def _per_full(bench: Bench) -> None:
    """What was measured, for a namespace of 100,000: in proportion, starts of commands included."""
    lines = Path(bench.file.name).read_text(encoding="utf-8").splitlines()
    found = numbers([json.loads(line) for line in lines])
    factor = FULL / bench.settings["memories"]
    for name, unit in (("export, plain", "s"), ("import", "s"), ("size, plain", "bytes")):
        bench.number(f"{name}, per 100,000 memories", found[name] * factor, unit)


def _fill(bench: Bench, client: httpx.Client) -> None:
    _post(client, "/v1/namespaces", {"slug": SLUG, "settings": {"control_rate": 0}})
    rows = experiences(bench.settings["memories"], bench.settings["seed"])
    while batch := list(islice(rows, BATCH)):
        _post(client, f"/v1/namespaces/{SLUG}/experiences/batch", {"items": batch})
    bench.say("filled")
    for number in range(bench.settings["runs"]):
        ask = {"agent": f"agent-{number % 5}", "task": {"text": f"task {number} of the day"}}
        served = _post(client, f"/v1/namespaces/{SLUG}/retrievals", ask).json()
        place = f"/v1/namespaces/{SLUG}/retrievals/{served['retrieval_id']}/outcome"
        _post(client, place, {"reward": (number % 10) / 10})
    _post(client, f"/v1/namespaces/{SLUG}/outcomes/apply", {})
    bench.say("learned")


def _age(bench: Bench, client: httpx.Client) -> None:
    """Remove runs of two years, while an agent reports runs of today."""
    settings = {"control_rate": 0, "retention_days": KEPT_DAYS}
    _post(client, "/v1/namespaces", {"slug": AGED, "clock": "replay", "settings": settings})
    rows = experiences(min(bench.settings["memories"], 1_000), bench.settings["seed"])
    while batch := list(islice(rows, BATCH)):
        items = [row | {"learned_at": BEGAN.isoformat()} for row in batch]
        _post(client, f"/v1/namespaces/{AGED}/experiences/batch", {"items": items})
    old = bench.settings["old_runs"]
    for number in range(old):
        _run_at(client, BEGAN + number * timedelta(days=600) / old, number)
    _post(client, f"/v1/namespaces/{AGED}/outcomes/apply", {})
    bench.say("aged")
    today = BEGAN + timedelta(days=700)
    quiet = [_run_at(client, today, number) for number in range(50)]
    bench.number(QUIET, max(quiet), "ms")
    with ThreadPoolExecutor(1) as beside:
        over = Event()
        reports = beside.submit(_report_until, client, over, today)
        begun = time.monotonic()
        try:
            removed, longest = _remove(client, today)
        finally:
            over.set()
        bench.number("retention", time.monotonic() - begun, "s")
        bench.number(BESIDE, max(reports.result()), "ms")
    bench.number("rows removed", removed, "rows")
    bench.number(LONGEST, longest, "ms")
    rebuilt = _post(client, f"/v1/namespaces/{AGED}/jobs/rebuild/runs", {"now": today.isoformat()})
    bench.number(STILL_EXACT, float(rebuilt.json()["result"]["exact"]), "check")


def _run_at(client: httpx.Client, at: datetime, number: int) -> float:
    """One run and its report; how many milliseconds the slower of the two calls took."""
    when = at.isoformat()
    ask = {"agent": f"agent-{number % 5}", "task": {"text": f"task {number} of the day"}}
    begun = time.monotonic()
    wanted = ask | {"as_of": when, "expires_in": 3600}
    served = _post(client, f"/v1/namespaces/{AGED}/retrievals", wanted).json()
    between = time.monotonic()
    place = f"/v1/namespaces/{AGED}/retrievals/{served['retrieval_id']}/outcome"
    _post(client, place, {"reward": (number % 10) / 10, "known_at": when})
    return max(between - begun, time.monotonic() - between) * 1000


def _report_until(client: httpx.Client, over: Event, at: datetime) -> list[float]:
    took = [_run_at(client, at, 0)]
    while not over.is_set():
        took.append(_run_at(client, at, len(took)))
    return took


def _remove(client: httpx.Client, now: datetime) -> tuple[int, float]:
    """Run it until nothing is left: how many rows went, and the longest of its transactions."""
    removed, longest = 0, 0.0
    while True:
        asked = {"now": now.isoformat()}
        run = _post(client, f"/v1/namespaces/{AGED}/jobs/retention/runs", asked).json()["result"]
        removed += run["rows_removed"]
        longest = max(longest, run["longest_slice_ms"])
        if run["complete"]:
            return removed, longest


def _post(client: httpx.Client, path: str, body: object) -> httpx.Response:
    answer = client.post(path, json=body)
    answer.raise_for_status()
    return answer


def _command(bench: Bench, home: Path, name: str, *words: object) -> str:
    """Run it beside the server, and keep how long it took, its start included."""
    begun = time.monotonic()
    done = subprocess.run(  # noqa: S603 - a command of ours
        [sys.executable, "-m", "server.cli", *map(str, words), "--data", str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    bench.number(name, time.monotonic() - begun, "s")
    bench.say(f"{name}: {done.stdout.splitlines()[-1]}")
    return done.stdout


def targets(rows: Sequence[Row]) -> list[Target]:
    """The copy is what its original is, retention locks briefly and changes no belief, nobody
    notices who is busy beside them, and nothing is lost whatever fails.
    """
    found = numbers(rows)
    seconds = {name: found[name] for name in ("export, plain", "import") if name in found}
    waits = {name: found[name] for name in (QUIET, BESIDE, "retention") if name in found}
    return [
        at_least(EXACT, 1.0, found.get(EXACT), seconds),
        at_least(STILL_EXACT, 1.0, found.get(STILL_EXACT), {}),
        at_most("longest lock of retention, ms", 200.0, found.get(LONGEST), waits),
        *outages.targets(found),
        *bulkheads.targets(found),
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
        "minutes": 0,
        "operations": 100_000,
        "callers": 6,
        "kills": 10,
        "rounds": 2,
        "seed": 1,
    },
    server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
    run=run,
    targets=targets,
)
