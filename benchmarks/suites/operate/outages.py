"""What must hold while processes, the database, its disk, a clock and connections fail: the soak,
as a part of the suite.
"""

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.metrics import Target, at_least, at_most, not_run
from benchmarks.soak.faults import FAULTS
from benchmarks.soak.run import NAMESPACES, Plan, Soaked, soak
from benchmarks.soak.tally import DOUBLED, LOST_WRITE, STALE
from benchmarks.suites.operate.bank import Operated

ANSWERED = "operations answered for good"
LOST, TWICE, STALE_READS = "acknowledged writes lost", "writes doubled", "stale reads"
OTHER = "other violations"
REBUILDS = "namespaces whose rebuild is exact"
TAKEOVER = "takeover, s"
MADE = "faults made"
CLASSES = {LOST: LOST_WRITE, TWICE: DOUBLED, STALE_READS: STALE}


def run(operated: Operated) -> None:
    """Soak for so many operations."""
    bench, wanted = operated.bench, operated.bench.settings
    plan = Plan(
        operations=wanted["operations"],
        callers=wanted["callers"],
        kills=wanted["kills"],
        seed=wanted["seed"],
        rounds=wanted["rounds"],
    )
    keep(bench, soak(plan, bench.say))


def keep(bench: Bench, soaked: Soaked) -> None:
    """What it came to, as numbers."""
    for line in soaked.lines():
        bench.say(line)
    (bench.folder / "soak.txt").write_text("\n".join(soaked.lines()) + "\n", encoding="utf-8")
    tally = soaked.tally
    bench.number(ANSWERED, soaked.answered, "operations")
    bench.number("seconds of the soak", soaked.seconds, "s")
    for name, of in CLASSES.items():
        bench.number(name, tally.by_class[of], "violations")
    known = sum(tally.by_class[of] for of in CLASSES.values())
    bench.number(OTHER, tally.wrong - known, "violations")
    bench.number(REBUILDS, _exact(soaked), "namespaces")
    for name in FAULTS:
        if name not in soaked.not_run:
            bench.number(f"{MADE}: {name}", soaked.trouble.get(name, 0), "times")
    if soaked.takeovers:
        bench.number(TAKEOVER, max(soaked.takeovers), "s")


def targets(found: Mapping[str, float]) -> list[Target]:
    """Nothing acknowledged is lost or there twice, no answer is from before it, and another process
    leads soon.
    """
    parts = {name: found[name] for name in (ANSWERED,) if name in found}
    faults = [_fault(name, found) for name in FAULTS]
    return [
        *(at_most(name, 0.0, found.get(name), parts) for name in (*CLASSES, OTHER)),
        at_least(REBUILDS, float(len(NAMESPACES)), found.get(REBUILDS), {}),
        at_most(TAKEOVER, 20.0, found.get(TAKEOVER), {}),
        *faults,
    ]


def _fault(name: str, found: Mapping[str, float]) -> Target:
    made = f"{MADE}: {name}"
    if made not in found and ANSWERED in found:
        return not_run(made, 1.0, "this machine does not allow it, or lacks what it takes")
    return at_least(made, 1.0, found.get(made), {})


def _exact(soaked: Soaked) -> int:
    return sum("'exact': True" in line for line in soaked.rebuilds)
