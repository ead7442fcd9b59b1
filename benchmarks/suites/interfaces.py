"""Suite `interfaces`: what each way into an agent asks of its user, what comes back, what it costs.

Every way in of `benchmarks.interfaces.adapters` runs its example in a namespace of its own, on one
server with one note that fits all tasks. Then it takes turns with plain HTTP, task by task. The
protocol's own checks are in `benchmarks.interfaces.conformance`.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from statistics import median
from typing import cast

from memlift_client import MemLift, NamespaceSettingsFields

from benchmarks.bench import Bench
from benchmarks.interfaces.adapters import ADAPTERS, PLAIN, ROOT, Adapter, variables, watching
from benchmarks.interfaces.alternation import EndedEarly, alternate
from benchmarks.interfaces.conformance import check_over_http
from benchmarks.interfaces.lines import count_lines
from benchmarks.kernels.mcp_in_process import check_in_process
from benchmarks.metrics import Row, Target, at_least, at_most
from benchmarks.suites.plan import Suite

LINES, ANSWERED, USED, OVERHEAD = 8, 0.95, 0.95, 10.0
SITUATION = "A customer asks to have an invoice refunded"
LESSON = "Ask for the number of the order before any money is moved"
ALL_ASKED: NamespaceSettingsFields = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0}
"""Every run gets the note: what is measured is whether results come back."""
NOT_RUN = "not run"
IN_PROCESS, OVER_HTTP = "MCP in process", "MCP over HTTP"
PATIENCE = 600


def run(bench: Bench) -> None:
    """Every way in that can be run here, then the protocol."""
    for adapter in ADAPTERS:
        reason = adapter.absent()
        if reason is not None:
            bench.say(f"{adapter.name}: {NOT_RUN}: {reason}")
            bench.number(f"{adapter.name}: {NOT_RUN}: {reason}", 0, "reason")
            continue
        bench.say(adapter.name)
        _try_example(bench, adapter)
        if adapter.timed:
            _time_tasks(bench, adapter)
        if adapter.watched:
            _watch_tasks(bench, adapter)
    for name, check in ((IN_PROCESS, check_in_process), (OVER_HTTP, check_over_http)):
        bench.say(name)
        for one, passed in check(bench.server).items():
            bench.number(f"{name}: {one}", passed, "check")


def _try_example(bench: Bench, adapter: Adapter) -> None:
    """Run it, and look at what came back."""
    with _namespace(bench, adapter.name) as memory:
        tasks = bench.settings["tasks"]
        times = 1 if adapter.loops else bench.settings["runs"]
        for _ in range(times):
            ended = subprocess.run(  # noqa: S603 - an example of ours
                adapter.words(),
                cwd=ROOT,
                env=variables(bench.server, memory) | {"BENCH_TASKS": str(tasks)},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            if ended.returncode:
                bench.say(f"{adapter.name} ended with {ended.returncode}: {ended.stderr[-800:]}")
        receipts = [one for one in memory.each_retrieval() if one.purpose != "preview"]
        outcomes = {
            one.retrieval_id: one for one in memory.each_outcome() if one.status != "superseded"
        }
    handed = [one for one in receipts if one.guideline.text]
    used = [one for one in handed if getattr(outcomes.get(one.retrieval_id), "used", None)]
    bench.number(f"{adapter.name}: lines", count_lines(ROOT / adapter.example), "lines")
    bench.number(f"{adapter.name}: runs", len(receipts), "runs")
    bench.number(f"{adapter.name}: answered", len(outcomes), "runs")
    if adapter.cites:
        bench.number(f"{adapter.name}: handed", len(handed), "runs")
        bench.number(f"{adapter.name}: used", len(used), "runs")


def _time_tasks(bench: Bench, adapter: Adapter) -> None:
    with _namespace(bench, f"{adapter.name}-turns") as memory:
        words, plain = adapter.words(), PLAIN.words()
        try:
            turns = alternate(
                words, plain, variables(bench.server, memory), bench.settings["pairs"] + 1
            )
        except EndedEarly as fault:
            bench.say(f"{adapter.name}: no times: {fault}")
            return
    bench.timed(adapter.name, 1, turns.first)
    bench.timed(f"{adapter.name}, {PLAIN.name}", 1, turns.second)


def _watch_tasks(bench: Bench, adapter: Adapter) -> None:
    """What it takes of the processor besides its requests, where no two ways in can take turns."""
    with _namespace(bench, f"{adapter.name}-watched") as memory:
        ended = subprocess.run(  # noqa: S603 - an example of ours
            watching(adapter.example, bench.settings["watched"]),
            cwd=ROOT,
            env=variables(bench.server, memory),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    if ended.returncode:
        bench.say(f"{adapter.name}: not watched: {ended.stderr[-800:]}")
        return
    for owner, ms in json.loads(ended.stdout.splitlines()[-1]).items():
        bench.number(f"{adapter.name}: processor, {owner}", ms, "ms")


def _namespace(bench: Bench, name: str) -> MemLift:
    """A new one, with the note."""
    slug = name.replace("_", "-")
    with MemLift(bench.server.url, bench.server.key) as operator:
        operator.create_namespace(slug, settings=ALL_ASKED)
    memory = MemLift(bench.server.url, bench.server.key, slug)
    memory.remember(agent="author", situation=SITUATION, lesson=LESSON)
    return memory


def targets(rows: Sequence[Row]) -> list[Target]:
    """Lines, outcomes, uses and overhead of each way in, and the share of checks passed."""
    numbers = {str(r["operation"]): cast("float", r["value"]) for r in rows if "value" in r}
    found: list[Target] = []
    for adapter in ADAPTERS:
        found += _of_adapter(adapter, numbers, rows)
    return [*found, *(_of_checks(name, numbers) for name in (IN_PROCESS, OVER_HTTP))]


def _of_adapter(
    adapter: Adapter, numbers: Mapping[str, float], rows: Sequence[Row]
) -> list[Target]:
    name = adapter.name
    began = f"{name}: {NOT_RUN}: "
    reason = next((one.removeprefix(began) for one in numbers if one.startswith(began)), None)
    why = "" if reason is None else f" ({reason})"
    found = [
        at_most(f"{name}: lines{why}", LINES, numbers.get(f"{name}: lines"), {}),
        _share(f"{name}: runs with an outcome{why}", ANSWERED, numbers, (name, "answered", "runs")),
    ]
    if adapter.cites:
        title = f"{name}: runs with used{why}"
        found.append(_share(title, USED, numbers, (name, "used", "handed")))
    if adapter.watched:
        title = f"{name}: ms of the processor besides its requests{why}"
        own = numbers.get(f"{name}: processor, ours")
        return [*found, at_most(title, OVERHEAD, own, _processor(name, numbers))]
    untimed = "" if adapter.timed else " (a process for each task)"
    overheads = _overheads(name, rows)
    middle = median(overheads) if overheads else None
    parts = {} if middle is None else {"pairs": float(len(overheads)), **_medians(name, rows)}
    title = f"{name}: ms over plain HTTP{why or untimed}"
    return [*found, at_most(title, OVERHEAD, middle, parts)]


def _share(
    title: str, target: float, numbers: Mapping[str, float], counts: tuple[str, str, str]
) -> Target:
    name, some, all_ = counts
    parts = {one: numbers[f"{name}: {one}"] for one in (some, all_) if f"{name}: {one}" in numbers}
    whole = parts.get(all_, 0)
    return at_least(title, target, parts[some] / whole if whole else None, parts)


def _overheads(name: str, rows: Sequence[Row]) -> list[float]:
    """What each pair differs by."""
    mine, plain = _times(name, rows), _times(f"{name}, {PLAIN.name}", rows)
    return [one - other for one, other in zip(mine, plain, strict=True)]


def _processor(name: str, numbers: Mapping[str, float]) -> dict[str, float]:
    """Whose time it was."""
    began = f"{name}: processor, "
    return {one.removeprefix(began): ms for one, ms in numbers.items() if one.startswith(began)}


def _medians(name: str, rows: Sequence[Row]) -> dict[str, float]:
    return {
        "ms": median(_times(name, rows)),
        "ms plain": median(_times(f"{name}, {PLAIN.name}", rows)),
    }


def _times(operation: str, rows: Sequence[Row]) -> list[float]:
    return [cast("float", r["ms"]) for r in rows if r["operation"] == operation and "ms" in r]


def _of_checks(name: str, numbers: Mapping[str, float]) -> Target:
    began = f"{name}: "
    checks = {one.removeprefix(began): v for one, v in numbers.items() if one.startswith(began)}
    share = sum(checks.values()) / len(checks) if checks else None
    return at_least(f"{name}: checks", 1.0, share, checks)


SUITE = Suite(
    about="ways into an agent: lines, outcomes that come back, and what a task costs",
    settings={"tasks": 20, "runs": 3, "pairs": 60, "watched": 10},
    server={"MEMLIFT_REQUEST_RATE": "1000000"},
    run=run,
    targets=targets,
)
