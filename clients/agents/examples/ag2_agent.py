"""An agent of AG2 whose first weight moves; run it beside `memlift serve`."""

import asyncio
import os

from ag2 import Agent
from ag2.testing import TestConfig
from memlift_agents.ag2 import AdvicePolicy, advised_turns
from memlift_client import MemLift

# A script in the place of a model: use the configuration of one of yours.
config = TestConfig("Order found, refunded [m1].")

memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
note = memory.remember(
    agent="author",
    situation="A customer asks to have an invoice refunded",
    lesson="Ask for the number of the order before any money is moved",
)
turns = advised_turns(memory, reward=lambda answer: "refunded" in answer, arm="on")
agent = Agent("clerk", config=config, middleware=[turns], assembly=[AdvicePolicy()])
print(asyncio.run(agent.ask("Refund invoice 8812")).body)

memory.apply_outcomes()
print(f"weight 1.00, now {memory.get_experience(note.id).effective_weight:.2f}")
