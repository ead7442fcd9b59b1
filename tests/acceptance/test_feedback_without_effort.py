"""Real server, real model, over HTTP: results that come back without anybody holding a receipt."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from memlift_client import MemLift

from tests.acceptance.servers import ROOT, Server, environment

Ended = subprocess.CompletedProcess[str]
SITUATION = "A customer asks to have an invoice refunded"
LESSON = "Ask for the number of the order before any money is moved"


@pytest.fixture
def memory(shared_server: Server):
    """The operator's client, found as a program on the server's machine finds it."""
    slug = f"n{uuid4().hex[:12]}"
    with MemLift.from_home(shared_server.home.data) as operator:
        settings = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0}
        operator.create_namespace(slug, settings=settings)
    with MemLift.from_home(shared_server.home.data, slug, agent="bot") as opened:
        yield opened


def test_a_first_weight_is_moved_by_a_block_of_code(memory: MemLift):
    note = memory.remember(agent="author", situation=SITUATION, lesson=LESSON, category="billing")

    with memory.task("Refund invoice 8812 for a customer", category="billing", arm="on") as t:
        assert LESSON in t.guideline
        assert os.environ["MEMLIFT_RECEIPT"] == t.receipt
        t.cited("The order is known, so the money may go [m1].")
        t.reward(1)

    assert t.outcome is not None
    memory.apply_outcomes()
    [outcome] = memory.list_outcomes(retrieval_id=t.receipt).items
    assert (outcome.status, outcome.used) == ("applied", (note.id,))
    assert memory.get_experience(note.id).effective_weight > 1


def test_a_run_that_was_left_pending_is_reported_by_who_learns_the_result(memory: MemLift):
    note = memory.remember(agent="author", situation=SITUATION, lesson=LESSON, category="billing")
    with memory.task(
        "Refund invoice 8812 for a customer", category="billing", key="order-8812", arm="on"
    ) as t:
        pass

    pending = memory.list_retrievals(task_key="order-8812", state="pending")
    bound = memory.report_by_key("order-8812", agent="bot", reward=0.0, verifier="test")

    assert [one.retrieval_id for one in pending.items] == [one.retrieval_id for one in bound]
    assert [one.retrieval_id for one in bound] == [t.receipt]
    memory.apply_outcomes()
    assert memory.get_experience(note.id).effective_weight < 1


def settings(server: Server, memory: MemLift, **more: str) -> dict[str, str]:
    """The environment of a shell whose key is the operator's."""
    key = server.home.operator_key.read_text().strip()
    paths = (ROOT, ROOT / "clients" / "python", ROOT / "clients" / "pytest")
    return environment(
        {
            "MEMLIFT_URL": server.url,
            "MEMLIFT_KEY": key,
            "MEMLIFT_NAMESPACE": memory._connection.namespace,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            **more,
        }
    )


def shell(variables: dict[str, str], *words: str, **options: str) -> Ended:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=options.get("cwd", ROOT),
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_shell_asks_runs_and_reports_by_the_exit_code(shared_server: Server, memory: MemLift):
    variables = settings(shared_server, memory)
    words = ["remember", "--situation", SITUATION, "--lesson", LESSON, "--category", "billing"]
    kept = shell(variables, "server.cli", *words)
    text = "Refund invoice 8812 for a customer"
    asked = shell(variables, "server.cli", "ask", text, "--key", "o-17", "--agent", "bot")
    fails = [sys.executable, "-c", "import sys; print('ran'); sys.exit(3)"]

    ran = shell(variables, "server.cli", "report", "--key", "o-17", "--run", "--", *fails)

    assert kept.stdout.startswith("remembered: "), kept.stderr
    assert LESSON in asked.stdout
    receipt = asked.stdout.splitlines()[-1].removeprefix("receipt: ")
    assert (ran.returncode, ran.stdout) == (3, "ran\n"), ran.stderr
    [outcome] = memory.list_outcomes(retrieval_id=receipt).items
    assert (outcome.reward, outcome.verifier) == (0.0, "test")
    assert f"reward 0 for {receipt}: accepted" in ran.stderr


def test_what_a_shell_cannot_report_is_told_and_the_command_ends_as_it_did(
    shared_server: Server, memory: MemLift
):
    variables = settings(shared_server, memory)
    for agent in ("bot", "other"):
        memory.retrieve("Refund invoice 8812", agent=agent, arm="on")
        memory.retrieve(agent=agent, task={"text": "Refund 9", "key": "o-9"}, arm="on")

    unknown = shell(variables, "memlift_client", "report", "--key", "no", "--reward", "1")
    several = shell(
        variables,
        "memlift_client",
        "report",
        "--key",
        "o-9",
        "--run",
        "--",
        sys.executable,
        "-c",
        "",
    )
    nothing = shell(variables, "memlift_client", "report", "--reward", "1")

    assert unknown.returncode == 1
    assert "404 retrieval_not_found" in unknown.stderr
    assert several.returncode == 0
    assert "ambiguous_key" in several.stderr
    assert {"bot", "other"} <= set(several.stderr.split())
    assert nothing.returncode == 2
    assert "MEMLIFT_RECEIPT" in nothing.stderr


