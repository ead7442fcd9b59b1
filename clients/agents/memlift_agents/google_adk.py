"""Google ADK: a plugin that asks and reports.

    App(name="clerk", root_agent=agent, plugins=[MemLiftPlugin(memory, reward=judge)])

The id of an invocation is the trace under which its result may be reported later.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Unpack

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types
from memlift_client import MemLift, StepFields

from memlift_agents._loop import Advice, Loop, LoopSettings, step


@dataclass
class Invocation:
    """An invocation that goes on: what it was told, and what was said and done in it."""

    advice: Advice
    steps: list[StepFields] = field(default_factory=list[StepFields])
    answer: str = ""


class MemLiftPlugin(BasePlugin):
    """Asks when an invocation begins, and reports when it has ended, whichever way it did."""

    def __init__(
        self, memory: MemLift, *, name: str = "memlift", **settings: Unpack[LoopSettings]
    ) -> None:
        super().__init__(name=name)
        self.loop = Loop(memory, **settings)
        self._going: dict[str, Invocation] = {}

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        task, trace_id = words(invocation_context.user_content), invocation_context.invocation_id
        advice = await asyncio.to_thread(self.loop.ask, task, trace_id)
        self._going[trace_id] = Invocation(advice, [step("user", task)])

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        going = self._going.get(callback_context.invocation_id)
        if going is not None and going.advice.text:
            llm_request.append_instructions([going.advice.text])

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        going = self._going.get(invocation_context.invocation_id)
        if going is None or event.partial:
            return
        going.steps += steps(event)
        if event.is_final_response():
            going.answer = words(event.content) or going.answer

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        done = self._going.pop(invocation_context.invocation_id, None)
        if done is not None:
            said = done.answer
            report = self.loop.report
            await asyncio.to_thread(report, done.advice, said, text=said, steps=done.steps)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        done = self._going.pop(invocation_context.invocation_id, None)
        if done is not None:
            await asyncio.to_thread(self.loop.fail, done.advice, error, done.steps)


def words(content: types.Content | None) -> str:
    """The text of a message, without what was thought."""
    parts: Iterable[types.Part] = (content.parts if content else None) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def steps(event: Event) -> list[StepFields]:
    """What was said and done in an event."""
    if event.author == "user":
        return []
    said = words(event.content)
    made = [step("assistant", said)] if said else []
    calls, answers = event.get_function_calls(), event.get_function_responses()
    made += [step("assistant", tool=one.name, arguments=one.args) for one in calls]
    return made + [step("tool", tool=one.name, result=str(one.response)) for one in answers]
