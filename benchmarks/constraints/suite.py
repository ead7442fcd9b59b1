"""Suite `constraints`: recorded runs are brought over HTTP, the job of checks admits constraints,
and these are held against the tasks that were not used for it.

First the power of each bucket, then what was admitted with its sentence, counts and halves, then
the targets. The runs of the admission half are brought on two days, and the job runs on each, so
that growth shows. What the server admits is what `memory.constraints.checks.trials` admits on the
same runs: the suite counts how often the two differ.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import metrics
from benchmarks.bench import Bench
from benchmarks.constraints.measures import (
    FOREIGN,
    REFUSED,
    SERVED,
    Telling,
    difference,
    drawn,
    odds,
    share,
    signs_held,
    tellings,
)
from benchmarks.constraints.recorded import RecordedRun, read_runs
from benchmarks.contrast.bank import BATCH, Bank
from benchmarks.load import Shot, fire
from benchmarks.suites.plan import Suite
from memory.constraints.checks.library import check_of
from memory.constraints.checks.trials import TrialFigures, TriedRun, compare_runs, try_bucket

SETTINGS = {"asked": 60}
DAYS = ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z")
AFTER = "2026-01-07T00:00:00Z"
FIRST_PROBLEM = 300


def suite(data: Path) -> Suite:
    """The suite on the recorded runs in `data`."""
    return Suite(
        about="checks of recorded runs that become constraints",
        settings=SETTINGS,
        server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
        run=lambda bench: run(bench, data),
        targets=targets,
    )


def run(bench: Bench, data: Path) -> None:
    runs = read_runs(data)
    admission = [one for one in runs if not one.task.held]
    held = [one for one in runs if one.task.held]
    offline = {bucket: try_bucket(some) for bucket, some in tried_by_bucket(admission).items()}
    _say_power(bench, admission, held, offline)
    bank = Bank(bench, _free_slug(bench))
    _bring(bank, admission)
    known = {(row["category"], row["check"]["name"]): row for row in _checked(bank)}
    active = {key: row for key, row in known.items() if row["status"] == "active"}
    _say_admitted(bench, known)
    _count_admitted(bench, offline, active)
    _serve(bank, held)
    _measure(bench, tried_by_bucket(held), offline, active)


def tried_by_bucket(runs: Sequence[RecordedRun]) -> dict[str, list[TriedRun]]:
    """The runs of each bucket with what the checks say of them."""
    found: dict[str, list[TriedRun]] = defaultdict(list)
    for one in runs:
        found[one.task.category].append(one.tried())
    return dict(sorted(found.items()))


def _say_power(
    bench: Bench,
    admission: Sequence[RecordedRun],
    held: Sequence[RecordedRun],
    offline: Mapping[str, Sequence[TrialFigures]],
) -> None:
    """How many tasks can tell anything, before anything is admitted."""
    bench.say(
        f"{'bucket':<12}{'runs':>7}{'discordant':>12}{'families':>10}{'applied':>9}{'tried':>7}"
        f"{'held':>7}"
    )
    aside = _discordant(held)
    here = _discordant(admission)
    for bucket, figures in offline.items():
        runs = [one for one in admission if one.task.category == bucket]
        families = len({one.family for one in runs})
        tried = sum(one.p is not None for one in figures)
        bench.say(
            f"{bucket:<12}{len(runs):>7}{here.get(bucket, 0):>12}{families:>10}"
            f"{len(figures):>9}{tried:>7}{aside.get(bucket, 0):>7}"
        )
        bench.number(f"discordant_{bucket}", here.get(bucket, 0), "tasks")
        bench.number(f"tried_{bucket}", tried, "checks")


def _discordant(runs: Sequence[RecordedRun]) -> dict[str, int]:
    """Tasks of each bucket with a right and a wrong run of one variant."""
    results: dict[tuple[str, str, str | None], set[bool]] = defaultdict(set)
    for one in runs:
        results[one.task.category, one.task.key, one.variant].add(one.right)
    found: dict[str, set[str]] = defaultdict(set)
    for (bucket, task, _), rights in results.items():
        if len(rights) > 1:
            found[bucket].add(task)
    return {bucket: len(tasks) for bucket, tasks in found.items()}


def _bring(bank: Bank, runs: Sequence[RecordedRun]) -> None:
    """The runs of one day, then those of the next, each with a run of the job; timed."""
    bank.make("/v1/namespaces", {"slug": bank.slug, "clock": "replay"})
    for name, family in sorted({(one.agent, one.family) for one in runs}):
        bank.make(f"{bank.prefix}/agents", {"name": name, "family": family})
    parts = [runs[place::2] for place in range(len(DAYS))]
    seconds: list[float] = []
    for day, part in zip(DAYS, parts, strict=True):
        began = time.perf_counter()
        bodies = [one.body(day) for one in part]
        for start in range(0, len(bodies), BATCH):
            items = {"items": bodies[start : start + BATCH]}
            answer = bank.make(f"{bank.prefix}/trajectories/batch", items)
            refused = [one for one in answer["items"] if one["status"] >= FIRST_PROBLEM]
            if refused:
                raise SystemExit(f"runs were refused: {refused[:1]}")
        done = bank.make(f"{bank.prefix}/jobs/checks/runs", {"now": day})["result"]
        seconds.append((time.perf_counter() - began) / max(1, len(part)))
        refused = sum(one["refused"] for one in done["categories"])
        bank.bench.say(f"{day[:10]}: {done['examined']} runs examined, {refused} of another task")
        bank.bench.number("refused_runs", refused, "runs")
    bank.bench.number("seconds_per_1000", 1_000 * sum(seconds) / len(seconds), "s")
    bank.bench.number("growth", seconds[1] / seconds[0], "ratio")


def _checked(bank: Bank) -> list[dict[str, Any]]:
    return list(bank.every("constraints", origin="checked"))


def _say_admitted(bench: Bench, known: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    """Each proposal with its sentence, counts and halves; what was admitted first."""
    order = sorted(known.values(), key=lambda row: (row["status"] != "active", row["category"]))
    for row in order:
        check = row["check"]
        halves = ", ".join(f"{one['failing']}:{one['winning']}" for one in check["halves"])
        reason = check["reason"] or row["status_reason"]
        state = "ADMITTED" if row["status"] == "active" else f"not admitted ({reason})"
        bench.say(f"{state}: {row['category']} {check['name']}")
        bench.say(f"    When {row['trigger']}, enforce {row['enforce']}; avoid {row['avoid']}.")
        bench.say(
            f"    {check['failing']}:{check['winning']} of {check['tasks']} tasks, halves {halves},"
            f" p {check['p']:.4f}, q {check['q']:.4f}, {check['families']} families"
        )


def _count_admitted(
    bench: Bench,
    offline: Mapping[str, Sequence[TrialFigures]],
    active: Mapping[tuple[str, str], object],
) -> None:
    alone = {
        (bucket, one.name) for bucket, every in offline.items() for one in every if one.admitted
    }
    style = [name for _, name in active if check_of(name)[0].control]
    bench.number("admitted", len(active), "constraints")
    bench.number("admitted_categories", len({bucket for bucket, _ in active}), "categories")
    bench.number("admitted_style", len(style), "constraints")
    bench.number("server_differs", len(alone ^ set(active)), "constraints")


def _serve(bank: Bank, held: Sequence[RecordedRun]) -> None:
    """How many tasks of the held half are served a constraint."""
    asks = {one.task.key: one.task for one in held}
    some = list(asks.values())[: bank.bench.settings["asked"]]
    served = 0
    for task in some:
        body = {
            "agent": held[0].agent,
            "task": {"text": task.text, "category": task.category},
            "k": 1,
            "purpose": "preview",
            "arm": "on",
            "as_of": AFTER,
        }
        served += bool(bank.make(f"{bank.prefix}/retrievals", body)["constraints"])
    bank.bench.number("held_tasks_asked", len(some), "tasks")
    bank.bench.number("held_tasks_served", served, "tasks")


def _measure(
    bench: Bench,
    held: Mapping[str, Sequence[TriedRun]],
    offline: Mapping[str, Sequence[TrialFigures]],
    active: Mapping[tuple[str, str], object],
) -> None:
    """What the admitted constraints say on the held half."""
    names: dict[str, dict[str, str]] = {}
    foreign = {name for _, name in active}
    for bucket in held:
        own = {name for place, name in active if place == bucket}
        tried = {one.name for one in offline.get(bucket, ()) if one.p is not None}
        names[bucket] = {
            **dict.fromkeys(foreign - own, FOREIGN),
            **dict.fromkeys(tried - own, REFUSED),
            **dict.fromkeys(own, SERVED),
        }
    found = tellings(held, names)
    _say_held(bench, found, {bucket: len(compare_runs(runs)) for bucket, runs in held.items()})
    served = [one for one in found if one.kind == SERVED]
    if not served:
        return
    ratio, apart = drawn(served, odds), drawn(found, difference)
    bench.number("held_failing", sum(one.sign > 0 for one in served), "cases")
    bench.number("held_winning", sum(one.sign < 0 for one in served), "cases")
    for name, interval in (("held_ratio", ratio), ("difference", apart)):
        bench.number(name, interval.value, "ratio")
        bench.number(f"{name}_low", interval.low, "ratio")
        bench.number(f"{name}_high", interval.high, "ratio")
    for kind in (SERVED, REFUSED, FOREIGN):
        bench.number(f"share_{kind}", share([one for one in found if one.kind == kind]), "share")
    bench.number("signs_held", signs_held(found) or 0.0, "share")


def _say_held(bench: Bench, found: Sequence[Telling], tasks: Mapping[str, int]) -> None:
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for one in found:
        if one.kind == SERVED:
            counts[one.bucket, one.name][one.sign < 0] += 1
    for (bucket, name), (failing, winning) in sorted(counts.items()):
        bench.say(f"held: {bucket} {name}: {failing}:{winning} of {tasks[bucket]} tasks")


def _free_slug(bench: Bench) -> str:
    """Numbered where earlier runs have left theirs."""
    for number in count(1):
        slug = f"bench-constraints-{number}"
        [hit] = fire(bench.server, [Shot("GET", f"/v1/namespaces/{slug}")], 1)
        if not hit.timing.ok:
            return slug
    raise AssertionError("numbers do not end")


def targets(rows: Sequence[metrics.Row]) -> list[metrics.Target]:
    """What the suite aims at, from its measurements alone."""
    found = metrics.numbers(rows)

    def parts(*names: str) -> dict[str, float]:
        return {name: found[name] for name in names if name in found}

    return [
        metrics.at_least("admitted constraints", 4.0, found.get("admitted"), {}),
        metrics.at_least("categories with one", 2.0, found.get("admitted_categories"), {}),
        metrics.at_most("admitted by style", 0.0, found.get("admitted_style"), {}),
        metrics.at_most("server against the modules", 0.0, found.get("server_differs"), {}),
        metrics.at_least(
            "held tasks: failing to winning",
            2.0,
            found.get("held_ratio"),
            parts("held_failing", "held_winning", "held_ratio_low", "held_ratio_high"),
        ),
        metrics.at_least("its lower limit", 1.0, found.get("held_ratio_low"), {}),
        metrics.at_least("held tasks: signs held", 0.8, found.get("signs_held"), {}),
        metrics.at_least(
            "served against the others",
            0.56,
            found.get("difference"),
            parts("share_served", "share_not_admitted", "share_other_bucket"),
        ),
        metrics.at_least("its lower limit above", 0.5, found.get("difference_low"), {}),
        metrics.at_most("seconds for 1,000 runs", 60.0, found.get("seconds_per_1000"), {}),
        metrics.at_most("growth of the last half", 1.15, found.get("growth"), {}),
    ]
