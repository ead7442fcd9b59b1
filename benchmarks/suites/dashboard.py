"""Suite `dashboard`: what each page costs over the calls of the API that it stands on.

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
from benchmarks.suites.dashboard_bank import (
    accept_constraints,
    add_constraints,
    multiply_receipts,
)
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

KINDS = ("experience", "constraint", "meta_guideline")
"""The search shows what it finds of each apart."""

HERE = "/v1/namespaces/{slug}"

PAGES: Mapping[str, tuple[str, Sequence[str]]] = {
    "overview": ("/", ("/effect", "/learning-health", "/jobs/runs?limit=8")),
    "memories": ("/memories", (f"/memories?sort=recorded_at&order=desc&limit={ROWS}",)),
    "sorted": (
        "/memories?sort=weight&order=asc",
        (f"/memories?sort=weight&order=asc&limit={ROWS}",),
    ),
    "sought": ("/memories?text=invoice", (f"/memories?text=invoice&limit={ROWS}",)),
    "memory": (
        "/memories/{memory}",
        (
            "/memories/{memory}",
            "/experiences/{memory}/weight",
            f"/experiences/{{memory}}/weight/events?limit={EVENTS}",
            "/experiences/{memory}/versions",
            f"/memories/{{memory}}/episodes?limit={EPISODES}",
            "/memories/{memory}/records",
            "/memories/{memory}/neighbours",
        ),
    ),
    "playground": ("/playground", ("/agents?limit=50", "/categories?limit=50")),
    "receipts": ("/receipts", (f"/retrievals?state=all&limit={ROWS}",)),
    "receipt": (
        "/receipts/{receipt}",
        ("/retrievals/{receipt}", "/retrievals/{receipt}/explain"),
    ),
    "outcomes": ("/receipts/outcomes", (f"/outcomes?limit={ROWS}",)),
    "agents": ("/agents", (f"/agents?limit={ROWS}", "/effect", "/competence")),
    "agent": (
        "/agents/bench",
        (
            "/agents/bench",
            "/effect?agent=bench",
            "/competence",
            "/retrievals?state=all&agent=bench&limit=1",
            "/trajectories?agent=bench&limit=1",
            "/memories?agent=bench&limit=1",
            "GET /v1/keys?limit=50",
        ),
    ),
    "rankers": ("/rankers", ("/rankers",)),
    "health": ("/health", ("/learning-health/history",)),
    "candidates": ("/candidates", (f"/tickets?limit={ROWS}",)),
    "time_travel": ("/time-travel", (f"/rollbacks?limit={ROWS}",)),
    "then": ("/time-travel?bank_version=3", ("/bank?bank_version=3&limit=50",)),
    "influences": ("/influences", ("/influences",)),
    "constraints": ("/constraints", (f"/constraints?limit={ROWS}",)),
    "alike": ("/constraints/alike", ("/constraints?limit=200",)),
    "constraint": (
        "/constraints/{constraint}",
        ("/constraints/{constraint}", f"/constraints/{{constraint}}/support?limit={ROWS}"),
    ),
    "contradictions": ("/contradictions", (f"/contradictions?limit={ROWS}",)),
    "runs": ("/runs", (f"/trajectories?limit={ROWS}",)),
    "predictions": ("/predictions", (f"/predictions?limit={ROWS}",)),
    "settlements": ("/settlements", (f"/settlements?limit={ROWS}",)),
    "categories": ("/categories", (f"/categories?limit={ROWS}",)),
    "taxonomy": ("/taxonomy", ("/taxonomy", "/taxonomy/versions", "/categories?limit=200")),
    "jobs": (
        "/jobs",
        ("GET /v1/jobs", f"/jobs/runs?limit={ROWS}", "/retrievals?state=all&limit=5"),
    ),
    "llm_calls": ("/llm-calls", (f"/llm-calls?limit={ROWS}", "/llm-calls/budget")),
    "settings": ("/settings", ("GET /v1/namespaces/{slug}", "GET /v1/namespaces")),
    "what_if": ("/settings/what-if?policy=steps", ("POST /what-if",)),
    "keys": ("/keys", (f"GET /v1/keys?limit={ROWS}",)),
    "webhooks": ("/webhooks", ("/webhooks",)),
    "exports": ("/exports", (f"/audit?limit={ROWS}", "/audit?limit=20")),
    "audit": ("/audit", (f"/audit?limit={ROWS}",)),
    "search": (
        "/search?q=invoice",
        (
            *(f"/memories?kind={kind}&text=invoice&limit=8" for kind in KINDS),
            "/retrievals?state=all&words=invoice&limit=8",
            "/agents?limit=200",
            "GET /v1/keys?limit=200",
        ),
    ),
}
"""Each page of the navigation and one of each kind below, with the calls that give what it shows;
a call may name its method, and then its whole path.
"""


def run(bench: Bench) -> None:
    """Fill, log in, and fetch each page in turn with its calls."""
    slug, is_filled = _namespace(bench)
    prefix = f"/v1/namespaces/{slug}"
    if not is_filled:
        _fill(bench, prefix)
        add_constraints(bench, prefix)
    accept_constraints(bench, slug)
    ids = {"slug": slug, **_learn(bench, prefix)}
    if not is_filled:
        multiply_receipts(bench, slug)
    cookie = _log_in(bench.server)
    places = {
        page: f"/dashboard/ns/{slug}{path}".format(**ids) for page, (path, _) in PAGES.items()
    }
    for page, (_, calls) in PAGES.items():
        bench.say(f"{page}: {bench.settings['requests']} times")
        shots = {f"page_{page}": Shot("GET", places[page], headers=cookie)}
        for number, call in enumerate(calls):
            shots[f"call_{page}_{number}"] = _call(call, ids)
        _in_turn(bench, shots)
    dashboard_paint.look(bench, places, cookie["Cookie"])


def _call(call: str, ids: Mapping[str, str]) -> Shot:
    method, _, path = call.rpartition(" ")
    whole = path if path.startswith("/v1") else HERE + path
    body = {"policy": "steps", "limit": 20} if method == "POST" else None
    return Shot(method or "GET", whole.format(**ids), body)


def _in_turn(bench: Bench, shots: Mapping[str, Shot]) -> None:
    """Every shot once a round, so that what slows the machine meanwhile slows all of them."""
    fire(bench.server, [*shots.values()] * WARM, ONE)
    hits = fire(bench.server, [*shots.values()] * bench.settings["requests"], ONE)
    for place, name in enumerate(shots):
        mine = hits[place :: len(shots)]
        if not all(hit.timing.ok for hit in mine):
            raise SystemExit(f"{name} was answered with {sorted({hit.status for hit in mine})}")
        bench.timed(name, ONE, timings(mine))


def _namespace(bench: Bench) -> tuple[str, bool]:
    """A namespace of its own, numbered where earlier runs have left theirs, and whether it is that
    of an earlier run, filled, which the setting `filled` names by its number.
    """
    if number := bench.settings["filled"]:
        return f"bench-dashboard-{number}", True
    for number in count(1):
        slug = f"bench-dashboard-{number}"
        body = {"slug": slug, "settings": {"control_rate": 0.0}}
        [hit] = fire(bench.server, [Shot("POST", "/v1/namespaces", body)], ONE)
        if hit.timing.ok:
            return slug, False
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


def _learn(bench: Bench, prefix: str) -> Mapping[str, str]:
    """Serve and report one task again and again; ids of the memory that was served most often, of a
    receipt, and of a constraint.
    """
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
    [listed] = fire(bench.server, [Shot("GET", f"{prefix}/constraints?limit=1")], ONE)
    return {
        "memory": max(sorted(set(ids)), key=ids.count),
        "receipt": str(served[0].answer["retrieval_id"]),
        "constraint": str(listed.answer["items"][0]["id"]),
    }


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
    ratios = [_target(page, calls, found) for page, (_, calls) in PAGES.items()]
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
    about="each page of the dashboard, beside the calls of the API they stand on",
    settings={
        "memories": 10_000,
        "constraints": 2_000,
        "receipts": 50_000,
        "requests": 60,
        "turns": 60,
        "looks": 5,
        "filled": 0,
        "seed": 1,
    },
    server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
    run=run,
    targets=targets,
)
