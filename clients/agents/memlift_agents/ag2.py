"""AG2: a middleware around each turn, and an assembly policy that adds the advice to its prompts.

    Agent("clerk", config=…, middleware=[advised_turns(memory, reward=judge)],
          assembly=[AdvicePolicy()])

The id of the stream is the trace under which a result may be reported later.
"""

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Unpack

from ag2 import Context
from ag2.events import (
    BaseEvent,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolCallEvent,
    ToolResultEvent,
)
from ag2.middleware import AgentTurn, BaseMiddleware, Middleware, ToolExecution, ToolResultType
from memlift_client import MemLift, StepFields

from memlift_agents._loop import Advice, Loop, LoopSettings, step


@dataclass
class AdvisedTurn:
    """A turn that goes on: what it was told, and what was done in it."""

    advice: Advice
    steps: list[StepFields] = field(default_factory=list[StepFields])


TURN: ContextVar[AdvisedTurn | None] = ContextVar("memlift_turn", default=None)


def advised_turns(memory: MemLift, **settings: Unpack[LoopSettings]) -> Middleware:
    """For `Agent(middleware=[…])`: asks before a turn, and reports when it has ended."""
    return Middleware(TurnMiddleware, loop=Loop(memory, **settings))


class TurnMiddleware(BaseMiddleware):
    """Of one turn."""

    def __init__(self, event: BaseEvent, context: Context, *, loop: Loop) -> None:
        super().__init__(event, context)
        self._loop = loop

    async def on_turn(
        self, call_next: AgentTurn, event: BaseEvent, context: Context
    ) -> ModelResponse:
        task = words(event.parts) if isinstance(event, ModelRequest) else ""
        trace_id = str(context.stream.id)
        turn = AdvisedTurn(await asyncio.to_thread(self._loop.ask, task, trace_id))
        turn.steps.append(step("user", task))
        token = TURN.set(turn)
        try:
            response = await call_next(event, context)
        except Exception as fault:
            await asyncio.to_thread(self._loop.fail, turn.advice, fault, turn.steps)
            raise
        finally:
            TURN.reset(token)
        said = response.content or ""
        turn.steps.append(step("assistant", said))
        report = self._loop.report
        await asyncio.to_thread(report, turn.advice, said, text=said, steps=turn.steps)
        return response

    async def on_tool_execution(
        self, call_next: ToolExecution, event: ToolCallEvent, context: Context
    ) -> ToolResultType:
        answer = await call_next(event, context)
        if (turn := TURN.get()) is not None:
            told = words(answer.result.parts) if isinstance(answer, ToolResultEvent) else None
            given = event.serialized_arguments
            turn.steps.append(step("assistant", tool=event.name, arguments=given, result=told))
        return answer


class AdvicePolicy:
    """For `Agent(assembly=[…])`: the advice for a turn is the last of its prompts."""

    name = "memlift"

    async def apply(
        self, prompts: list[str], events: list[BaseEvent], context: Context
    ) -> tuple[list[str], list[BaseEvent]]:
        turn = TURN.get()
        return ([*prompts, turn.advice.text] if turn and turn.advice.text else prompts), events


def words(parts: Iterable[object]) -> str:
    """The text among what a turn or a tool was given."""
    return "\n".join(part.content for part in parts if isinstance(part, TextInput))
