"""A function that learns from its own results."""

import os

from memlift_client import MemLift

from benchmarks.interfaces.agent import TASKS, act, judge

memory = MemLift.from_home(namespace=os.environ["MEMLIFT_NAMESPACE"], agent="bot")


@memory.learn("{request}", reward=judge)
def solve(request: str, guideline: str) -> str:
    """The agent's work."""
    return act(request, guideline)


for each in TASKS:
    solve(each)
