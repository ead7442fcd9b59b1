"""Real server, real model, over HTTP: scores of other tools come in by the trace, once."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from memlift_client import MemLift

from tests.acceptance.servers import ROOT, Server, environment
from tests.clients.scripted_services import RECORDED, VARIABLES, Services, serving

HEX = "4bf92f3577b34da6a3ce929d0e0e4736"
DASHED = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"
TASK = "Refund invoice 8812 for a customer"


@dataclass
class Shell:
    """The command line of one namespace."""

    memory: MemLift
    variables: dict[str, str]
    module: str = "memlift_client"
    opened: list[subprocess.Popen[str]] = field(default_factory=list)

    def words(self, *words: object) -> list[str]:
        return [sys.executable, "-m", self.module, "import-scores", *map(str, words)]

    def run(self, *words: object, status: int = 0, lines: str = "") -> str:
        done = subprocess.run(
            self.words(*words),
            cwd=ROOT,
            env=self.variables,
            input=lines,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, *words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.words(*words), cwd=ROOT, env=self.variables, stdin=subprocess.PIPE, text=True
        )
        self.opened.append(process)
        return process

    def rewards(self) -> list[float]:
        found = [*self.memory.each_outcome()]
        return sorted(one.reward for one in found if one.reward is not None)


@pytest.fixture
def memory(shared_server: Server):
    slug = f"n{uuid4().hex[:12]}"
    with MemLift.from_home(shared_server.home.data) as operator:
        settings = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0}
        operator.create_namespace(slug, settings=settings)
    with MemLift.from_home(shared_server.home.data, slug, agent="bot") as opened:
        yield opened


@pytest.fixture
def shell(shared_server: Server, memory: MemLift, tmp_path: Path) -> Generator[Shell]:
    variables = {
        "MEMLIFT_URL": shared_server.url,
        "MEMLIFT_KEY": shared_server.home.operator_key.read_text().strip(),
        "MEMLIFT_NAMESPACE": memory._connection.namespace,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "clients" / "python"))),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    made = Shell(memory, environment(VARIABLES | variables))
    yield made
    for process in made.opened:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


@pytest.fixture
def services() -> Generator[Services]:
    with serving() as opened:
        yield opened


def a_run(memory: MemLift, trace: str, agent: str = "bot") -> str:
    return memory.retrieve(TASK, agent=agent, arm="on", trace_id=trace).receipt


def test_scores_of_langfuse_move_weights_once(shell: Shell, services: Services):
    note = shell.memory.remember(agent="author", situation=TASK, lesson="Ask for the order number")
    receipts = [a_run(shell.memory, HEX), a_run(shell.memory, "t-2"), a_run(shell.memory, "t-3")]
    services.add_langfuse("s-1", 0.9, HEX, "correctness")
    services.add_langfuse("s-2", value=False, trace="t-2", name="correctness")
    services.add_langfuse("s-3", 0.8, "t-3", "tone")
    services.add_langfuse("s-4", 0.7, "elsewhere", "correctness")
    services.add_langfuse("s-5", 0.6, None, "correctness")
    services.add_langfuse("s-6", 4, "t-3", "correctness")
    services.busy = 1
    words = ("langfuse", "--source-url", services.url, "--name", "correctness")

    told = shell.run(*words, status=1)
    again = shell.run(*words, status=1)

    assert "2 scores were reported\n" in told
    assert "1 score is of a trace that no receipt of this key names" in told
    assert "1 score is about no trace" in told
    assert "correctness 4 of trace t-3 (s-6): 4 must lie in 0…1 (--scale MIN MAX)" in told
    assert "2 scores were imported before" in again
    assert "reported\n" not in again
    assert shell.rewards() == [0.0, 0.9]
    [outcome] = shell.memory.list_outcomes(retrieval_id=receipts[0]).items
    assert (outcome.verifier, outcome.evaluator) == ("judge", "langfuse correctness")
    shell.memory.apply_outcomes()
    assert shell.memory.get_experience(note.id).effective_weight != 1


def test_scores_of_langsmith_find_a_trace_by_the_id_of_opentelemetry(
    shell: Shell, services: Services
):
    a_run(shell.memory, HEX)
    services.add_langsmith(4, DASHED, "quality")
    for _ in range(100):
        services.add_langsmith(9, DASHED, "quality")
    services.add_langsmith(5, str(uuid4()), "quality")
    words = ("langsmith", "--source-url", services.url, "--name", "quality", "--scale", 1, 5)
    shell.module = "server.cli"

    told = shell.run(*words, status=1)

    assert "1 score was reported" in told
    assert "1 score is of a trace that no receipt of this key names" in told
    assert "100 scores are no rewards" in told
    assert "… and 80 more" in told
    assert shell.rewards() == [0.75]


def test_scores_of_mlflow_are_those_that_were_not_overridden(shell: Shell, services: Services):
    traces = [one["trace_id"] for one in RECORDED["traces"]]
    for trace in traces:
        a_run(shell.memory, trace.removeprefix("tr-"))
    words = ("mlflow", "--source-url", services.url, "--project", 1, "--name", "correctness")

    told = shell.run(*words, "--label", "yes=1", "--label", "no=0")

    assert "3 scores were reported" in told
    assert "1 score has a receipt with a result as good" in told
    assert shell.rewards() == [0.75, 1.0, 1.0]


def test_a_dry_run_says_what_it_would_do_and_does_nothing(shell: Shell, tmp_path: Path):
    receipt = a_run(shell.memory, HEX)
    for agent in ("bot", "other"):
        a_run(shell.memory, "shared", agent)
    scores = [(HEX, 1), ("shared", 1), ("nowhere", 1), (HEX, "good")]
    lines = "".join(json.dumps({"trace_id": t, "value": v}) + "\n" for t, v in scores)

    told = shell.run("jsonl", "-", "--dry-run", lines=lines, status=1)

    assert told.startswith("nothing is reported: a dry run\n")
    assert f"score 1 of trace {HEX} (line 1): reward 1 for {receipt}" in told
    assert "1 score fits several runs" in told
    assert "score 1 of trace shared (line 2): of agents bot, other" in told
    assert "1 score is of a trace that no receipt of this key names" in told
    assert "'good' is no number" in told
    assert shell.rewards() == []
    assert not (tmp_path / "state").exists()


def test_ambiguous_traces_are_listed_and_an_agent_makes_them_clear(shell: Shell, tmp_path: Path):
    for agent in ("bot", "other"):
        a_run(shell.memory, "shared", agent)
    file = tmp_path / "scores.jsonl"
    file.write_text('{"trace_id": "shared", "value": true, "id": "s-1"}\n')

    unclear = shell.run("jsonl", file)
    clear = shell.run("jsonl", file, "--agent", "bot")

    assert "1 score fits several runs: say whose by --agent" in unclear
    assert "score True of trace shared (s-1): of agents bot, other" in unclear
    assert "1 score was reported" in clear
    assert shell.rewards() == [1.0]


def test_an_id_that_stands_elsewhere_is_another_score(shell: Shell, tmp_path: Path):
    for trace in ("night-1", "night-2"):
        for agent in ("bot", "other"):
            a_run(shell.memory, trace, agent)
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file, trace in zip(files, ("night-1", "night-2"), strict=True):
        file.write_text(json.dumps({"id": "s-1", "trace_id": trace, "value": 1}) + "\nnot JSON\n")

    for file in files:
        for agent in ("bot", "other"):
            told = shell.run("jsonl", file, "--agent", agent, status=1)
            assert told == "1 score was reported\n1 line is no score\n  line 2: it is no JSON\n"
    again = shell.run("jsonl", files[1], "--agent", "other", status=1)

    assert again.startswith("1 score was imported before\n")
    assert shell.rewards() == [1.0] * 4


def test_a_run_that_was_killed_goes_on_and_a_lost_record_doubles_nothing(
    shell: Shell, shared_server: Server, tmp_path: Path
):
    state = tmp_path / "imported.jsonl"
    lines = [f'{{"trace_id": "t-{n}", "value": 0.{n}}}\n' for n in (1, 2)]
    for n in (1, 2):
        a_run(shell.memory, f"t-{n}")
    killed = shell.start("jsonl", "-", "--state", state)
    assert killed.stdin is not None
    killed.stdin.write(lines[0])
    killed.stdin.flush()
    shared_server.until(state.exists)
    killed.kill()
    killed.wait()
    with state.open("a") as file:
        file.write('{"id": "cut o')

    told = shell.run("jsonl", "-", "--state", state, lines="".join(lines))
    state.unlink()
    a_run(shell.memory, "t-1")
    again = shell.run("jsonl", "-", "--state", state, lines="".join(lines))

    assert "1 score was reported" in told
    assert "1 score was imported before" in told
    assert "2 scores were reported" in again
    assert shell.rewards() == [0.1, 0.2]


def test_a_score_that_was_changed_is_named_and_not_reported(shell: Shell, tmp_path: Path):
    a_run(shell.memory, "t-1")
    state = tmp_path / "imported.jsonl"
    first, second = (f'{{"id": "s", "trace_id": "t-1", "value": {v}}}' for v in (0.2, 0.9))
    shell.run("jsonl", "-", "--state", state, lines=first)

    told = shell.run("jsonl", "-", "--state", state, lines=second)
    state.unlink()
    unknowing = shell.run("jsonl", "-", "--state", state, lines=second)

    assert "1 score differs from what was imported: correct it under the receipt" in told
    assert "score 0.9 of trace t-1 (s): was 0.2" in told
    assert "1 score differs from what was imported: correct it under the receipt" in unknowing
    assert shell.rewards() == [0.2]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("langfuse",), "langfuse needs --name"),
        (("mlflow", "--name", "x"), "mlflow needs --project"),
        (("jsonl",), "jsonl needs a file, or - for standard input"),
        (("jsonl", "-", "--scale", "1", "1"), "--scale: MIN and MAX must be two numbers"),
        (("jsonl", "-", "--label", "yes"), "--label: 'yes' is not WORD=REWARD"),
        (("jsonl", "-", "--since", "tuesday"), "'tuesday' is no time, such as 2026-11-01"),
    ],
)
def test_what_is_missing_is_named(shell: Shell, words: tuple[str, ...], why: str):
    assert why in shell.run(*words, status=1)


def test_a_place_that_refuses_the_key_is_named(shell: Shell, services: Services):
    shell.variables["LANGSMITH_API_KEY"] = "wrong"

    told = shell.run("langsmith", "--source-url", services.url, "--name", "x", status=1)

    assert "memlift: langsmith answered 401 to GET /feedback" in told
    assert "wrong" not in told
