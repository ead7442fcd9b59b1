"""A Pydantic AI agent whose first weight moves; run it beside `memlift serve` on one machine."""

import os

from memlift_agents.pydantic_ai import MemLiftCapability
from memlift_client import MemLift
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

# A script in the place of a model: name one of yours, such as "openai:gpt-5".
model = TestModel(custom_output_text="Order found, refunded [m1].")

memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
note = memory.remember(
    agent="author",
    situation="A customer asks to have an invoice refunded",
    lesson="Ask for the number of the order before any money is moved",
)
learns = MemLiftCapability(memory, reward=lambda answer: "refunded" in answer, arm="on")
agent = Agent(model, capabilities=[learns])
print(agent.run_sync("Refund invoice 8812").output)

memory.apply_outcomes()
print(f"weight 1.00, now {memory.get_experience(note.id).effective_weight:.2f}")
