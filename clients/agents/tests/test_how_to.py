"""What the how-to shows for each framework works as it stands, with a script for a model."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from ag2.testing import TestConfig
from agents import set_trace_processors
from agents.testing import ScriptedModel, assistant_message
from conftest import ANSWER, ROOT, TASK, Address
from dspy.utils import DummyLM
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from memlift_client import MemLift
from pydantic_ai.models.test import TestModel
from test_google_adk import Scripted

PAGE = (ROOT / "docs/how-to/plug-into-a-framework.md").read_text(encoding="utf-8")
SHOWN = r"(?ms)^## ([^\n]+)\n\n<!-- not run[^\n]+\n```python\n(.*?)^```$"
BLOCKS = dict(re.findall(SHOWN, PAGE))


def mock_output() -> ModelOutput:
    output = ModelOutput.from_content("mockllm/model", ANSWER)
    output.usage = ModelUsage()
    return output


# What a reader brings along.
BROUGHT: dict[str, Callable[[], dict[str, Any]]] = {
    "LangChain": lambda: {"model": GenericFakeChatModel(messages=iter([AIMessage(ANSWER)]))},
    "LangGraph and LangMem": dict,
    "Pydantic AI": lambda: {"model": TestModel(custom_output_text=ANSWER)},
    "OpenAI Agents SDK": lambda: {"model": ScriptedModel([[assistant_message(ANSWER)]])},
    "Inspect AI": lambda: {
        "samples": [Sample(input=TASK, target="refunded")],
        "model": get_model("mockllm/model", custom_outputs=[mock_output()], memoize=False),
    },
    "DSPy": lambda: {
        "lm": DummyLM([{"answer": ANSWER}]),
        "examples": [dspy.Example(task=TASK).with_inputs("task")],
    },
    "Google ADK": lambda: {"model": Scripted(answers=[ANSWER])},
    "AG2": lambda: {"config": TestConfig(ANSWER)},
}


def test_every_framework_of_the_page_is_tried():
    assert BLOCKS.keys() == BROUGHT.keys()


@pytest.mark.parametrize("framework", BROUGHT)
def test_what_is_shown_asks_and_reports(
    framework: str,
    request: pytest.FixtureRequest,
    server: Address,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMLIFT_URL", server.url)
    monkeypatch.setenv("MEMLIFT_KEY", server.key)
    monkeypatch.setattr("memlift_agents.inspect_ai.REPORTERS", [])
    set_trace_processors([])
    request.addfinalizer(lambda: dspy.configure(lm=None, callbacks=[]))
    with MemLift.from_home() as memory:
        before = memory.list_outcomes().total

        exec(compile(BLOCKS[framework], "the how-to", "exec"), BROUGHT[framework]())

        assert memory.list_outcomes().total == (before or 0) + 1
        printed = capsys.readouterr().out.strip().splitlines()
        [outcome, *_] = sorted(memory.each_outcome(), key=lambda one: one.recorded_at, reverse=True)
        receipt = memory.get_retrieval(outcome.retrieval_id)
        if printed:
            assert printed[-1] in (receipt.retrieval_id, receipt.trace_id)
