"""Part of the suite `operate`: old receipts and outcomes are removed while an agent reports."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from threading import Event

from benchmarks.metrics import Target, at_least, at_most
from benchmarks.suites.operate.bank import Operated
from benchmarks.texts import experiences

AGED = "aged"
MEMORIES, BATCH = 1_000, 256
STILL_EXACT = "beliefs fold to the same bits after retention"
LONGEST = "longest slice of retention"
QUIET, BESIDE = "longest report, quiet", "longest report beside retention"
TOOK, REMOVED = "retention", "rows removed"
BEGAN, KEPT_DAYS = datetime(2024, 1, 1, tzinfo=UTC), 60


def run(operated: Operated) -> None:
    """Remove runs of two years, while an agent reports runs of today."""
    bench = operated.bench
    old = bench.settings["old_runs"]
    _fill(operated, old)
    bench.say("aged")
    today = BEGAN + timedelta(days=700)
    quiet = [_run_at(operated, today, number) for number in range(50)]
    bench.number(QUIET, max(quiet), "ms")
    with ThreadPoolExecutor(1) as beside:
        over = Event()
        reports = beside.submit(_report_until, operated, over, today)
        begun = time.monotonic()
        try:
            removed, longest = _remove(operated, today)
        finally:
            over.set()
        bench.number(TOOK, time.monotonic() - begun, "s")
        bench.number(BESIDE, max(reports.result()), "ms")
    bench.number(REMOVED, removed, "rows")
    bench.number(LONGEST, longest, "ms")
    asked = {"now": today.isoformat()}
    rebuilt = operated.post(f"/v1/namespaces/{AGED}/jobs/rebuild/runs", asked)
    bench.number(STILL_EXACT, float(rebuilt["result"]["exact"]), "check")


def targets(found: Mapping[str, float]) -> list[Target]:
    """It locks briefly and changes no belief."""
    waits = {name: found[name] for name in (QUIET, BESIDE, TOOK, REMOVED) if name in found}
    return [
        at_least(STILL_EXACT, 1.0, found.get(STILL_EXACT), {}),
        at_most("longest lock of retention, ms", 200.0, found.get(LONGEST), waits),
    ]


def _fill(operated: Operated, old: int) -> None:
    settings = {"control_rate": 0, "retention_days": KEPT_DAYS}
    operated.post("/v1/namespaces", {"slug": AGED, "clock": "replay", "settings": settings})
    rows = experiences(MEMORIES, operated.bench.settings["seed"])
    while batch := list(islice(rows, BATCH)):
        items = [row | {"learned_at": BEGAN.isoformat()} for row in batch]
        operated.post(f"/v1/namespaces/{AGED}/experiences/batch", {"items": items})
    for number in range(old):
        _run_at(operated, BEGAN + number * timedelta(days=600) / old, number)
    operated.post(f"/v1/namespaces/{AGED}/outcomes/apply", {})


def _run_at(operated: Operated, at: datetime, number: int) -> float:
    """One run and its report; how many milliseconds the slower of the two calls took."""
    when = at.isoformat()
    ask = {"agent": f"agent-{number % 5}", "task": {"text": f"task {number} of the day"}}
    begun = time.monotonic()
    wanted = ask | {"as_of": when, "expires_in": 3600}
    served = operated.post(f"/v1/namespaces/{AGED}/retrievals", wanted)
    between = time.monotonic()
    place = f"/v1/namespaces/{AGED}/retrievals/{served['retrieval_id']}/outcome"
    operated.post(place, {"reward": (number % 10) / 10, "known_at": when})
    return max(between - begun, time.monotonic() - between) * 1000


def _report_until(operated: Operated, over: Event, at: datetime) -> list[float]:
    took = [_run_at(operated, at, 0)]
    while not over.is_set():
        took.append(_run_at(operated, at, len(took)))
    return took


def _remove(operated: Operated, now: datetime) -> tuple[int, float]:
    """Run it until nothing is left: how many rows went, and the longest of its transactions."""
    removed, longest = 0, 0.0
    while True:
        asked = {"now": now.isoformat()}
        run = operated.post(f"/v1/namespaces/{AGED}/jobs/retention/runs", asked)["result"]
        removed += run["rows_removed"]
        longest = max(longest, run["longest_slice_ms"])
        if run["complete"]:
            return removed, longest
