"""Suite `dashboard`: what a page costs over the calls of the API that it stands on.

A namespace is filled with made experiences and constraints, some of which are served and reported,
and with receipts. Then first pages are fetched by one caller, as a browser does, in turn with the
calls that give the same content; and a browser says when each paints, what it weighs and whether
anything moves.
"""

import http.client
from collections.abc import Mapping, Sequence
from itertools import count, islice
from typing import cast
from urllib.parse import urlencode, urlsplit

from benchmarks import metrics
from benchmarks.bench import Bench, Served
from benchmarks.load import Shot, fire, timings
from benchmarks.suites import dashboard_paint
from benchmarks.suites.dashboard_bank import add_constraints, multiply_receipts
from benchmarks.suites.plan import Suite
from benchmarks.texts import experiences, tasks

ONE = 1
BATCH = 256
RATIO = 3.0
ROWS = 50
EVENTS = 200
EPISODES = 20
CONFLICT = 409
WARM = 3

CALLS: Mapping[str, Sequence[str]] = {
    "memories": (f"/memories?sort=recorded_at&order=desc&limit={ROWS}",),
    "sorted": (f"/memories?sort=weight&order=asc&limit={ROWS}",),
    "sought": (f"/memories?text=invoice&limit={ROWS}",),
    "memory": (
        "/memories/{id}",
        "/experiences/{id}/weight",
        f"/experiences/{{id}}/weight/events?limit={EVENTS}",
        "/experiences/{id}/versions",
        f"/memories/{{id}}/episodes?limit={EPISODES}",
        "/memories/{id}/records",
        "/memories/{id}/neighbours",
    ),
    "overview": ("/effect", "/learning-health", "/jobs/runs?limit=8"),
    "receipts": (f"/retrievals?state=all&limit={ROWS}",),
    "constraints": (f"/constraints?limit={ROWS}",),
}
"""The calls that give what a page shows; `{id}` is a memory that was served."""

PAGES: Mapping[str, str] = {
    "memories": "/memories",
    "sorted": "/memories?sort=weight&order=asc",
    "sought": "/memories?text=invoice",
    "memory": "/memories/{id}",
    "overview": "/",
    "receipts": "/receipts",
    "constraints": "/constraints",
}


def run(bench: Bench) -> None:
    """Fill, log in, and fetch each page in turn with its calls."""
    slug = _namespace(bench)
    _fill(bench, f"/v1/namespaces/{slug}")
    add_constraints(bench, f"/v1/namespaces/{slug}")
    served = _learn(bench, f"/v1/namespaces/{slug}")
    multiply_receipts(bench, slug)
    cookie = _log_in(bench.server)
    for page, calls in CALLS.items():
        bench.say(f"{page}: {bench.settings['requests']} times")
        there = Shot("GET", f"/dashboard/ns/{slug}{PAGES[page]}".format(id=served), headers=cookie)
        shots = {f"page_{page}": there}
        for number, call in enumerate(calls):
            path = f"/v1/namespaces/{slug}{call}".format(id=served)
            shots[f"call_{page}_{number}"] = Shot("GET", path)
        _in_turn(bench, shots)
    places = {page: f"/dashboard/ns/{slug}{path}".format(id=served) for page, path in PAGES.items()}
    dashboard_paint.look(bench, places, cookie["Cookie"])


def _in_turn(bench: Bench, shots: Mapping[str, Shot]) -> None:
    """Every shot once a round, so that what slows the machine meanwhile slows all of them."""
    fire(bench.server, [*shots.values()] * WARM, ONE)
    hits = fire(bench.server, [*shots.values()] * bench.settings["requests"], ONE)
    for place, name in enumerate(shots):
        mine = hits[place :: len(shots)]
        if not all(hit.timing.ok for hit in mine):
            raise SystemExit(f"{name} was answered with {sorted({hit.status for hit in mine})}")
        bench.timed(name, ONE, timings(mine))


