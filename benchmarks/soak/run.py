"""One soak: namespaces, callers in threads, kills by the count of operations, and the verdict."""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks.soak import bank_deeds, loop_deeds, once_deeds
from benchmarks.soak.cluster import Cluster, serving
from benchmarks.soak.faults import OTHERS, Trouble, find_clock
from benchmarks.soak.ground import Ground, made
from benchmarks.soak.player import Player
from benchmarks.soak.tally import Tally
from benchmarks.soak.verdict import judge
from benchmarks.soak.wire import Wire

FOLLOWED = "soak-followed"
"""The namespace in which no memory is changed by two callers at once, nor by jobs run by hand."""
NAMESPACES = (
    ("soak-wall", "wall", "belief"),
    ("soak-past", "replay", "belief"),
    ("soak-steps", "replay", "steps"),
    (FOLLOWED, "wall", "belief"),
)
Deed = Callable[[Player, Ground], None]
DEEDS: tuple[tuple[Deed, float], ...] = (
    (loop_deeds.retrieve, 20),
    (loop_deeds.report, 20),
    (loop_deeds.report_foreign, 4),
    (loop_deeds.report_malformed, 6),
    (loop_deeds.look_back, 0.2),
    (loop_deeds.apply, 3),
    (bank_deeds.remember, 16),
    (bank_deeds.edit, 8),
    (bank_deeds.change_status, 8),
    (bank_deeds.erase, 0.7),
    (bank_deeds.claim, 4),
    (bank_deeds.try_out, 5),
    (bank_deeds.run_job, 3),
    (bank_deeds.roll_back, 0.6),
    (bank_deeds.look_around, 3),
    (once_deeds.write_once, 3),
    (once_deeds.follow, 20),
)
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, by how many, how often a process is killed, and how often each of the other
    `faults` is made.
    """

    operations: int = 100_000
    callers: int = 6
    kills: int = 10
    seed: int = 0
    rounds: int = 2
    faults: tuple[str, ...] = OTHERS

    def schedule(self) -> list[str]:
        """What goes wrong, in this order, at even counts of operations: kills are spread among the
        rest.
        """
        others = [name for _ in range(self.rounds) for name in self.faults]
        places = [((n + 0.5) / self.kills, "kill") for n in range(self.kills)]
        places += [((n + 0.5) / len(others), name) for n, name in enumerate(others)]
        return [name for _, name in sorted(places, key=lambda place: place[0])]


@dataclass(frozen=True, slots=True)
class Soaked:
    """What a soak came to."""

    tally: Tally
    kills: int
    seconds: float
    rebuilds: Sequence[str]
    trouble: Mapping[str, int] = field(default_factory=dict[str, int])
    takeovers: Sequence[float] = ()
    not_run: Mapping[str, str] = field(default_factory=dict[str, str])
    answered: int = 0

    def lines(self) -> list[str]:
        """For people."""
        done = self.tally.done
        return [
            *self.tally.table(),
            "",
            f"{done} operations in {self.seconds:.0f} s, {self.answered} answered for good",
            "made: " + ", ".join(f"{name} {n}" for name, n in self.trouble.items()),
            *(f"not run: {name}: {why}" for name, why in self.not_run.items()),
            "takeovers: " + ", ".join(f"{seconds:.1f} s" for seconds in self.takeovers),
            f"violations by class: {dict(self.tally.by_class)}",
            *self.tally.reasons(),
            *self.rebuilds,
            *(self.tally.complaints() or ["no violation"]),
        ]


def soak(plan: Plan, say: Callable[[str], None]) -> Soaked:
    """Start a database and two processes, and let callers at them until the plan is fulfilled."""
    tally = Tally()
    wanted = set(plan.schedule())
    clock = find_clock() if "clock" in wanted else None
    with serving(say, small_disk="disk" in wanted, clock=clock) as cluster, ExitStack() as ends:
        say("two processes serve")
        began = time.monotonic()
        judging = _player(cluster, tally, plan.seed)
        ends.callback(judging.wire.close)
        grounds = [made(judging.wire, *words) for words in NAMESPACES]
        trouble = Trouble(cluster, say)
        _played(plan, trouble, tally, grounds)
        seconds, answered = time.monotonic() - began, tally.answered
        say(f"{tally.done} operations; now the verdict")
        rebuilds = judge(judging, grounds)
        for trace in cluster.traces():
            tally.violate(f"a process logged a fault that nobody foresaw: {trace}")
        return Soaked(
            tally,
            cluster.kills,
            seconds,
            rebuilds,
            trouble.done,
            trouble.takeovers,
            trouble.not_run,
            answered,
        )


def _played(plan: Plan, trouble: Trouble, tally: Tally, grounds: list[Ground]) -> None:
    stopped = threading.Event()
    cluster = trouble.cluster
    with ThreadPoolExecutor(plan.callers) as callers:
        playing = [
            callers.submit(_play, _player(cluster, tally, plan.seed + n), grounds, stopped)
            for n in range(1, plan.callers + 1)
        ]
        try:
            _trouble_now_and_then(plan, trouble, tally, stopped)
        finally:
            stopped.set()
        for one in playing:
            one.result()


def _play(player: Player, grounds: list[Ground], stopped: threading.Event) -> None:
    deeds = [deed for deed, _ in DEEDS]
    shares = [share for _, share in DEEDS]
    *shared, followed = grounds
    try:
        while not stopped.is_set():
            [deed] = player.chance.choices(deeds, shares)
            deed(player, followed if deed is once_deeds.follow else player.chance.choice(shared))
    finally:
        stopped.set()
        player.wire.close()


def _trouble_now_and_then(
    plan: Plan, trouble: Trouble, tally: Tally, stopped: threading.Event
) -> None:
    """Faults at even counts of operations; the last a while before the end."""
    chance = random.Random(plan.seed)  # noqa: S311 - a choice of victims, no secret
    schedule = plan.schedule()
    for number, name in enumerate(schedule):
        _until(tally, plan.operations * (number + 1) // (len(schedule) + 1), stopped)
        if stopped.is_set():
            return
        trouble.say(f"{tally.answered} operations, {tally.wrong} violations")
        for line in tally.fresh():
            trouble.say(f"  {line}")
        trouble.make(name, chance)
    _until(tally, plan.operations, stopped)


def _until(tally: Tally, goal: int, stopped: threading.Event) -> None:
    """Until so much is done, or a caller fell over."""
    while tally.answered < goal and not stopped.wait(LOOK_SECONDS):
        pass


def _player(cluster: Cluster, tally: Tally, seed: int) -> Player:
    chance = random.Random(seed)  # noqa: S311 - a mix of operations, no secret
    return Player(Wire(cluster, tally, chance), tally, chance)
