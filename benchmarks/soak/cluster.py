"""Two serving processes on one database, either of which can be killed and started again."""

import http.client
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from benchmarks.soak.database import OwnDatabase, Room
from clients.demo.server import LocalServer, Say, fresh_folder, start

PLACES = 2
NAME = "memlift-soak"
GENEROUS = {"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"}
TRACE = "Traceback (most recent call last)"
NEW_LINE = "\n"


@dataclass(slots=True)
class Process:
    """One serving process, and whether it was killed on purpose."""

    server: LocalServer
    killed: bool = False

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def pid(self) -> int:
        return self.server.process.pid


@dataclass(slots=True)
class Clock:
    """What time it is for the processes that read it by this library, seconds from the real one."""

    library: Path
    file: Path

    def set(self, seconds: int) -> None:
        """Written beside and moved there: who reads meanwhile reads a whole number."""
        beside = self.file.with_suffix(".new")
        beside.write_text(f"{seconds:+d}\n", encoding="ascii")
        beside.replace(self.file)

    def settings(self) -> dict[str, str]:
        """Only the time of day jumps, as it does where somebody sets it."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # With its default, threads that wait for the lock of the interpreter spin.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
        }


@dataclass(slots=True)
class Cluster:
    """The processes that serve now; callers are sent to any of them."""

    settings: dict[str, str]
    say: Say
    database: OwnDatabase
    clock: Clock | None = None
    """Where the library is there, every other process that is started reads the time by it."""
    key: str = ""
    kills: int = 0
    cut_at: float = 0.0
    """When connections were last cut, on the monotonic clock."""
    callers: list[dict[str, http.client.HTTPConnection]] = field(
        default_factory=list[dict[str, http.client.HTTPConnection]]
    )
    _serving: list[Process] = field(default_factory=list[Process])
    _begun: list[Process] = field(default_factory=list[Process])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """Start all places, one by one; the first writes the operator key."""
        for _ in range(PLACES):
            self._start()
        self.key = self._begun[0].server.key()

    def urls(self) -> list[str]:
        """Where the processes listen that serve now."""
        with self._lock:
            return [process.url for process in self._serving]

    def any(self, chance: random.Random) -> Process:
        """A process that serves, as far as is known."""
        with self._lock:
            return chance.choice(self._serving)

    def by_pid(self, pid: int) -> Process | None:
        with self._lock:
            return next((one for one in self._serving if one.pid == pid), None)

    def kill(self, process: Process) -> None:
        """Kill a process as the kernel does, and start another in its place."""
        with self._lock:
            self._serving.remove(process)
            process.killed = True
        os.killpg(process.pid, signal.SIGKILL)
        process.server.process.wait()
        self.kills += 1
        self._start()

    def hide(self, process: Process) -> None:
        """Nobody is sent to it any more."""
        with self._lock:
            self._serving.remove(process)

    def show(self, process: Process) -> None:
        """Callers are sent to it again."""
        with self._lock:
            self._serving.append(process)

    def set_clock(self, seconds: int) -> None:
        """For the processes that read it by the library."""
        if self.clock is not None:
            self.clock.set(seconds)

    def cut_callers(self) -> None:
        """End the connections of all callers, whatever is under way on them."""
        self.cut_at = time.monotonic()
        for connections in self.callers:
            for connection in list(connections.values()):
                line = connection.sock
                with suppress(OSError):
                    if line is not None:
                        line.shutdown(socket.SHUT_RDWR)
        self.cut_at = time.monotonic()

    def end(self) -> None:
        for process in self._begun:
            process.server.stop()

    def remove(self) -> None:
        for process in self._begun:
            process.server.remove()

    def traces(self) -> list[str]:
        """What the processes wrote of faults that nobody foresaw: the end of each trace."""
        found: list[str] = []
        for process in self._begun:
            text = process.server.log.read_text(encoding="utf-8", errors="replace")
            parts = text.split(TRACE)
            found += [
                f"{_last_line(after)} (logged as: {before.rstrip().rpartition(NEW_LINE)[2][:160]})"
                for before, after in pairwise(parts)
            ]
        return found

    def _start(self) -> None:
        settings = dict(self.settings)
        if self.clock is not None and len(self._begun) % PLACES:
            settings |= self.clock.settings()
        process = Process(start(fresh_folder(NAME), settings, _quiet))
        with self._lock:
            self._serving.append(process)
            self._begun.append(process)


def _last_line(trace: str) -> str:
    """The exception itself: the first line after the head that is not indented."""
    lines = trace.splitlines()[1:]
    return next((line for line in lines if line and not line.startswith(" ")), "no exception")


def _quiet(_: str) -> None:
    """A start has nothing to say here; a failed one raises."""


@contextmanager
def serving(
    say: Say,
    settings: Mapping[str, str] | None = None,
    *,
    small_disk: bool = False,
    clock: Path | None = None,
) -> Generator[Cluster]:
    """A database of one's own, and processes on it with `settings`; all gone in the end. On a
    `small_disk` it can be filled; with the library `clock` the time of day can jump.
    """
    folder = fresh_folder(NAME)
    room = Room(folder)
    if small_disk:
        room.open()
    database = OwnDatabase(room)
    database.start()
    wanted = {**GENEROUS, **(settings or {}), "MEMLIFT_DATABASE_URL": database.url}
    cluster = Cluster(wanted, say, database)
    if clock is not None:
        cluster.clock = Clock(clock, folder / "clock")
        cluster.set_clock(0)
    try:
        cluster.begin()
        yield cluster
    finally:
        cluster.end()
        cluster.remove()
        database.stop()
        database.remove()
