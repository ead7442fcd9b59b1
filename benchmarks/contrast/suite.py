"""Suite `contrast`: constraints from recorded runs of several agents, over REST.

All runs are ingested and every task is contrasted, timed in eight parts; what came of it is counted
from what the server lists. Then tasks are asked about without a category, and the one they are
routed to is held against the suite's own label. Last, the leave-one-out question: is what other
agents' pairs say avoid closer to the failing run than to the winning one?
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import cast

from benchmarks import metrics
from benchmarks.bench import Bench
from benchmarks.contrast.bank import PARTS, Bank
from benchmarks.contrast.closeness import Estimate, by_task, estimate, gain
from benchmarks.contrast.groups import (
    CATEGORIES,
    DOMAINS,
    TAXONOMY,
    Group,
    read_groups,
    success_rates,
)
from benchmarks.contrast.reading import counted
from benchmarks.contrast.transfer import Case, cases
from benchmarks.kernels.embedding import vectors_of
from benchmarks.load import Shot, fire
from benchmarks.suites.plan import Suite

SETTINGS = {"tasks": 100_000, "routed": 400, "seed": 1}
YIELD = 0.30
LINEAR = 2.0


def suite(data: Path, out: Path) -> Suite:
    """The suite on the recorded runs in `data`; cases go to OUT/cases.jsonl."""
    return Suite(
        about="constraints from recorded runs of several agents",
        settings=SETTINGS,
        server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
        run=lambda bench: run(bench, data, out),
        targets=targets,
    )


def run(bench: Bench, data: Path, out: Path) -> None:
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
    _transferred(bench, out, list(cases(bank, groups, success_rates(groups))))


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


def _transferred(bench: Bench, out: Path, found: Sequence[Case]) -> None:
    """The leave-one-out figures; random and wrong-bucket texts are the baselines."""
    with (out / "cases.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(case)) + "\n" for case in found)
    texts = {text for case in found for text in (*case.served, *case.random, *case.elsewhere)}
    texts |= {run for case in found for run in (case.failing, case.winning)}
    bench.say(f"embedding {len(texts)} texts")
    vectors = asyncio.run(vectors_of(sorted(texts)))
    bench.number("cases", len(found), "cases")
    bench.number("cases_served", sum(bool(case.served) for case in found), "cases")
    for name, some in _slices(found).items():
        by = {which: by_task(some, texts, vectors) for which, texts in ARMS.items()}
        seed = bench.settings["seed"]
        for which, scores in by.items():
            _noted(bench, f"{name}_{which}", estimate(list(scores.values()), seed))
        for which in ("random", "elsewhere"):
            _noted(bench, f"{name}_gain_over_{which}", gain(by["served"], by[which], seed))


ARMS: Mapping[str, Callable[[Case], Sequence[str]]] = {
    "served": lambda case: case.served,
    "random": lambda case: case.random,
    "elsewhere": lambda case: case.elsewhere,
}


def _slices(found: Sequence[Case]) -> dict[str, list[Case]]:
    """All cases, each suite's, and those in which the stronger agent lost."""
    slices = {"closer": list(found)}
    slices |= {f"closer_{s}": [case for case in found if case.suite == s] for s in CATEGORIES}
    slices["closer_stronger_lost"] = [case for case in found if case.stronger_lost]
    return {name: some for name, some in slices.items() if some}


def _noted(bench: Bench, name: str, found: Estimate | None) -> None:
    if found is None:
        return
    for part, value in asdict(found).items():
        bench.number(f"{name}_{part}", float(value), "share" if part != "n" else "tasks")


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
    told = {n: found[n] for n in ("groups_yielding", "groups_distillable") if n in found}
    share = _ratio(found, "groups_yielding", "groups_distillable")
    return [
        metrics.at_least("yield: groups with an admitted constraint", YIELD, share, told),
        metrics.at_most(
            "admitted constraints with a literal of a source task",
            0.0,
            found.get("admitted_with_literals"),
            {},
        ),
        metrics.at_least(
            "leave one out: lower end of the gain over random",
            0.0,
            found.get("closer_gain_over_random_low"),
            {n: v for n, v in found.items() if n.startswith("closer_gain_over_random")},
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