TESTS = """
import os
import pytest

def test_passes(memlift_task):
    t = memlift_task("Refund invoice 8812 for a customer", category="billing", arm="on")
    assert os.environ.get("MEMLIFT_RECEIPT") == t.receipt
    t.cited("The order is known [m1].")

def test_fails(memlift_task):
    memlift_task("Refund invoice 8813 for a customer", category="billing", arm="on")
    assert False

def test_judges_itself(memlift_task):
    memlift_task("Refund invoice 8814", category="billing", arm="on").reward(0.5)

def test_is_skipped(memlift_task):
    memlift_task("Refund invoice 8815", category="billing", arm="on")
    pytest.skip("later")
"""


def test_a_pytest_run_reports_what_came_of_its_tests(
    shared_server: Server, memory: MemLift, tmp_path: Path
):
    note = memory.remember(agent="author", situation=SITUATION, lesson=LESSON, category="billing")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_agent.py").write_text(TESTS)
    words = ("pytest", "-p", "pytest_memlift", "-p", "no:cacheprovider", "-q")
    variables = settings(shared_server, memory, MEMLIFT_AGENT="bot")

    ran = shell(variables, *words, cwd=str(tmp_path))

    assert "memlift: 3 outcomes reported" in ran.stdout, ran.stdout + ran.stderr
    outcomes = memory.list_outcomes().items
    assert [(one.reward, one.verifier) for one in outcomes] == [
        (1.0, "test"),
        (0.0, "test"),
        (0.5, "self"),
    ]
    assert outcomes[0].used == (note.id,)
    assert memory.list_retrievals(state="pending").total == 1


def test_without_an_address_the_plugin_is_off(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_agent.py").write_text(
        "def test_it(memlift_task):\n    assert memlift_task('T').guideline == ''\n"
    )
    paths = (ROOT / "clients" / "python", ROOT / "clients" / "pytest")
    variables = environment({"PYTHONPATH": os.pathsep.join(map(str, paths))})

    ran = shell(
        variables, "pytest", "-p", "pytest_memlift", "-p", "no:cacheprovider", cwd=str(tmp_path)
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "memlift:" not in ran.stdout


def test_a_test_whose_reward_is_no_number_fails_and_says_why(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_agent.py").write_text(
        "def test_it(memlift_task):\n    memlift_task('T').reward(float('nan'))\n"
    )
    paths = (ROOT / "clients" / "python", ROOT / "clients" / "pytest")
    variables = environment({"PYTHONPATH": os.pathsep.join(map(str, paths))})

    ran = shell(
        variables, "pytest", "-p", "pytest_memlift", "-p", "no:cacheprovider", cwd=str(tmp_path)
    )

    assert "reward must be a number from 0 to 1, not nan" in ran.stdout
    assert "1 failed in" in ran.stdout


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:15999", "memlift: 1 tasks without advice: no answer came from"),
        ("garbage", "memlift: off, for MEMLIFT_URL or MEMLIFT_KEY is none: the server's URL needs"),
    ],
)
def test_an_address_that_leads_nowhere_fails_no_test_and_is_told(
    tmp_path: Path, url: str, said: str
):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_agent.py").write_text("def test_it(memlift_task):\n    memlift_task('T')\n")
    paths = (ROOT / "clients" / "python", ROOT / "clients" / "pytest")
    named = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "MEMLIFT_URL": url}
    words = ("pytest", "-p", "pytest_memlift", "-p", "no:cacheprovider")

    ran = shell(environment(named | {"MEMLIFT_KEY": "ml_k"}), *words, cwd=str(tmp_path))

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("memlift: ") == 1
    assert said in ran.stdout


def test_a_namespace_that_is_not_there_is_named_once(
    shared_server: Server, memory: MemLift, tmp_path: Path
):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    two = "def test_{0}(memlift_task):\n    memlift_task('T{0}')\n"
    (tmp_path / "test_agent.py").write_text(two.format(1) + two.format(2))
    variables = settings(shared_server, memory, MEMLIFT_NAMESPACE="nope")
    words = ("pytest", "-p", "pytest_memlift", "-p", "no:cacheprovider")

    ran = shell(variables, *words, cwd=str(tmp_path))

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("memlift: ") == 1
    assert "404 namespace_not_found" in ran.stdout
    assert "'nope'; set MEMLIFT_NAMESPACE" in ran.stdout


def test_the_action_runs_what_it_is_told_and_reports_under_the_key(
    shared_server: Server, memory: MemLift
):
    action = yaml.safe_load((ROOT / "clients" / "ci" / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    given = {name: one.get("default") for name, one in action["inputs"].items()}
    given |= {"url": shared_server.url, "task-key": "abc123", "agent": "bot", "run": "exit 0"}
    given |= {"key": shared_server.home.operator_key.read_text().strip()}
    given |= {"namespace": memory._connection.namespace}
    named = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
    variables = settings(shared_server, memory) | {k: named[v] for k, v in step["env"].items()}
    served = memory.retrieve(agent="bot", task={"text": "Fix the build", "key": "abc123"}, arm="on")

    ran = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=ROOT,
        env=variables | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    [outcome] = memory.list_outcomes(retrieval_id=served.receipt).items
    assert (outcome.reward, outcome.verifier) == (1.0, "test")
