"""AG2's own agent and test configuration over a real server."""

import pytest
from ag2 import Agent
from ag2.events import ToolCallEvent
from ag2.testing import TestConfig, TrackingConfig
from conftest import ANSWER, LESSON, TASK, Address, learned, run_example, run_of
from memlift_agents.ag2 import AdvicePolicy, advised_turns
from memlift_client import MemLift


def is_refunded(answer: str) -> float:
    return float("refunded" in answer)


async def test_a_turn_is_told_the_guideline_and_its_result_moves_the_weight(
    memory: MemLift, note: str
):
    config = TrackingConfig(TestConfig(ToolCallEvent("pay", arguments='{"invoice": 8812}'), ANSWER))
    turns = advised_turns(memory, reward=is_refunded, keep_run=True)
    agent = Agent(
        "clerk", "You are a clerk.", config=config, middleware=[turns], assembly=[AdvicePolicy()]
    )

    @agent.tool
    def pay(invoice: int) -> str:
        return f"{invoice} is paid back"

    reply = await agent.ask(TASK)

    assert reply.body == ANSWER
    prompts = ["\n".join(call.prompt) for call in config.calls]
    assert len(prompts) == 2
    assert all(one.startswith("You are a clerk.") and LESSON in one for one in prompts)
    outcome = learned(memory, note)
    assert (outcome.reward, outcome.used) == (1, (note,))
    [_, paid, _] = run_of(memory, outcome).steps
    assert (paid.tool, paid.result) == ("pay", "8812 is paid back")


async def test_a_turn_that_breaks_is_reported_and_rises(memory: MemLift, note: str):
    config = TestConfig(RuntimeError("the model is down"))
    agent = Agent("clerk", config=config, middleware=[advised_turns(memory)])

    with pytest.raises(RuntimeError, match="the model is down"):
        await agent.ask(TASK)

    assert learned(memory, note).reward == 0


async def test_without_a_judge_the_receipt_waits_under_the_stream(memory: MemLift, note: str):
    agent = Agent("clerk", config=TestConfig(ANSWER), middleware=[advised_turns(memory)])

    reply = await agent.ask(TASK)

    memory.report_by_key(trace_id=str(reply.context.stream.id), reward=1.0, used=[note])
    assert learned(memory, note).used == (note,)


async def test_an_agent_answers_without_a_server(unreachable: MemLift):
    turns = advised_turns(unreachable, reward=is_refunded)
    config = TestConfig(ANSWER)
    agent = Agent("clerk", config=config, middleware=[turns], assembly=[AdvicePolicy()])

    assert (await agent.ask(TASK)).body == ANSWER


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("ag2_agent.py", server, namespace)
