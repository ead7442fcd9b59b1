"""An agent of the OpenAI Agents SDK whose first weight moves; run it beside `memlift serve`."""

import asyncio
import os

from agents import Agent, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message
from memlift_agents.openai_agents import MemLiftHooks
from memlift_client import MemLift

# A script in the place of a model, and no tracing: leave both out to call the real one.
model = ScriptedModel([[assistant_message("Order found, refunded [m1].")]])
set_tracing_disabled(disabled=True)

memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
note = memory.remember(
    agent="author",
    situation="A customer asks to have an invoice refunded",
    lesson="Ask for the number of the order before any money is moved",
)
learns = MemLiftHooks(memory, reward=lambda answer: "refunded" in answer, arm="on")
agent = Agent(name="clerk", instructions=learns.instructions("You are a clerk."), model=model)
print(asyncio.run(learns.run(agent, "Refund invoice 8812")).final_output)

memory.apply_outcomes()
print(f"weight 1.00, now {memory.get_experience(note.id).effective_weight:.2f}")
