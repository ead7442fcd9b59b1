"""LangChain's own agent and scripted model over a real server."""

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ANSWER, LESSON, TASK, Address, learned, run_example, run_of
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from memlift_agents.langchain import MemLiftMiddleware
from memlift_client import MemLift


class Scripted(GenericFakeChatModel):
    """LangChain's scripted model, which also keeps what it was given."""

    seen: list[list[BaseMessage]]

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **named: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *given, **named)


def scripted(*answers: AIMessage | str) -> Scripted:
    return Scripted(messages=iter(answers), seen=[])


def failing() -> Scripted:
    def break_down() -> Iterator[str]:
        raise RuntimeError("the model is down")
        yield

    return Scripted(messages=break_down(), seen=[])


def is_refunded(answer: str) -> float:
    return float("refunded" in answer)


ASKED = {"messages": [("user", TASK)]}


def test_a_run_is_told_the_guideline_and_its_result_moves_the_weight(memory: MemLift, note: str):
    model = scripted(ANSWER)
    learns = MemLiftMiddleware(memory, reward=is_refunded, keep_run=True)
    agent = create_agent(model, system_prompt="You are a clerk.", middleware=[learns])

    result = agent.invoke(ASKED)

    [[system, *_]] = model.seen
    assert system.text.startswith("You are a clerk.")
    assert LESSON in system.text
    outcome = learned(memory, note)
    assert outcome.retrieval_id == result["memlift"]["receipt"]
    assert (outcome.reward, outcome.used) == (1, (note,))


async def test_an_awaited_run_is_the_same(memory: MemLift, note: str):
    model = scripted(ANSWER)
    agent = create_agent(model, middleware=[MemLiftMiddleware(memory, reward=is_refunded)])

    await agent.ainvoke(ASKED)

    assert LESSON in model.seen[0][0].text
    assert learned(memory, note).used == (note,)


def test_a_run_that_breaks_is_reported_and_rises(memory: MemLift, note: str):
    agent = create_agent(failing(), middleware=[MemLiftMiddleware(memory)])

    with pytest.raises(RuntimeError, match="the model is down"):
        agent.invoke(ASKED)

    assert learned(memory, note).reward == 0


def test_without_a_judge_the_receipt_waits_under_the_id_of_the_run(memory: MemLift, note: str):
    agent = create_agent(scripted(ANSWER), middleware=[MemLiftMiddleware(memory)])
    run_id = "0f7e1f57-8d6c-4a44-9f0b-0d5a3f1f0b11"

    agent.invoke(ASKED, {"run_id": run_id})

    [bound] = memory.report_by_key(trace_id=run_id, reward=1.0, used=[note])
    assert learned(memory, note).retrieval_id == bound.retrieval_id


def test_an_interrupted_run_is_no_failure_and_goes_on_with_its_advice(memory: MemLift, note: str):
    @tool
    def pay(invoice: int) -> str:
        """Pay an invoice back."""
        return f"{invoice} is paid back"

    call = {"name": "pay", "args": {"invoice": 8812}, "id": "1"}
    model = scripted(AIMessage("", tool_calls=[call]), ANSWER)
    asks_first = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    learns = MemLiftMiddleware(memory, reward=is_refunded, keep_run=True)
    agent = create_agent(
        model, [pay], middleware=[learns, asks_first], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "1"}}

    agent.invoke(ASKED, thread)
    assert memory.list_outcomes().items == ()
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)

    assert [LESSON in messages[0].text for messages in model.seen] == [True, True]
    outcome = learned(memory, note)
    assert outcome.used == (note,)
    assert [step.tool for step in run_of(memory, outcome).steps] == [None, "pay", "pay", None]


def test_an_agent_answers_without_a_server(unreachable: MemLift):
    agent = create_agent(
        scripted(ANSWER), middleware=[MemLiftMiddleware(unreachable, reward=is_refunded)]
    )

    assert agent.invoke(ASKED)["messages"][-1].text == ANSWER


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("langchain_agent.py", server, namespace)
