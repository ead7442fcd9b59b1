"""Servers forked from a process that has the libraries loaded.

A start of `memlift serve` spends some twelve seconds of processor time on loading them, and a run
of the tests starts dozens. What is forked runs the same command; the libraries alone are there
already. Who looks at the start itself starts it as an operator does.
"""

import multiprocessing
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from server.cli import main

LOADED = "tests.acceptance.preloaded"


@dataclass(frozen=True)
class Forked:
    """What a test asks of a process that it started."""

    process: BaseProcess

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def poll(self) -> int | None:
        """The exit status, that of a signal below zero; None while it runs."""
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.process.name, timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def fork(words: Sequence[str], folder: Path, variables: Mapping[str, str], log: Path) -> Forked:
    """`memlift WORDS` in this folder, with these variables and no others, writing to the log."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([LOADED])
    process = context.Process(
        target=run, args=(list(words), str(folder), dict(variables), str(log)), daemon=True
    )
    process.start()
    return Forked(process)


def run(words: list[str], folder: str, variables: dict[str, str], log: str) -> None:
    """Within the new process."""
    os.setsid()
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    with Path(log).open("ab", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    # As a shell leaves it; who forks for us ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(words, prog_name="memlift")
