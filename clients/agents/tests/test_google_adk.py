"""Google ADK's own runner over a real server, with a scripted model."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from conftest import ANSWER, LESSON, SITUATION, TASK, Address, learned, run_example, run_of
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from memlift_agents.google_adk import MemLiftPlugin
from memlift_agents.google_adk_memory import MemLiftMemoryService
from memlift_client import MemLift

USER = {"app_name": "clerk", "user_id": "ada"}


class Scripted(BaseLlm):
    """ADK has no scripted model: the base class is what its own tests derive from."""

    model: str = "scripted"
    answers: list[Any]
    seen: list[str] = []  # noqa: RUF012 - pydantic copies it for each model

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - as ADK has it
    ) -> AsyncGenerator[LlmResponse, None]:
        self.seen.append(str(llm_request.config.system_instruction))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        part = types.Part(text=answer) if isinstance(answer, str) else answer
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def is_refunded(answer: str) -> float:
    return float("refunded" in answer)


def runner(plugin: MemLiftPlugin, model: Scripted, **more: Any) -> InMemoryRunner:
    agent = LlmAgent(name="clerk", model=model, instruction="You are a clerk.", **more)
    return InMemoryRunner(app=App(name="clerk", root_agent=agent, plugins=[plugin]))


async def test_a_run_is_told_the_guideline_and_its_result_moves_the_weight(
    memory: MemLift, note: str
):
    def pay(invoice: int) -> str:
        """Pay an invoice back."""
        return f"{invoice} is paid back"

    call = types.Part(function_call=types.FunctionCall(name="pay", args={"invoice": 8812}))
    model = Scripted(answers=[call, ANSWER])
    plugin = MemLiftPlugin(memory, reward=is_refunded, keep_run=True)

    events = await runner(plugin, model, tools=[pay]).run_debug(TASK, quiet=True)

    assert len(model.seen) == 2
    assert all("You are a clerk." in one and LESSON in one for one in model.seen)
    outcome = learned(memory, note)
    assert (outcome.reward, outcome.used) == (1, (note,))
    assert [one.tool for one in run_of(memory, outcome).steps] == [None, "pay", "pay", None]
    receipts = memory.list_retrievals(trace_id=events[-1].invocation_id).items
    assert [one.retrieval_id for one in receipts] == [outcome.retrieval_id]
    assert plugin._going == {}


async def test_a_run_that_breaks_is_reported_and_rises(memory: MemLift, note: str):
    plugin = MemLiftPlugin(memory)
    model = Scripted(answers=[RuntimeError("the model is down")])

    with pytest.raises(RuntimeError, match="the model is down"):
        await runner(plugin, model).run_debug(TASK, quiet=True)

    assert learned(memory, note).reward == 0
    assert plugin._going == {}


async def test_an_agent_answers_without_a_server(unreachable: MemLift):
    plugin = MemLiftPlugin(unreachable, reward=is_refunded)

    events = await runner(plugin, Scripted(answers=[ANSWER])).run_debug(TASK, quiet=True)

    assert events[-1].content.parts[0].text == ANSWER


async def test_the_service_finds_what_was_added_for_its_user_and_lessons_of_all(
    memory: MemLift, note: str
):
    service = MemLiftMemoryService(memory)
    said = types.Content(parts=[types.Part(text="Invoices are paid back by bank transfer")])
    entry = MemoryEntry(content=said, custom_metadata={"situation": SITUATION})
    for user in ("ada", "bob"):
        await service.add_memory(app_name="clerk", user_id=user, memories=[entry])

    found = (await service.search_memory(**USER, query=TASK)).memories
    others = await service.search_memory(app_name="clerk", user_id="eve", query=TASK)

    assert len(found) == 2
    assert [one.id for one in others.memories] == [note]
    assert all(one.content.parts for one in found)
    receipt = found[0].custom_metadata["receipt"]
    memory.report(receipt, reward=1.0, used=[note])
    learned(memory, note)

    own = next(one.id for one in found if one.id != note)
    await service.delete_memory(**USER, memory_id=own)
    left = await service.search_memory(**USER, query=TASK)
    assert [one.id for one in left.memories] == [note]
    with pytest.raises(ValueError, match="is not a memory of clerk/ada"):
        await service.delete_memory(**USER, memory_id=own)
    await service.delete_memory(app_name="clerk", user_id="bob", memory_id=own)
    assert memory.get_experience(own).status == "retired"


async def test_a_session_is_kept_as_what_was_asked_and_answered(memory: MemLift):
    service = MemLiftMemoryService(memory)
    running = runner(MemLiftPlugin(memory), Scripted(answers=["Refunds take three days."]))
    await running.run_debug(
        "How long does a refund take?", user_id="ada", session_id="1", quiet=True
    )
    session = await running.session_service.get_session(**USER, session_id="1")
    assert session is not None

    await service.add_session_to_memory(session)
    await service.add_session_to_memory(session)

    [kept] = memory.list_experiences().items
    assert (kept.situation, kept.lesson) == (
        "How long does a refund take?",
        "Refunds take three days.",
    )


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("google_adk_agent.py", server, namespace)
