"""`memlift verify --run -- COMMAND`: an exit code is a trial's reward, with and without the
candidate.

The command reads its task in `MEMLIFT_TASK` and the guideline in `MEMLIFT_GUIDELINE`, or in the
file that `MEMLIFT_GUIDELINE_FILE` names: the candidate's, or none. It must not ask for another.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memlift_client._faults import MemLiftError
from memlift_client._task import RECEIPT
from memlift_client._tickets import Tickets, TicketTrial

INTERRUPTED = 130
"""How a shell says that a command was ended from the keyboard."""

CANNOT_RUN = (126, 127)
"""How a shell says that there was nothing to run: of no candidate's doing."""


def run_command(command: list[str], more: dict[str, str] | None = None) -> int:
    """The status that it ended with; below zero by a signal. Raises OSError."""
    known = None if more is None else os.environ | more
    return subprocess.run(command, check=False, env=known).returncode  # noqa: S603 - what the caller asked for


def work_off(trials: Tickets, command: list[str]) -> int:
    """Try what waits. The exit status: 0, 1 where the command could not be run, a result was not
    taken or a ticket asks for more than it can say, 130 where it was ended from outside. Each
    leaves its ticket to others.
    """
    told, trial, status = Told(trials), None, 0
    with ended_as_interrupted():
        try:
            for trial in trials:
                told.tell()
                ticket = trial.ticket
                if ticket.metric != "reward":
                    _say(
                        f"ticket {ticket.id} is judged by {ticket.metric}, which no exit code says"
                    )
                    status = 1
                    continue
                told.judged = _judge(trial, command)
        except OSError as fault:
            _say(f"{command[0]}: {fault.strerror}: the candidate is given back")
            return 1
        except Unjudged as fault:
            _say(f"{fault}: the candidate is given back")
            return fault.status
        except MemLiftError as fault:
            if trial is None or trial.taken or not told.judged:
                told.tell()
                raise
            ticket = trial.ticket
            _say(f"ticket {ticket.id}, {trial.purpose}: the result was not taken: {fault}")
            _say(f"if it cannot be given back either, it is free at {ticket.lease_until}")
            return 1
    told.tell()
    if trial is None:
        _say("no candidate waits to be tried")
        for ticket in trials.elsewhere():
            _say(f"ticket {ticket.id} is leased to {ticket.leased_to} until {ticket.lease_until}")
    return status


@dataclass(slots=True)
class Told:
    """What is known of the trials, and not printed yet."""

    trials: Tickets
    judged: str = ""
    """Of the last trial, which is taken when the next one is asked for."""
    decided: int = 0

    def tell(self) -> None:
        """Print what the server has taken by now."""
        if self.judged:
            _say(self.judged)
        self.judged = ""
        for ticket in self.trials.decided[self.decided :]:
            _say(f"ticket {ticket.id}: {ticket.decision or ticket.state}, {ticket.reason}")
        self.decided = len(self.trials.decided)


class Unjudged(Exception):
    """The command was ended from outside, or could not be run."""

    def __init__(self, status: int) -> None:
        ended = "could not be run" if status in CANNOT_RUN else "was ended from outside"
        super().__init__(f"the command {ended}")
        self.status = 1 if status in CANNOT_RUN else INTERRUPTED


def _judge(trial: TicketTrial, command: list[str]) -> str:
    """What is to be told of the trial once its result was taken."""
    reward = _reward(trial.task, trial.guideline, command)
    without = _reward(trial.task, "", command) if trial.needs_without else None
    trial.reward(reward, without=without)
    beside = "" if without is None else f", {without:g} without"
    return f"ticket {trial.ticket.id}, {trial.purpose}: reward {reward:g}{beside}"


def _reward(task: str, guideline: str, command: list[str]) -> float:
    with tempfile.TemporaryDirectory(prefix="memlift-") as folder:
        file = Path(folder) / "guideline.md"
        file.write_text(guideline, encoding="utf-8")
        given = {"TASK": task, "GUIDELINE": guideline, "GUIDELINE_FILE": str(file)}
        named = {f"MEMLIFT_{name}": value for name, value in given.items()}
        status = run_command(command, named | {RECEIPT: ""})
    if status < 0 or status == INTERRUPTED or status in CANNOT_RUN:
        raise Unjudged(status)
    return 0.0 if status else 1.0


def _say(text: str) -> None:
    print(f"memlift: {text}", file=sys.stderr)


@contextmanager
def ended_as_interrupted() -> Generator[None]:
    """What ends a process politely gives its candidate back as Ctrl+C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
