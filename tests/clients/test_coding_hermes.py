"""The memory provider of Hermes Agent; over Hermes' own base class where it is installed."""

import importlib
import importlib.util
import sys
from abc import ABC, abstractmethod
from types import ModuleType

import httpx
import pytest
from coding_transcripts import ONE, hermes_messages
from memlift_client import Me, MemLift, OutcomeTaken, Receipt, Retrieval
from scripted_server import QUICK, Script, a_problem, an_answer

from tests.fixtures.answers import a_document

ASKED = "Make the parser accept empty lists"
GUIDELINE = {
    **a_document(Retrieval)["guideline"],
    "text": "- the empty case first [m1]",
    "citations": {"m1": "m-1"},
}
SERVED = an_answer(201, a_document(Retrieval, retrieval_id=ONE, guideline=GUIDELINE))
RECEIPT = a_document(Receipt, retrieval_id=ONE, guideline=GUIDELINE)
PENDING = an_answer(200, {"items": [RECEIPT], "total": 1, "next_cursor": None})
ME = an_answer(200, a_document(Me, verifies="test"))
TAKEN = an_answer(202, a_document(OutcomeTaken, warnings=[]))


class MemoryProvider(ABC):
    """What Hermes 0.19 requires of a provider, for a machine without Hermes."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def is_available(self) -> bool: ...

    @abstractmethod
    def initialize(self, session_id: str, **kwargs: object) -> None: ...

    @abstractmethod
    def get_tool_schemas(self) -> list[dict[str, object]]: ...


@pytest.fixture
def hermes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as Hermes loads it."""
    if importlib.util.find_spec("agent") is None:
        module = ModuleType("agent.memory_provider")
        module.__dict__["MemoryProvider"] = MemoryProvider
        monkeypatch.setitem(sys.modules, "agent", ModuleType("agent"))
        monkeypatch.setitem(sys.modules, "agent.memory_provider", module)
    monkeypatch.delitem(sys.modules, "memlift_coding.hermes", raising=False)
    return importlib.import_module("memlift_coding.hermes")


@pytest.fixture
def start(hermes: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """A provider in a session, whose server gives these answers."""

    def begin(script: Script, **context: object):
        def connect(**known: object) -> MemLift:
            agent = str(known["agent"])
            return MemLift(
                "http://memlift.test",
                "ml_k",
                agent=agent,
                retry_policy=QUICK,
                transport=script.transport(),
            )

        monkeypatch.setattr(sys.modules["memlift_coding.session"], "connect", connect)
        registered: list[object] = []
        hermes.register(
            type(
                "Context", (), {"register_memory_provider": lambda _, one: registered.append(one)}
            )()
        )
        [provider] = registered
        provider.initialize("s-1", hermes_home="/h", platform="cli", **context)
        return provider

    return begin


def reports(script: Script) -> list[httpx.Request]:
    return [one for one in script.requests if one.url.path.endswith("/outcome")]


def test_a_turn_asks_and_its_last_test_run_is_reported(start):
    script = Script(SERVED, PENDING, ME, TAKEN)
    provider = start(script, agent_identity="coder", agent_context="primary")

    advice = provider.prefetch(ASKED, session_id="s-1")
    messages = hermes_messages(ASKED, "pytest -q", 1, "By [m1] it should work.")
    provider.sync_turn(ASKED, "By [m1] it should work.", session_id="s-1", messages=messages)

    assert provider.name == "memlift"
    assert provider.is_available()
    assert provider.get_tool_schemas() == []
    assert "reference material" in provider.system_prompt_block()
    assert advice.startswith("- the empty case first [m1]")
    asked, _, _, told = [one.content for one in script.requests]
    assert b'"agent":"coder"' in asked.replace(b" ", b"")
    assert b'"trace_id":"s-1"' in asked.replace(b" ", b"")
    for part in (b'"reward":0.0', b'"used":["m-1"]', b'"verifier":"test"', b'"pytest-q"'):
        assert part in told.replace(b" ", b"")


def test_a_turn_that_was_interrupted_is_not_reported_when_its_session_ends(start):
    script = Script(SERVED, PENDING, ME, TAKEN)
    provider = start(script)
    provider.prefetch(ASKED)
    messages = hermes_messages(ASKED, "pytest -q", 0, "It works, and")

    provider.on_session_end(messages)
    before = len(reports(script))
    provider.sync_turn(ASKED, "It works.")  # an older Hermes hands over no messages
    provider.on_session_end(messages)

    assert before == 0
    assert len(reports(script)) == 1


def test_a_run_that_the_server_will_not_keep_costs_no_result(start):
    script = Script(SERVED, PENDING, ME, a_problem(422, "rejected", field="run"), TAKEN)
    provider = start(script)
    provider.prefetch(ASKED)

    provider.sync_turn(ASKED, "x", messages=hermes_messages(ASKED, "pytest", 1, "x"))

    refused, kept = reports(script)
    assert b'"run"' in refused.content
    assert b'"run"' not in kept.content


def test_words_that_are_no_task_and_runs_of_others_ask_nothing(start):
    script = Script(SERVED)

    assert start(script).prefetch("ok") == ""
    other = start(script, agent_context="subagent")
    assert other.prefetch(ASKED) == ""
    assert other.system_prompt_block() == ""
    assert script.requests == []


def test_a_server_that_is_away_costs_no_turn(start):
    provider = start(Script(httpx.ConnectError("refused")))

    assert provider.prefetch(ASKED) == ""
    provider.sync_turn(ASKED, "x", messages=hermes_messages(ASKED, "pytest", 0, "x"))
    provider.on_session_switch("s-2", reset=True)
    provider.shutdown()
    assert provider.prefetch(ASKED) == ""
