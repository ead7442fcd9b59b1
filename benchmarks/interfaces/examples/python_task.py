"""A block around the agent's work."""

import os

from memlift_client import MemLift

from benchmarks.interfaces.agent import TASKS, act, judge

with MemLift.from_home(namespace=os.environ["MEMLIFT_NAMESPACE"], agent="bot") as memory:
    for task in TASKS:
        with memory.task(task) as t:
            answer = act(task, t.guideline)
            t.cited(answer)
            t.reward(judge(answer))
