"""The OpenAI Agents SDK's own runner and scripted model over a real server."""

import asyncio
import gc
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool, set_trace_processors
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from conftest import ANSWER, LESSON, TASK, Address, learned, run_example, run_of
from memlift_agents.openai_agents import MemLiftHooks
from memlift_client import MemLift

# Traces are made, and sent nowhere.
set_trace_processors([])


def says(text: str) -> list[Any]:
    return [assistant_message(text)]


def is_refunded(answer: str) -> float:
    return float("refunded" in answer)


def clerk(learns: MemLiftHooks, model: ScriptedModel, **more: Any) -> Agent[Any]:
    prompt = learns.instructions("You are a clerk.")
    return Agent(name="clerk", instructions=prompt, model=model, **more)


async def test_a_run_is_told_the_guideline_and_its_result_moves_the_weight(
    memory: MemLift, note: str
):
    @function_tool
    def pay(invoice: int) -> str:
        return f"{invoice} is paid back"

    model = ScriptedModel([[function_call("pay", {"invoice": 8812}, call_id="1")], says(ANSWER)])
    learns = MemLiftHooks(memory, reward=is_refunded, keep_run=True)

    result = await Runner.run(clerk(learns, model, tools=[pay]), TASK, hooks=learns)

    told = [call.system_instructions or "" for call in model.calls]
    assert len(told) == 2
    assert all(one.startswith("You are a clerk.") and LESSON in one for one in told)
    outcome = learned(memory, note)
    assert (outcome.reward, outcome.used) == (1, (note,))
    assert outcome.retrieval_id == learns.receipt(result)
    assert [step.tool for step in run_of(memory, outcome).steps] == [None, "pay", "pay", None]


async def test_a_handoff_stays_within_the_run(memory: MemLift, note: str):
    learns = MemLiftHooks(memory, reward=is_refunded)
    payer = clerk(learns, ScriptedModel([says(ANSWER)]))
    payer.name = "payer"
    first = ScriptedModel([[function_call("transfer_to_payer", {}, call_id="1")]])

    await Runner.run(clerk(learns, first, handoffs=[payer]), TASK, hooks=learns)

    assert memory.list_retrievals().total == 1
    assert learned(memory, note).used == (note,)


def test_runs_at_once_have_an_advice_each_and_leave_nothing_behind(memory: MemLift, note: str):
    model = ScriptedModel([says("Refused."), says("Refused.")])
    learns = MemLiftHooks(memory, reward=is_refunded)
    agent = clerk(learns, model)

    async def run_both() -> None:
        tasks = (TASK, "Write a poem about the moon")
        await asyncio.gather(*(Runner.run(agent, task, hooks=learns) for task in tasks))

    asyncio.run(run_both())

    told = [LESSON in (call.system_instructions or "") for call in model.calls]
    assert sorted(told) == [False, True]
    assert memory.list_outcomes().total == 2
    gc.collect()
    assert learns._runs == {}


async def test_a_run_that_breaks_is_reported_and_rises(memory: MemLift, note: str):
    model = ScriptedModel([ModelStep.raise_error(RuntimeError("the model is down"))])
    learns = MemLiftHooks(memory)

    with pytest.raises(RuntimeError, match="the model is down"):
        await learns.run(clerk(learns, model), [{"role": "user", "content": TASK}])

    assert learned(memory, note).reward == 0


def test_without_a_judge_the_receipt_waits_under_the_trace(memory: MemLift, note: str):
    learns = MemLiftHooks(memory)
    agent = clerk(learns, ScriptedModel([says(ANSWER)]))
    trace = "trace_0123456789abcdef0123456789abcdef"

    Runner.run_sync(agent, TASK, hooks=learns, run_config=RunConfig(trace_id=trace))

    memory.report_by_key(trace_id=trace, reward=1.0, used=[note])
    assert learned(memory, note).used == (note,)


async def test_an_agent_answers_without_a_server(unreachable: MemLift):
    learns = MemLiftHooks(unreachable, reward=is_refunded)

    result = await learns.run(clerk(learns, ScriptedModel([says(ANSWER)])), TASK)

    assert result.final_output == ANSWER


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("openai_agent.py", server, namespace)
