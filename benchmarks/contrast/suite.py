"""Suite `contrast`: pairs of recorded runs of several agents, over REST, without a language model.

All runs are ingested and every task is contrasted, timed in eight parts; which pairs came of it is
counted from what the server lists. Then tasks are asked about without a category, and the one they
are routed to is compared with the suite's own label. Last, a caller brings constraints that carry
a literal of their task: the lint must refuse each.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import cast

from benchmarks import metrics
from benchmarks.bench import Bench
from benchmarks.contrast.bank import PARTS, Bank
from benchmarks.contrast.groups import (
    CATEGORIES,
    DOMAINS,
    TAXONOMY,
    Group,
    read_groups,
)
from benchmarks.contrast.reading import counted, literals_of
from benchmarks.load import Shot, fire
from benchmarks.suites.plan import Suite

SETTINGS = {"tasks": 100_000, "routed": 400}
LINEAR = 2.0


def suite(data: Path) -> Suite:
    """The suite on the recorded runs in `data`."""
    return Suite(
        about="pairs of recorded runs of several agents",
        settings=SETTINGS,
        server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
        run=lambda bench: run(bench, data),
        targets=targets,
    )


def run(bench: Bench, data: Path) -> None:
    groups = read_groups(data)[: bench.settings["tasks"]]
    slug = _free_slug(bench)
    bank = Bank(bench, slug)
    bank.open(groups, TAXONOMY)
    _ingested(bank, groups)
    tasks = bank.tasks()
    bench.say(f"contrasting {len(tasks)} tasks")
    bank.contrast([tasks[group.task] for group in groups], "contrast")
    for name, value in counted(groups, bank, tasks):
        bench.number(name, value, "count")
    some = groups[: bench.settings["routed"]]
    _routed(bank, some, "own", {name: frozenset({name}) for name in DOMAINS})
    shipped = Bank(bench, f"{slug}-shipped")
    shipped.open(some, {"default": True, "allow_new": True})
    _routed(shipped, some, "shipped", DOMAINS)
    _linted(bank, some)


def _ingested(bank: Bank, groups: Sequence[Group]) -> None:
    bank.bench.say(f"storing {sum(len(group.runs) for group in groups)} runs")
    for part in range(PARTS):
        some = groups[len(groups) * part // PARTS : len(groups) * (part + 1) // PARTS]
        bank.ingest(some, f"ingest_{part + 1}")
        runs = sum(len(group.runs) for group in some)
        bank.bench.number(f"ingest_runs_{part + 1}", runs, "runs")


def _routed(
    bank: Bank, groups: Sequence[Group], name: str, covers: Mapping[str, frozenset[str]]
) -> None:
    """Tasks without a label, and whether the first level is one that the suite's label covers."""
    answers = bank.ask(groups[0].runs[0].agent, groups, told=False)
    for suite in CATEGORIES:
        right = [
            answer["category"] in covers[CATEGORIES[group.suite][0]]
            for group, answer in zip(groups, answers, strict=True)
            if group.suite == suite
        ]
        bank.bench.number(f"routed_{name}_{suite}", len(right), "tasks")
        bank.bench.number(f"routed_{name}_{suite}_right", sum(right), "tasks")


def _linted(bank: Bank, groups: Sequence[Group]) -> None:
    """Constraints that name a literal of their task, and the same ones without it."""
    named = [(group, sorted(literals_of(group))) for group in groups]
    told = [(group, literals[0]) for group, literals in named if literals]
    carried = bank.bring([(group, f"beginning with {literal}") for group, literal in told])
    plain = bank.bring([(group, "beginning with what is given") for group, _ in told])
    bank.bench.number("literals_brought", len(told), "constraints")
    bank.bench.number("literals_admitted", carried.count([]), "constraints")
    bank.bench.number("plain_admitted", plain.count([]), "constraints")


def _free_slug(bench: Bench) -> str:
    """Numbered where earlier runs have left theirs."""
    for number in count(1):
        slug = f"bench-contrast-{number}"
        [hit] = fire(bench.server, [Shot("GET", f"/v1/namespaces/{slug}")], 1)
        if not hit.timing.ok:
            return slug
    raise AssertionError("numbers do not end")


def targets(rows: Sequence[metrics.Row]) -> list[metrics.Target]:
    """What the suite aims at, from its measurements alone."""
    found = metrics.numbers(rows)
    brought = {"literals_brought": found.get("literals_brought", 0.0)}
    return [
        metrics.at_least(
            "pairs: tasks on which agents differ that are discordant",
            1.0,
            _ratio(found, "groups_discordant", "groups_differ"),
            {},
        ),
        metrics.at_most(
            "admitted constraints with a literal of their task",
            0.0,
            found.get("literals_admitted"),
            brought,
        ),
        metrics.at_most("ingest: time a run, last half / first", LINEAR, *_growth(rows, "ingest")),
        metrics.at_most(
            "contrast: time a task, last half / first", LINEAR, *_growth(rows, "contrast")
        ),
    ]


def _growth(rows: Sequence[metrics.Row], operation: str) -> tuple[float | None, dict[str, float]]:
    """Mean time a call in the last half of the parts over the first: 1 is linear."""
    halves: tuple[list[float], list[float]] = ([], [])
    for part in range(1, PARTS + 1):
        times = [cast("float", r["ms"]) for r in metrics.timings(rows, f"{operation}_{part}", 1)]
        halves[2 * (part - 1) // PARTS].extend(times)
    if not halves[0] or not halves[1]:
        return None, {}
    first, last = (sum(times) / len(times) for times in halves)
    return last / first, {"first_ms": first, "last_ms": last}


def _ratio(found: Mapping[str, float], over: str, under: str) -> float | None:
    return found[over] / found[under] if over in found and found.get(under) else None
