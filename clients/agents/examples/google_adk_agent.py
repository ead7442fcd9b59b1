"""An agent of Google ADK whose first weight moves; run it beside `memlift serve`."""

import asyncio
import os
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from memlift_agents.google_adk import MemLiftPlugin
from memlift_client import MemLift


class Script(BaseLlm):
    """In the place of a model: name one of yours, such as "gemini-3-pro"."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,  # noqa: ARG002 - a script reads nothing
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002 - as ADK has it
    ) -> AsyncGenerator[LlmResponse, None]:
        said = types.Part(text="Order found, refunded [m1].")
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
note = memory.remember(
    agent="author",
    situation="A customer asks to have an invoice refunded",
    lesson="Ask for the number of the order before any money is moved",
)
learns = MemLiftPlugin(memory, reward=lambda answer: "refunded" in answer, arm="on")
agent = LlmAgent(name="clerk", model=Script(model="script"))
runner = InMemoryRunner(app=App(name="clerk", root_agent=agent, plugins=[learns]))
asyncio.run(runner.run_debug("Refund invoice 8812"))

memory.apply_outcomes()
print(f"weight 1.00, now {memory.get_experience(note.id).effective_weight:.2f}")
