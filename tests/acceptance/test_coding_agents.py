"""Real server, real model, over HTTP: what a coding agent's hooks report moves a first weight."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from memlift_client import MemLift
from memlift_coding.command import main
from memlift_coding.transcripts import RECEIPT

from tests.acceptance.servers import ROOT, Server, environment
from tests.clients.coding_transcripts import transcript

PROMPT = "Make the parser accept empty lists"
LESSON = "Write the case of an empty list before any other change to the parser"
PLACES = {"claude-code": (".claude", "settings.json"), "codex": (".codex", "hooks.json")}
TOOLS = pytest.mark.parametrize("tool", PLACES)


@pytest.fixture
def memory(shared_server: Server):
    slug = f"n{uuid4().hex[:12]}"
    settings = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0}
    with MemLift.from_home(shared_server.home.data) as operator:
        operator.create_namespace(slug, settings=settings)
    with MemLift.from_home(shared_server.home.data, slug) as opened:
        yield opened


class CodingAgent:
    """A tool as it calls its hooks: by the commands that its settings name."""

    def __init__(self, tool: str, folder: Path, variables: Mapping[str, str]) -> None:
        self.tool, self.folder = tool, folder
        self.session = str(uuid4())
        self._variables = environment(variables | {"HOME": str(folder)})

    def call(self, event: str, **more: object) -> str:
        """What the hook printed."""
        known = {"session_id": self.session, "hook_event_name": event, "cwd": "/repo"}
        settings = json.loads(self.folder.joinpath(*PLACES[self.tool]).read_text())
        [group] = settings["hooks"][event]
        ran = subprocess.run(
            group["hooks"][0]["command"],
            shell=True,
            input=json.dumps(known | more),
            env=self._variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    def ask(self, prompt: str = PROMPT, **more: object) -> str:
        """The context that was added to a prompt."""
        printed = self.call("UserPromptSubmit", prompt=prompt, **more)
        printed = json.loads(printed)["hookSpecificOutput"]
        assert printed["hookEventName"] == "UserPromptSubmit"
        return printed["additionalContext"]


@pytest.fixture
def begin(shared_server: Server, memory: MemLift, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install the hooks of a tool, and begin a session of it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)

    def start(tool: str, key: str | None = None) -> CodingAgent:
        words = ["--namespace", memory._connection.namespace, "--patience", "60"]
        assert main(["install", tool, *words]) == 0
        paths = (ROOT / "clients" / "python", ROOT / "clients" / "coding")
        variables = {
            "MEMLIFT_URL": shared_server.url,
            "MEMLIFT_KEY": key or shared_server.home.operator_key.read_text().strip(),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
        }
        return CodingAgent(tool, tmp_path, variables)

    return start


def finished_turn(folder: Path, tool: str, receipt: str) -> list[str]:
    """The lines of a session up to the end of its first turn."""
    lines = transcript(folder, tool, receipt).read_text().splitlines(keepends=True)
    return lines[: next((at for at, line in enumerate(lines) if "for tabs" in line), len(lines))]


def a_note(memory: MemLift):
    return memory.remember(agent="author", situation=PROMPT, lesson=LESSON, category="code")


@TOOLS
def test_a_first_weight_is_moved_by_the_tests_that_an_agent_ran(
    memory: MemLift, begin, tool: str, tmp_path: Path
):
    note, agent = a_note(memory), begin(tool)

    context = agent.ask()
    [receipt] = RECEIPT.findall(context)
    session = tmp_path / "session.jsonl"
    session.write_text("".join(finished_turn(tmp_path, tool, receipt)))
    printed = agent.call("Stop", transcript_path=str(session), stop_hook_active=False)

    assert printed == ""
    assert "reference material" in context  # the rules of use, once in a session
    assert LESSON in context
    [outcome] = memory.list_outcomes(retrieval_id=receipt).items
    assert (outcome.reward, outcome.verifier, outcome.used) == (1.0, "test", (note.id,))
    [trajectory] = memory.list_trajectories(retrieval_id=receipt).items
    assert len(memory.get_trajectory(trajectory.id).steps) >= 5
    memory.apply_outcomes()
    assert memory.get_experience(note.id).effective_weight > 1


@TOOLS
def test_without_a_test_run_a_receipt_stays_pending_until_a_later_turn_ran_one(
    memory: MemLift, begin, tool: str, tmp_path: Path
):
    note, agent = a_note(memory), begin(tool)
    [first] = RECEIPT.findall(agent.ask())
    session = tmp_path / "session.jsonl"
    untested = [line for line in finished_turn(tmp_path, tool, first) if "pytest" not in line]
    session.write_text("".join(untested))
    agent.call("Stop", transcript_path=str(session), last_assistant_message="It is done.")
    pending = memory.list_retrievals(trace_id=agent.session, state="pending")

    later = "Make the parser accept no list at all"
    second = agent.ask(later, transcript_path=str(session))
    with session.open("a") as file:
        file.writelines(
            line.replace(PROMPT, later)
            for line in finished_turn(tmp_path, tool, *RECEIPT.findall(second))
        )
    agent.call("Stop", transcript_path=str(session), last_assistant_message="All pass.")

    assert [one.receipt for one in pending.items] == [first]
    assert "reference material" not in second
    assert memory.list_retrievals(trace_id=agent.session, state="pending").total == 0
    outcomes = {one.retrieval_id: one for one in memory.list_outcomes().items}
    assert {one.reward for one in outcomes.values()} == {1.0}
    assert set(outcomes) == {first, *RECEIPT.findall(second)}
    assert outcomes[first].used == (note.id,)


def test_a_turn_that_was_interrupted_leaves_its_receipt_pending(
    memory: MemLift, begin, tmp_path: Path
):
    """Ctrl+C fires no hook; what had been run before it does not count for the next turn."""
    a_note(memory)
    agent = begin("claude-code")
    [receipt] = RECEIPT.findall(agent.ask())
    session = transcript(tmp_path, "claude-code", "-", receipt)

    agent.call("Stop", transcript_path=str(session), last_assistant_message="Anything else?")

    assert memory.list_retrievals(trace_id=agent.session, state="pending").total == 1
    assert memory.list_outcomes().total == 0


def test_an_agents_own_key_reports_its_own_word(
    memory: MemLift, begin, tmp_path: Path, shared_server: Server
):
    note = a_note(memory)
    with MemLift.from_home(shared_server.home.data) as operator:
        key = operator.create_key(
            role="agent",
            name="codex",
            namespace=memory._connection.namespace,
            agents=["codex"],
        )
    agent = begin("codex", key.token)
    [receipt] = RECEIPT.findall(agent.ask())

    agent.call("Stop", transcript_path=str(transcript(tmp_path, "codex", receipt)))

    [outcome] = memory.list_outcomes(retrieval_id=receipt).items
    assert (outcome.reward, outcome.verifier, outcome.used) == (1.0, "self", (note.id,))
