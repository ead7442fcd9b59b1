"""The user's own agent of the examples: its tasks, what it answers, and who judges it.

It cites the first note that it is given. With `BENCH_TURNS`, the port of `alternation`, it says
that it was called and waits for its turn, so that two ways in can be timed task by task.
"""

import os
import re
import socket
import sys

TASKS = [
    f"Refund invoice {8800 + number} for a customer"
    for number in range(int(os.environ.get("BENCH_TASKS", "20")))
]
MARK = re.compile(r"\[(m\d+)\]")
ARRIVED = b"."
_turns: list[socket.socket] = []


def act(task: str, guideline: str) -> str:
    """The answer to a task, with the note that it acted on."""
    _take_turn()
    found = MARK.search(guideline)
    note = f" {found.group()}" if found else ""
    return f"{task}: the number of the order is known, so the money may go{note}."


def judge(answer: str) -> float:
    """Every order is in order."""
    return 1.0 if "the money may go" in answer else 0.0


def cited(answer: str) -> list[str]:
    """The notes that an answer cites."""
    return MARK.findall(answer)


def _take_turn() -> None:
    port = os.environ.get("BENCH_TURNS")
    if port is None:
        return
    if not _turns:
        _turns.append(socket.create_connection(("127.0.0.1", int(port))))
    _turns[0].sendall(ARRIVED)
    _turns[0].recv(1)


if __name__ == "__main__":
    sys.exit(judge(act(*sys.argv[1:3])) < 1)
