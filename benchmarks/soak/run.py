"""One soak: namespaces, callers in threads, kills by the count of operations, and the verdict."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.soak import bank_deeds, loop_deeds
from benchmarks.soak.cluster import Cluster, serving
from benchmarks.soak.ground import Ground, made
from benchmarks.soak.player import Player
from benchmarks.soak.tally import Tally
from benchmarks.soak.verdict import judge
from benchmarks.soak.wire import Wire

NAMESPACES = (
    ("soak-wall", "wall", "belief"),
    ("soak-past", "replay", "belief"),
    ("soak-steps", "replay", "steps"),
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
)
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, by how many, and how often a process is killed."""

    operations: int = 100_000
    callers: int = 6
    kills: int = 10
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Soaked:
    """What a soak came to."""

    tally: Tally
    kills: int
    seconds: float
    rebuilds: Sequence[str]

    def lines(self) -> list[str]:
        """For people."""
        done = self.tally.done
        return [
            *self.tally.table(),
            "",
            f"{done} operations in {self.seconds:.0f} s, {self.kills} kills",
            *self.tally.reasons(),
            *self.rebuilds,
            *(self.tally.complaints() or ["no violation"]),
        ]


def soak(plan: Plan, say: Callable[[str], None]) -> Soaked:
    """Start a database and two processes, and let callers at them until the plan is fulfilled."""
    tally = Tally()
    with serving(say) as cluster, ExitStack() as ends:
        say("two processes serve")
        began = time.monotonic()
        judging = _player(cluster, tally, plan.seed)
        ends.callback(judging.wire.close)
        grounds = [made(judging.wire, *words) for words in NAMESPACES]
        _played(plan, cluster, tally, grounds, say)
        seconds = time.monotonic() - began
        say(f"{tally.done} operations; now the verdict")
        rebuilds = judge(judging, grounds)
        for trace in cluster.traces():
            tally.violate(f"a process logged a fault that nobody foresaw: {trace}")
        return Soaked(tally, cluster.kills, seconds, rebuilds)


def _played(
    plan: Plan, cluster: Cluster, tally: Tally, grounds: list[Ground], say: Callable[[str], None]
) -> None:
    stopped = threading.Event()
    with ThreadPoolExecutor(plan.callers) as callers:
        playing = [
            callers.submit(_play, _player(cluster, tally, plan.seed + n), grounds, stopped)
            for n in range(1, plan.callers + 1)
        ]
        try:
            _kill_now_and_then(plan, cluster, tally, (say, stopped))
        finally:
            stopped.set()
        for one in playing:
            one.result()


def _play(player: Player, grounds: list[Ground], stopped: threading.Event) -> None:
    deeds = [deed for deed, _ in DEEDS]
    shares = [share for _, share in DEEDS]
    try:
        while not stopped.is_set():
            [deed] = player.chance.choices(deeds, shares)
            deed(player, player.chance.choice(grounds))
    finally:
        stopped.set()
        player.wire.close()


def _kill_now_and_then(
    plan: Plan,
    cluster: Cluster,
    tally: Tally,
    beside: tuple[Callable[[str], None], threading.Event],
) -> None:
    """Kills at even counts of operations; the last a while before the end."""
    chance = random.Random(plan.seed)  # noqa: S311 - a choice of victims, no secret
    say, stopped = beside
    for number in range(plan.kills):
        _until(tally, plan.operations * (number + 1) // (plan.kills + 1), stopped)
        say(f"{tally.done} operations, {tally.wrong} violations; killing a process")
        cluster.kill_one(chance)
    _until(tally, plan.operations, stopped)


def _until(tally: Tally, goal: int, stopped: threading.Event) -> None:
    """Until so much is done, or a caller fell over."""
    while tally.done < goal and not stopped.wait(LOOK_SECONDS):
        pass


def _player(cluster: Cluster, tally: Tally, seed: int) -> Player:
    chance = random.Random(seed)  # noqa: S311 - a mix of operations, no secret
    return Player(Wire(cluster, tally, chance), tally, chance)
