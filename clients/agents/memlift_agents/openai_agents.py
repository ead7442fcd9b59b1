"""OpenAI Agents SDK: dynamic instructions that ask, and hooks of a run that report.

    learns = MemLiftHooks(memory, reward=judge)
    agent = Agent(name="clerk", instructions=learns.instructions("You are a clerk."))
    result = await learns.run(agent, "Refund invoice 8812")

`learns.run` is `Runner.run` with these hooks, and reports a run that breaks, which hooks are not
told of. `Runner.run(…, hooks=learns)` and its kind do the rest. The SDK's trace is the trace under
which a result may be reported later, where one is on.
"""

import asyncio
import weakref
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Unpack

from agents import Agent, ModelResponse, RunContextWrapper, RunHooks, Runner, RunResult, Tool
from agents.items import ItemHelpers
from agents.tracing import get_current_trace
from memlift_client import MemLift, StepFields
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage
from pydantic_core import from_json

from memlift_agents._loop import Advice, Loop, LoopSettings, step

Context = RunContextWrapper[Any]


@dataclass
class AdvisedRun:
    """A run that goes on: what it was told, and what was done and said."""

    advice: Advice
    steps: list[StepFields] = field(default_factory=list[StepFields])
    text: str = ""


STARTED: ContextVar[list[AdvisedRun] | None] = ContextVar("memlift_started", default=None)
"""Where `MemLiftHooks.run` finds the runs that began within it."""


class MemLiftHooks(RunHooks[Any]):
    """Asks when an agent's instructions are wanted first in a run, and reports when it ends."""

    def __init__(self, memory: MemLift, **settings: Unpack[LoopSettings]) -> None:
        self.loop = Loop(memory, **settings)
        self._runs: dict[int, AdvisedRun] = {}

    def instructions(self, prompt: str | None = None) -> Callable[[Context, Agent[Any]], Any]:
        """For `Agent(instructions=…)`: the prompt, and below it the advice for the run."""

        async def advise(context: Context, agent: Agent[Any]) -> str:
            run = self._of(context) or await self._begin(context)
            return run.advice.below(prompt)

        return advise

    def receipt(self, result: RunResult) -> str | None:
        """What to report a run under, for who learns later how it went."""
        run = self._of(result.context_wrapper)
        return run.advice.receipt if run else None

    async def run(self, agent: Agent[Any], task: Any, **options: Any) -> RunResult:
        """`Runner.run` with these hooks; a run that breaks is reported, and rises."""
        started: list[AdvisedRun] = []
        token = STARTED.set(started)
        try:
            return await Runner.run(agent, task, hooks=self, **options)
        except Exception as fault:
            for run in started:
                await asyncio.to_thread(self.loop.fail, run.advice, fault, run.steps)
            raise
        finally:
            STARTED.reset(token)

    async def on_llm_end(
        self, context: Context, agent: Agent[Any], response: ModelResponse
    ) -> None:
        run = self._of(context)
        if run is None:
            return
        for item in response.output:
            if isinstance(item, ResponseOutputMessage):
                run.text = ItemHelpers.extract_text(item) or ""
                run.steps.append(step("assistant", run.text))
            elif isinstance(item, ResponseFunctionToolCall):
                given = from_json(item.arguments or "{}")
                run.steps.append(step("assistant", tool=item.name, arguments=given))

    async def on_tool_end(
        self, context: Context, agent: Agent[Any], tool: Tool, result: object
    ) -> None:
        run = self._of(context)
        if run is not None:
            run.steps.append(step("tool", tool=tool.name, result=str(result)))

    async def on_agent_end(self, context: Context, agent: Agent[Any], output: Any) -> None:
        run = self._of(context)
        if run is not None:
            text = output if isinstance(output, str) else run.text
            report = self.loop.report
            await asyncio.to_thread(report, run.advice, output, text=text, steps=run.steps)

    def _of(self, context: Context) -> AdvisedRun | None:
        """All contexts of a run share its usage, and nothing else that is there for everybody."""
        return self._runs.get(id(context.usage))

    async def _begin(self, context: Context) -> AdvisedRun:
        task, trace = _asked(context.turn_input), get_current_trace()
        trace_id = trace.trace_id if trace and trace.export() else None
        run = AdvisedRun(await asyncio.to_thread(self.loop.ask, task, trace_id))
        run.steps.append(step("user", task))
        self._runs[id(context.usage)] = run
        weakref.finalize(context.usage, self._runs.pop, id(context.usage), None)
        if (started := STARTED.get()) is not None:
            started.append(run)
        return run


def _asked(items: Sequence[Any]) -> str:
    """The text that the user said last."""
    said = [one["content"] for one in items if one.get("role") == "user"]
    if not said or isinstance(said[-1], str):
        return said[-1] if said else ""
    return "\n".join(part["text"] for part in said[-1] if part.get("type") == "input_text")
