"""A block around the agent's work, where it is awaited."""

import asyncio
import os

from memlift_client import AsyncMemLift

from benchmarks.interfaces.agent import TASKS, act, judge


async def main() -> None:
    """One task after another."""
    namespace = os.environ["MEMLIFT_NAMESPACE"]
    async with AsyncMemLift.from_home(namespace=namespace, agent="bot") as memory:
        for task in TASKS:
            async with memory.task(task) as t:
                answer = act(task, t.guideline)
                t.cited(answer)
                t.reward(judge(answer))


asyncio.run(main())
