"""Pydantic AI's own agent and function model over a real server."""

import asyncio

import pytest
from conftest import ANSWER, LESSON, TASK, Address, learned, run_example, run_of
from memlift_agents.pydantic_ai import MemLiftCapability
from memlift_client import MemLift
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


class Clerk:
    """A scripted model that keeps the instructions that it was given."""

    def __init__(self, *answers: ModelResponse | Exception) -> None:
        self.answers = list(answers)
        self.instructions: list[str] = []
        self.model = FunctionModel(self.answer)

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.instructions.append(info.instructions or "")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def says(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def is_refunded(answer: str) -> float:
    return float("refunded" in answer)


def test_a_run_is_told_the_guideline_and_its_result_moves_the_weight(memory: MemLift, note: str):
    call = ModelResponse(parts=[ToolCallPart("pay", {"invoice": 8812})])
    clerk = Clerk(call, says(ANSWER))
    learns = MemLiftCapability(memory, reward=is_refunded, keep_run=True)
    agent = Agent(clerk.model, instructions="You are a clerk.", capabilities=[learns])

    @agent.tool_plain
    def pay(invoice: int) -> str:
        return f"{invoice} is paid back"

    assert agent.run_sync(TASK).output == ANSWER

    assert len(clerk.instructions) == 2
    assert all("You are a clerk." in one and LESSON in one for one in clerk.instructions)
    outcome = learned(memory, note)
    assert (outcome.reward, outcome.used) == (1, (note,))
    assert [step.tool for step in run_of(memory, outcome).steps] == [None, "pay", "pay", None]


async def test_runs_at_once_have_an_advice_each(memory: MemLift, note: str):
    clerk = Clerk(says("Refused."), says("Refused."))
    agent = Agent(clerk.model, capabilities=[MemLiftCapability(memory, reward=is_refunded)])

    results = await asyncio.gather(agent.run(TASK), agent.run("Write a poem about the moon"))

    assert sorted(LESSON in one for one in clerk.instructions) == [False, True]
    receipts = memory.list_retrievals().items
    assert {one.trace_id for one in receipts} == {one.run_id for one in results}
    assert memory.list_outcomes().total == 2


def test_a_run_that_breaks_is_reported_and_rises(memory: MemLift, note: str):
    clerk = Clerk(RuntimeError("the model is down"))
    agent = Agent(clerk.model, capabilities=[MemLiftCapability(memory)])

    with pytest.raises(RuntimeError, match="the model is down"):
        agent.run_sync(TASK)

    assert learned(memory, note).reward == 0


def test_a_structured_output_is_judged_as_it_is(memory: MemLift, note: str):
    class Refund(BaseModel):
        paid: bool

    clerk = Clerk(ModelResponse(parts=[ToolCallPart("final_result", {"paid": True})]))
    learns = MemLiftCapability(memory, reward=lambda refund: float(refund.paid))
    agent = Agent(clerk.model, output_type=Refund, capabilities=[learns])

    assert agent.run_sync(TASK).output.paid

    assert learned(memory, note).used is None


def test_without_a_judge_the_receipt_waits_under_the_id_of_the_run(memory: MemLift, note: str):
    agent = Agent(Clerk(says(ANSWER)).model, capabilities=[MemLiftCapability(memory)])

    result = agent.run_sync(TASK)

    memory.report_by_key(trace_id=result.run_id, reward=1.0, used=[note])
    assert learned(memory, note).used == (note,)


def test_an_agent_answers_without_a_server(unreachable: MemLift):
    learns = MemLiftCapability(unreachable, reward=is_refunded)
    agent = Agent(Clerk(says(ANSWER)).model, capabilities=[learns])

    assert agent.run_sync(TASK).output == ANSWER


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("pydantic_ai_agent.py", server, namespace)
