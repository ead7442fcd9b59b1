"""Pydantic AI: a capability of an agent.

    Agent(model, capabilities=[MemLiftCapability(memory, reward=judge)])

Advice is among the instructions of the run. The run's id is the trace under which its result may be
reported later.
"""

import asyncio
from collections.abc import Sequence
from copy import copy
from typing import Any, Unpack

from memlift_client import MemLift, StepFields
from pydantic_ai import AgentRunResult, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import WrapRunHandler
from pydantic_ai.messages import (
    ModelMessage,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from memlift_agents._loop import Advice, Loop, LoopSettings, step


class MemLiftCapability(AbstractCapability[Any]):
    """Asks before a run, and reports when it has ended, whichever way it did."""

    def __init__(self, memory: MemLift, **settings: Unpack[LoopSettings]) -> None:
        self.loop = Loop(memory, **settings)
        self.advice = Advice()

    async def for_run(self, ctx: RunContext[Any]) -> "MemLiftCapability":
        """Runs that go on at once have an advice each."""
        return copy(self)

    def get_instructions(self) -> Any:
        async def advise(ctx: RunContext[Any]) -> str:
            return self.advice.text

        return advise

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> Any:
        task = words(ctx.prompt) or _asked(ctx.messages)
        self.advice = await asyncio.to_thread(self.loop.ask, task, ctx.run_id)
        began = len(ctx.messages)
        try:
            result = await handler()
        except Exception as fault:
            done = steps(ctx.messages[began:])
            await asyncio.to_thread(self.loop.fail, self.advice, fault, done)
            raise
        await asyncio.to_thread(
            self.loop.report,
            self.advice,
            result.output,
            text=_said(result),
            steps=steps(result.new_messages()),
        )
        return result


def words(prompt: str | Sequence[UserContent] | None) -> str:
    """The text of a prompt, without its pictures and files."""
    parts = [prompt] if isinstance(prompt, str) else prompt or ()
    return "\n".join(part for part in parts if isinstance(part, str))


def _asked(messages: Sequence[ModelMessage]) -> str:
    """What the user said last, where a run goes on without a prompt."""
    parts = (part for message in reversed(messages) for part in message.parts)
    return next((words(part.content) for part in parts if isinstance(part, UserPromptPart)), "")


def _said(result: AgentRunResult[Any]) -> str:
    """The agent's own text, where citations are looked for."""
    return result.output if isinstance(result.output, str) else result.response.text or ""


def steps(messages: Sequence[ModelMessage]) -> list[StepFields]:
    """What was said and done."""
    made: list[StepFields] = []
    for part in (part for message in messages for part in message.parts):
        match part:
            case UserPromptPart():
                made.append(step("user", words(part.content)))
            case TextPart():
                made.append(step("assistant", part.content))
            case ToolCallPart():
                given = part.args_as_dict()
                made.append(step("assistant", tool=part.tool_name, arguments=given))
            case ToolReturnPart():
                told = part.model_response_str()
                made.append(step("tool", tool=part.tool_name, result=told))
            case _:
                pass
    return made
