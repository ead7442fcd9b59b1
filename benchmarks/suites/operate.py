"""Suite `operate`: what an operator's work on a filled server takes. So far: a namespace leaves as
a file and comes back beside itself, by the commands that an operator runs; old receipts and
outcomes are removed while an agent goes on reporting; and a namespace moves to another deployment.
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
from benchmarks.metrics import Row, Target, at_least, at_most, not_run, numbers
from benchmarks.suites import operate_move
from benchmarks.suites.plan import Suite
from benchmarks.texts import experiences

ROOT = Path(__file__).parents[2]
SLUG, COPY, AGED = "operated", "operated-copy", "aged"
BATCH = 256
PATIENCE = 3600
EXACT = "beliefs of the copy fold to the same bits"
STILL_EXACT = "beliefs fold to the same bits after retention"
LONGEST = "longest slice of retention"
QUIET, BESIDE = "longest report, quiet", "longest report beside retention"
BEGAN, KEPT_DAYS = datetime(2024, 1, 1, tzinfo=UTC), 60

NOT_MEASURED = (
    ("acknowledged writes lost", 0.0),
    ("writes doubled", 0.0),
    ("takeover, s", 20.0),
    ("p95 of the other namespaces, times quiet", 2.0),
    ("p95 while another model embeds, times quiet", 1.5),
    ("growth of memory in the second half, %", 1.0),
)
"""What belongs to an operator's work, and is not measured here yet."""


def run(bench: Bench) -> None:
    """Fill a namespace, learn in it, export it, and import the file beside it."""
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
        _age(bench, client)
        operate_move.run(bench, client, SLUG)
    for file in bench.folder.glob("*.tar*"):
        file.unlink()


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
    """The copy is what its original is, and retention locks briefly and changes no belief; the rest
    of an operator's work waits.
    """
    found = numbers(rows)
    seconds = {name: found[name] for name in ("export, plain", "import") if name in found}
    rest = [not_run(name, aim, "not measured by this suite yet") for name, aim in NOT_MEASURED]
    waits = {name: found[name] for name in (QUIET, BESIDE, "retention") if name in found}
    return [
        at_least(EXACT, 1.0, found.get(EXACT), seconds),
        at_least(STILL_EXACT, 1.0, found.get(STILL_EXACT), {}),
        at_most("longest lock of retention, ms", 200.0, found.get(LONGEST), waits),
        *operate_move.targets(found),
        *rest,
    ]


SUITE = Suite(
    about="export, import and move of a namespace by their commands; retention beside an agent",
    settings={"memories": 10_000, "runs": 300, "old_runs": 3_000, "seed": 1},
    server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
    run=run,
    targets=targets,
)
