"""Postgres in a process of its own, which can be killed, and whose disk can be full."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psutil
import psycopg

from memory.kernel.postgres.embedded.supervisor import as_superuser

ROOT = Path(__file__).parents[2]
DOWN_SECONDS = 2.0
RESTART_SECONDS = 120.0
ROOM_BYTES = 16 * 1024**3
"""What a full disk has room for otherwise; pages are taken as they are written."""
FILLINGS = 50


@dataclass(slots=True)
class Room:
    """A file system in memory, which is full once its size is what is used. Only the system's
    administrator may mount one: elsewhere `refusal` says so, and the folder is an ordinary one.
    """

    folder: Path
    refusal: str = ""

    def open(self) -> None:
        said = _mount("-t", "tmpfs", "-o", f"size={ROOM_BYTES},mode=0711", "tmpfs", self.folder)
        if said is not None:
            self.refusal = f"no file system of its own can be mounted here: {said}"

    def fill(self) -> None:
        """Nothing more can be written. What is written while it is measured makes the size too
        small, so it is measured again.
        """
        said: str | None = ""
        for _ in range(FILLINGS):
            disk = os.statvfs(self.folder)
            said = self._resize((disk.f_blocks - disk.f_bfree) * disk.f_frsize)
            if said is None:
                return
        raise SystemExit(f"the disk of the soak could not be filled: {said}")

    def empty(self) -> None:
        """There is room again."""
        said = self._resize(ROOM_BYTES)
        if said is not None:
            raise SystemExit(f"the disk of the soak could not be emptied: {said}")

    def close(self) -> None:
        if not self.refusal:
            subprocess.run(["umount", "--lazy", self.folder], check=False)  # noqa: S603, S607 - our own folder

    def _resize(self, size: int) -> str | None:
        """None where it went well, else why not."""
        return _mount("-o", f"remount,size={size}", self.folder)


def _mount(*words: object) -> str | None:
    """None where it went well, else what it said."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, no shell
            ["mount", *map(str, words)],  # noqa: S607 - whichever mount is installed
            capture_output=True,
            check=False,
            text=True,
        )
    except OSError as fault:
        return str(fault)
    return None if done.returncode == 0 else done.stderr.strip()


@dataclass(slots=True)
class OwnDatabase:
    """A database beside the processes that serve: whichever of them is killed, it stays."""

    room: Room
    url: str = ""
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def data(self) -> Path:
        return self.room.folder / "data"

    def start(self) -> None:
        """Start it, crash recovery included; it listens where it did before."""
        command = [sys.executable, "-m", "memory.kernel.postgres.embedded", str(self.data)]
        self._process = subprocess.Popen(  # noqa: S603 - our own command line, no shell
            command, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise SystemExit("the database did not start")
        address = (self.data / "address").read_text(encoding="utf-8").strip()
        assert self.url in {"", address}, "the database moved"
        self.url = address

    def kill(self) -> None:
        """All of it at once, as a power cut would, but for what the kernel has already."""
        process = cast("subprocess.Popen[bytes]", self._process)
        process.kill()
        process.wait()
        for one in self._servers():
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def remove(self) -> None:
        self.room.close()
        shutil.rmtree(self.room.folder, ignore_errors=True)

    def connect(self) -> "psycopg.Connection[Any]":
        """As its superuser, who may look at all and end what others do."""
        return psycopg.connect(as_superuser(self.data, self.url), autocommit=True)

    def await_answer(self) -> None:
        """Until it answers again, and can write."""
        deadline = time.monotonic() + RESTART_SECONDS
        while True:
            try:
                with self.connect() as connection:
                    connection.execute("SELECT pg_current_xact_id()")
                    return
            except psycopg.Error:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _servers(self) -> list[psutil.Process]:
        """The processes of Postgres: all work in the folder of the cluster, and no others do."""
        home = str((self.data / "pg").resolve())
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.cwd() == home:
                    found.append(process)
        return found
