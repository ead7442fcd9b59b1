"""Metric locks: first reports that teach nothing, notes, and other metrics on a receipt in use."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from benchmarks.attack.assault import Assault, Attack
from benchmarks.attack.bank import task
from benchmarks.attack.lies import NUMBERS
from benchmarks.attack.world import Key, World, ask

BINARY = {"reward": 1.0, "reward_kind": "binary"}
BRIER = {"metric": "brier", "value": {"p": [0.9, 0.1]}, "truth": {"y": [1, 0]}}
FIRST_REPORTS: Mapping[str, tuple[Mapping[str, object], Mapping[str, object]]] = {
    "observed_binary": ({"arm": "off"}, BINARY),
    "observed_brier": ({"arm": "off"}, BRIER),
    "replayed": ({"purpose": "replay"}, BINARY),
    "kept": ({"arm": "off"}, {**BINARY, "keep": True}),
    "half_a_pair": ({"purpose": "paired"}, BINARY),
}
"""What the retrieval asks and what the report says, of first reports that teach nothing."""
COUNTED = "counted"
"""A first report that counts fixes its category, as it should; an operator can undo it."""


def lock_metrics(assault: Assault) -> None:
    """In categories that nobody used yet, then on receipts whose pair is in effect."""
    key = assault.recruit("locker", "mallory")
    for name, (wanted, report) in FIRST_REPORTS.items():
        _report_first(assault, key, f"untouched {name}", wanted, report)
    _report_first(assault, key, f"untouched {COUNTED}", {"arm": "on"}, BINARY)
    for number in count():
        _displace(assault, key, number)


def count_locks(assault: Assault) -> None:
    """An honest agent reports continuous pairs in each category; what it says has to count."""
    world = assault.world
    for name in FIRST_REPORTS:
        assault.add("categories_locked", not _teaches(world, f"untouched {name}", 0))
    assault.add("categories_fixed", not _teaches(world, f"untouched {COUNTED}", 0))
    world.roll_back(**assault.sources[0])
    assault.add("locked_after_rollback", not _teaches(world, f"untouched {COUNTED}", 1))


def _report_first(
    assault: Assault,
    key: Key,
    category: str,
    wanted: Mapping[str, object],
    report: Mapping[str, object],
) -> None:
    body = _asked(assault.world, "mallory", category, 0) | {"purpose": "act"} | dict(wanted)
    if receipt := assault.receive(key, body):
        assault.report(key, receipt[0], dict(report))


def _displace(assault: Assault, key: Key, number: int) -> None:
    """A valid pair, and a report beside it that can teach nothing, in one's own name or with
    `supersedes`.
    """
    world = assault.world
    receipt = assault.receive(key, _asked(world, "mallory", "untouched pair", number))
    if receipt is None:
        return
    pair = assault.report(key, receipt[0], {"reward": 0.7, "without": {"reward": 0.5}})
    if not pair.good:
        return
    assault.ask(key, "POST", "/outcomes/apply", {})
    first = pair.body["outcome_id"]
    beside = {"supersedes": first} if number % 2 else {"verifier": "test"}
    assault.report(key, receipt[0], {**BRIER, **beside})
    now = world.admin.demand("GET", world.path(f"/outcomes/{first}"))
    assault.add("pairs_displaced", now["status"] == "superseded")


def _teaches(world: World, category: str, number: int) -> bool:
    """Whether an honest continuous pair counts in the category."""
    alder = world.honest["alder"].caller
    wanted = _asked(world, "alder", category, number)
    receipt = alder.demand("POST", world.path("/retrievals"), wanted)
    path = world.path(f"/retrievals/{receipt['retrieval_id']}/outcome")
    answer = alder.ask("POST", path, {"reward": 0.7, "without": {"reward": 0.5}})
    if not answer.good:
        return False
    world.apply()
    told: Any = world.admin.demand("GET", world.path(f"/outcomes/{answer.body['outcome_id']}"))
    return bool(told["status"] == "applied" and told["evidence"] == "paired")


def _asked(world: World, agent: str, category: str, number: int) -> dict[str, Any]:
    note = world.victims()[0][0].note
    text = task(note, world.seed, 3 * NUMBERS + number)
    # A category of one's own makes a task of one's own.
    return ask(agent, text, paired=True) | {
        "task": {"text": f"{text} This is about {category}.", "category": category}
    }


ATTACKS = (
    Attack(
        "metric_lock",
        "first reports and second ones that teach nothing",
        lock_metrics,
        ("categories_locked", "categories_fixed", "locked_after_rollback", "pairs_displaced"),
        weighed=False,
        after=count_locks,
    ),
)
