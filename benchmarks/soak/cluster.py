"""Two serving processes on one database, either of which can be killed and started again."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from clients.demo.server import LocalServer, Say, fresh_folder, start

PLACES = 2
NAME = "memlift-soak"
GENEROUS = {"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"}
TRACE = "Traceback (most recent call last)"


@dataclass(slots=True)
class Process:
    """One serving process, and whether it was killed on purpose."""

    server: LocalServer
    killed: bool = False

    @property
    def url(self) -> str:
        return self.server.url


@dataclass(slots=True)
class Cluster:
    """The processes that serve now; callers are sent to any of them."""

    settings: dict[str, str]
    say: Say
    key: str = ""
    kills: int = 0
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

    def kill_one(self, chance: random.Random) -> None:
        """Kill a process as the kernel does, and start another in its place."""
        with self._lock:
            process = self._serving.pop(chance.randrange(len(self._serving)))
            process.killed = True
        os.killpg(process.server.process.pid, signal.SIGKILL)
        process.server.process.wait()
        self.kills += 1
        self._start()

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
            found += [_last_line(part) for part in text.split(TRACE)[1:]]
        return found

    def _start(self) -> None:
        process = Process(start(fresh_folder(NAME), self.settings, _quiet))
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
def serving(say: Say, settings: Mapping[str, str] | None = None) -> Generator[Cluster]:
    """A database of one's own, and processes on it with `settings`; all gone in the end."""
    folder = fresh_folder(NAME)
    with _database(folder / "data") as url:
        wanted = {**GENEROUS, **(settings or {}), "MEMLIFT_DATABASE_URL": url}
        cluster = Cluster(wanted, say)
        try:
            cluster.begin()
            yield cluster
        finally:
            cluster.end()
            cluster.remove()
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _database(data: Path) -> Generator[str]:
    """Postgres in a process of its own, so that whichever process serves can be killed."""
    command = [sys.executable, "-m", "memory.kernel.postgres.embedded", str(data)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, start_new_session=True)  # noqa: S603 - our own command line, no shell
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise SystemExit("the database did not start")
        yield (data / "address").read_text(encoding="utf-8").strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
