"""A LangChain agent whose first weight moves: run it while `memlift serve` runs on this machine."""

import os

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from memlift_agents.langchain import MemLiftMiddleware
from memlift_client import MemLift

# A script in the place of a model: name one of yours, such as "openai:gpt-5".
model = GenericFakeChatModel(messages=iter([AIMessage("Order found, refunded [m1].")]))

memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
note = memory.remember(
    agent="author",
    situation="A customer asks to have an invoice refunded",
    lesson="Ask for the number of the order before any money is moved",
)
learns = MemLiftMiddleware(memory, reward=lambda answer: "refunded" in answer, arm="on")
agent = create_agent(model, middleware=[learns])
result = agent.invoke({"messages": [{"role": "user", "content": "Refund invoice 8812"}]})
print(result["messages"][-1].text)

memory.apply_outcomes()
print(f"weight 1.00, now {memory.get_experience(note.id).effective_weight:.2f}")