def _namespace(bench: Bench) -> str:
    """A namespace of its own, numbered where earlier runs have left theirs."""
    for number in count(1):
        slug = f"bench-dashboard-{number}"
        body = {"slug": slug, "settings": {"control_rate": 0.0}}
        [hit] = fire(bench.server, [Shot("POST", "/v1/namespaces", body)], ONE)
        if hit.timing.ok:
            return slug
        if hit.status != CONFLICT:
            raise SystemExit(f"the server refused a namespace: {hit.status} {hit.answer}")
    raise AssertionError("numbers do not end")


def _fill(bench: Bench, prefix: str) -> None:
    made = experiences(bench.settings["memories"], bench.settings["seed"])
    bench.say(f"storing {bench.settings['memories']} experiences in batches of {BATCH}")
    while batch := list(islice(made, BATCH)):
        shot = Shot("POST", f"{prefix}/experiences/batch", {"items": batch})
        [hit] = fire(bench.server, [shot], ONE)
        if not hit.timing.ok:
            raise SystemExit(f"experiences were refused: {hit.status} {hit.answer}")


def _learn(bench: Bench, prefix: str) -> str:
    """Serve and report one task again and again; the memory that was served most often."""
    [text] = tasks(1, bench.settings["seed"] + 1)
    ask = {"agent": "bench", "task": {"text": text}, "k": 3}
    served = fire(
        bench.server, [Shot("POST", f"{prefix}/retrievals", ask)] * bench.settings["turns"], ONE
    )
    shots = [
        Shot(
            "POST",
            f"{prefix}/retrievals/{hit.answer['retrieval_id']}/outcome",
            {"reward": number % 11 / 10},
        )
        for number, hit in enumerate(served)
    ]
    fire(bench.server, shots, ONE)
    fire(bench.server, [Shot("POST", f"{prefix}/outcomes/apply", {})], ONE)
    ids = [str(memory["memory_id"]) for hit in served for memory in hit.answer["memories"]]
    if not ids:
        raise SystemExit("no memory was served")
    return max(sorted(set(ids)), key=ids.count)


def _log_in(server: Served) -> dict[str, str]:
    """The cookie that a browser would send."""
    place = urlsplit(server.url)
    line = http.client.HTTPConnection(cast("str", place.hostname), place.port)
    told = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.url}
    line.request("POST", "/dashboard/login", urlencode({"key": server.key}), told)
    given = line.getresponse().getheader("Set-Cookie")
    line.close()
    if given is None:
        raise SystemExit("the dashboard refused the key")
    return {"Cookie": given.partition(";")[0]}


def targets(rows: Sequence[metrics.Row]) -> list[metrics.Target]:
    """A page costs at most three times the calls that it stands on; it paints within a second, is
    light, and nothing in it moves.
    """
    found = metrics.table(rows)
    ratios = [_target(page, calls, found) for page, calls in CALLS.items()]
    return [*ratios, *dashboard_paint.targets(rows, tuple(PAGES))]


def _target(
    page: str, calls: Sequence[str], found: Mapping[str, metrics.Figures]
) -> metrics.Target:
    names = [f"page_{page}", *(f"call_{page}_{number}" for number in range(len(calls)))]
    parts = {name: found[f"{name}@{ONE}"].p50 for name in names if f"{name}@{ONE}" in found}
    whole = len(parts) == len(names)
    measured = parts[names[0]] / sum(parts[name] for name in names[1:]) if whole else None
    return metrics.at_most(f"{page}: page p50 / its calls' p50", RATIO, measured, parts)


SUITE = Suite(
    about="the first page of the dashboard's lists, beside the calls of the API they stand on",
    settings={
        "memories": 10_000,
        "constraints": 2_000,
        "receipts": 50_000,
        "requests": 60,
        "turns": 60,
        "looks": 5,
        "seed": 1,
    },
    server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
    run=run,
    targets=targets,
)
