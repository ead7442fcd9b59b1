"""What goes wrong while callers call: processes die or freeze, the database dies, its disk is full,
a clock jumps, connections are cut. How long it took until another process led is kept.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psycopg

from benchmarks.soak.cluster import Cluster, Process

LEADS = "SELECT epoch, holder FROM lease WHERE name = 'leader'"
CUT = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND usename <> current_user"""
PATIENCE = 60.0
LOOK = 0.1
FROZEN_AFTER = 3.0
"""Seconds that the former leader stays frozen once another leads."""
FULL_SECONDS = 8.0
ASTRAY_SECONDS = 15.0
JUMP_SECONDS = 3600
Say = Callable[[str], None]


@dataclass(slots=True)
class Trouble:
    """What was done to a cluster."""

    cluster: Cluster
    say: Say
    done: Counter[str] = field(default_factory=Counter[str])
    takeovers: list[float] = field(default_factory=list[float])
    """Seconds from the leader's end, or its freezing, until another process led."""
    not_run: dict[str, str] = field(default_factory=dict[str, str])

    def make(self, name: str, chance: Random) -> None:
        """One of FAULTS, or why it cannot be made here."""
        fault, refusal = FAULTS[name], REFUSALS.get(name, _never)(self.cluster)
        if refusal:
            if name not in self.not_run:
                self.say(f"not run: {name}: {refusal}")
            self.not_run[name] = refusal
            return
        self.say(f"{name} ...")
        began = time.monotonic()
        fault(self, chance)
        self.done[name] += 1
        self.say(f"{name}: over after {time.monotonic() - began:.1f} s")


def kill(trouble: Trouble, chance: Random) -> None:
    """Kill a process that serves: the leader every other time."""
    cluster = trouble.cluster
    leader = _leader(cluster) if trouble.done["kill"] % 2 == 0 else None
    victim = leader or cluster.any(chance)
    led = None if leader is None else _watch(trouble)
    cluster.kill(victim)
    if led is not None:
        led.join()


def stop(trouble: Trouble, _: Random) -> None:
    """Freeze the leader until another leads, and a while longer. Callers are sent elsewhere, as a
    balancer would; who asked it before waits.
    """
    cluster = trouble.cluster
    leader = _leader(cluster)
    if leader is None:
        return
    cluster.hide(leader)
    os.killpg(leader.pid, signal.SIGSTOP)
    try:
        _watch(trouble).join()
        time.sleep(FROZEN_AFTER)
    finally:
        os.killpg(leader.pid, signal.SIGCONT)
    cluster.show(leader)


def kill_database(trouble: Trouble, _: Random) -> None:
    """Kill all of Postgres, and start it again."""
    database = trouble.cluster.database
    database.kill()
    time.sleep(2.0)
    database.start()
    database.await_answer()


def fill_disk(trouble: Trouble, _: Random) -> None:
    """Nothing more can be written for a while."""
    database = trouble.cluster.database
    database.room.fill()
    try:
        time.sleep(FULL_SECONDS)
    finally:
        database.room.empty()
    database.await_answer()


def jump(trouble: Trouble, _: Random) -> None:
    """The clock of one process is an hour ahead, or behind, for a while."""
    ahead = 1 if trouble.done["clock"] % 2 == 0 else -1
    trouble.cluster.set_clock(ahead * JUMP_SECONDS)
    time.sleep(ASTRAY_SECONDS)
    trouble.cluster.set_clock(0)
    time.sleep(2.0)


def cut(trouble: Trouble, _: Random) -> None:
    """Every connection to the database ends at once, and so do those of callers to servers."""
    with trouble.cluster.database.connect() as connection:
        connection.execute(CUT)
    trouble.cluster.cut_callers()


FAULTS: Mapping[str, Callable[[Trouble, Random], None]] = {
    "kill": kill,
    "stop": stop,
    "database": kill_database,
    "disk": fill_disk,
    "clock": jump,
    "cut": cut,
}
OTHERS = tuple(name for name in FAULTS if name != "kill")


def _never(_: Cluster) -> str:
    return ""


def _no_room(cluster: Cluster) -> str:
    return cluster.database.room.refusal


def _no_clock(cluster: Cluster) -> str:
    return "" if cluster.clock else "libfaketime is not installed"


REFUSALS: Mapping[str, Callable[[Cluster], str]] = {"disk": _no_room, "clock": _no_clock}


def _leader(cluster: Cluster) -> Process | None:
    """The process that leads, where it is one of those that serve now."""
    term = _term(cluster)
    return None if term is None else cluster.by_pid(int(term[1].rpartition(":")[2]))


def _term(cluster: Cluster) -> tuple[int, str] | None:
    with cluster.database.connect() as connection:
        row = connection.execute(LEADS).fetchone()
    return None if row is None else (row[0], row[1])


def _watch(trouble: Trouble) -> threading.Thread:
    """From now on: how long until another term begins."""
    former = _term(trouble.cluster)
    began = time.monotonic()

    def look() -> None:
        while time.monotonic() - began < PATIENCE:
            with suppress(psycopg.Error):
                if _term(trouble.cluster) != former:
                    break
            time.sleep(LOOK)
        trouble.takeovers.append(time.monotonic() - began)
        trouble.say(f"another process leads after {trouble.takeovers[-1]:.1f} s")

    watching = threading.Thread(target=look)
    watching.start()
    return watching


def find_clock() -> Path | None:
    """The library that changes what time a process reads, where it is installed."""
    places = (*Path("/usr/lib").glob("*/faketime"), Path("/usr/lib/faketime"))
    found = [place / "libfaketimeMT.so.1" for place in places]
    return next((one for one in found if one.exists()), None)
