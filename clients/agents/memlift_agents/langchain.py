"""LangChain: a middleware of `create_agent`.

    create_agent(model, tools, middleware=[MemLiftMiddleware(memory, reward=judge)])

Advice stands at the end of the system prompt. Put this middleware first: what it sees fail has then
failed for good, after every retry. The receipt is in the result, as `result["memlift"]["receipt"]`,
and where the run has an id, that is the trace under which the result may be reported later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NotRequired, Unpack

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import OmitFromInput
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command
from memlift_client import MemLift, StepFields

from memlift_agents._loop import Advice, Loop, LoopSettings, step

ToolAnswer = ToolMessage | Command[Any]


class AdvisedState(AgentState[Any]):
    """The state of an agent with what it was told, which a checkpoint keeps with it."""

    memlift: NotRequired[Annotated[dict[str, Any], OmitFromInput]]


class MemLiftMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks before the agent acts on what its user says, and reports when it has answered."""

    state_schema = AdvisedState

    def __init__(self, memory: MemLift, **settings: Unpack[LoopSettings]) -> None:
        super().__init__()
        self.loop = Loop(memory, **settings)

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        """Keeps the advice with the state."""
        task = next((one.text for one in reversed(state["messages"]) if _is_human(one)), "")
        known = runtime.execution_info
        return {"memlift": self.loop.ask(task, known.run_id if known else None).as_dict()}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Calls the model with the advice; reports that the run broke where the call fails."""
        with self._watched(request.state):
            return handler(advised(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        with self._watched(request.state):
            return await handler(advised(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolAnswer]
    ) -> ToolAnswer:
        with self._watched(request.state):
            return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolAnswer]]
    ) -> ToolAnswer:
        with self._watched(request.state):
            return await handler(request)

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """Judges what the agent came to: its structured response, else the text of its answer."""
        text = state["messages"][-1].text
        output = state.get("structured_response") or text
        self.loop.report(told(state), output, text=text, steps=steps(state["messages"]))

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        await asyncio.to_thread(self.after_agent, state, runtime)

    @contextmanager
    def _watched(self, state: Any):
        """An interrupt is an exception too, but no failure: the run goes on later."""
        try:
            yield
        except GraphBubbleUp:
            raise
        except Exception as fault:
            self.loop.fail(told(state), fault, steps(state["messages"]))
            raise


def told(state: Any) -> Advice:
    """What the run was told."""
    return Advice(**state.get("memlift", {}))


def advised(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """The request with the advice at the end of its system prompt, whose parts stay as they are."""
    advice, now = told(request.state), request.system_message
    if not advice.text:
        return request
    if now is None or isinstance(now.content, str):
        return request.override(system_message=SystemMessage(advice.below(now and now.text)))
    parts = [*now.content, {"type": "text", "text": advice.text}]
    return request.override(system_message=SystemMessage(content=parts))


def steps(messages: Sequence[AnyMessage]) -> list[StepFields]:
    """What was said and done since the user spoke last."""
    began = max((place for place, one in enumerate(messages) if _is_human(one)), default=0)
    made: list[StepFields] = []
    for one in messages[began:]:
        if isinstance(one, HumanMessage):
            made.append(step("user", one.text))
        elif isinstance(one, ToolMessage):
            made.append(step("tool", tool=one.name, result=one.text))
        elif isinstance(one, AIMessage):
            if one.text:
                made.append(step("assistant", one.text))
            calls = one.tool_calls
            made += [step("assistant", tool=c["name"], arguments=c["args"]) for c in calls]
    return made


def _is_human(message: AnyMessage) -> bool:
    return isinstance(message, HumanMessage)
