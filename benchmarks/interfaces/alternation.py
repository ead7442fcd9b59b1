"""Two ways in, task by task in turn: what a task costs by the one and by the other.

Each runs in a process of its own and waits in `agent.act` until it is called again. What lies
between two calls is the report of the one task and the asking of the next: all that a way in adds
to the agent's own work. While one is on its way, the other waits.
"""

import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from benchmarks.bench import Timing
from memory.kernel.postgres.embedded.ports import find_free_port

PATIENCE = 120.0
"""Seconds for one task, the start of its process included."""
LOOK = 0.5
"""Seconds between two looks at a process that did not call yet."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The tasks of both, in pairs."""

    first: list[Timing]
    second: list[Timing]


class EndedEarly(Exception):
    """A process ended before its tasks were done; the message is what it said."""


def alternate(
    first: Sequence[str], second: Sequence[str], variables: Mapping[str, str], tasks: int
) -> Turns:
    """`tasks` - 1 pairs: who goes first changes with each. Raises EndedEarly."""
    turns = Turns([], [])
    with ExitStack() as held:
        players = [held.enter_context(_Player.begin(w, variables, tasks)) for w in (first, second)]
        for number in range(tasks - 1):
            order = (0, 1) if number % 2 else (1, 0)
            for place in order:
                (turns.first, turns.second)[place].append(players[place].play())
        for player in players:
            player.finish()
    return turns


class _Player:
    """A process that waits for its turn."""

    def __init__(self, process: "subprocess.Popen[str]", line: socket.socket) -> None:
        self._process = process
        self._line = line
        self._await()

    @classmethod
    def begin(cls, words: Sequence[str], variables: Mapping[str, str], tasks: int) -> "_Player":
        port = find_free_port()
        with socket.create_server(("127.0.0.1", port)) as listening:
            listening.settimeout(LOOK)
            more = {"BENCH_TURNS": str(port), "BENCH_TASKS": str(tasks)}
            process = subprocess.Popen(  # noqa: S603 - an example of ours
                words,
                env={**variables, **more},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            line = cls._accepted(listening, process)
        line.settimeout(PATIENCE)
        return cls(process, line)

    @staticmethod
    def _accepted(listening: socket.socket, process: "subprocess.Popen[str]") -> socket.socket:
        """Its first call; one that ended before it, or never came to it, is not waited for."""
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            try:
                return listening.accept()[0]
            except TimeoutError:
                continue
        process.kill()
        said, _ = process.communicate()
        raise EndedEarly(said[-2_000:])

    def play(self) -> Timing:
        """One task, from the call before it to its own."""
        at = time.monotonic()
        self._line.sendall(b".")
        self._await()
        return Timing(at, (time.monotonic() - at) * 1000, ok=True)

    def finish(self) -> None:
        self._line.sendall(b".")
        said, _ = self._process.communicate(timeout=PATIENCE)
        if self._process.returncode:
            raise EndedEarly(said[-2_000:])

    def _await(self) -> None:
        if not self._line.recv(1):
            said, _ = self._process.communicate(timeout=PATIENCE)
            raise EndedEarly(said[-2_000:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()
        self._process.kill()
        self._process.communicate()
