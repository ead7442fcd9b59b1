"""One real server for all adapters, and for each test a namespace in which nothing is left out."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from memlift_client import MemLift, NamespaceSettingsFields, Outcome, RetryPolicy, Trajectory

ROOT = Path(__file__).parents[3]
SERVER_PYTHON = os.environ.get("MEMLIFT_SERVER_PYTHON", str(ROOT / ".venv/bin/python"))
SITUATION = "A customer asks to have an invoice refunded"
LESSON = "Ask for the number of the order before any money is moved"
TASK = "Refund invoice 8812 for a customer"
ANSWER = "Order found, refunded [m1]."

CERTAIN: NamespaceSettingsFields = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0}
"""Neither a control run nor a coin takes the advice away."""


@dataclass(frozen=True)
class Address:
    url: str
    key: str


@pytest.fixture(scope="session")
def server() -> Generator[Address]:
    """`memlift serve`, in the server's own environment."""
    paths = os.pathsep.join((str(ROOT), str(ROOT / "clients" / "python")))
    with subprocess.Popen(
        [SERVER_PYTHON, Path(__file__).with_name("served.py")],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = Address(**json.loads(process.stdout.readline()))
        with MemLift(address.url, address.key) as operator:
            operator.change_namespace(operator.get_namespace().version, settings=CERTAIN)
        yield address
        process.communicate()


@pytest.fixture
def namespace(server: Address) -> str:
    slug = f"n{uuid4().hex[:12]}"
    with MemLift(server.url, server.key) as operator:
        operator.create_namespace(slug, settings=CERTAIN)
    return slug


@pytest.fixture
def memory(server: Address, namespace: str) -> Generator[MemLift]:
    with MemLift(server.url, server.key, namespace, agent="bot") as opened:
        yield opened


@pytest.fixture
def note(memory: MemLift) -> str:
    """The memory that the scripted agents are told, and cite."""
    return memory.remember(agent="author", situation=SITUATION, lesson=LESSON).id


@pytest.fixture
def unreachable() -> Generator[MemLift]:
    """The client of a server that does not answer: nothing listens at this reserved port."""
    with MemLift(
        "http://127.0.0.1:1", "ml_none", agent="bot", retry_policy=RetryPolicy(attempts=1)
    ) as opened:
        yield opened


def learned(memory: MemLift, note: str) -> Outcome:
    """The one outcome of a namespace, once it was applied; the weight has moved by it."""
    memory.apply_outcomes()
    [outcome] = memory.list_outcomes().items
    assert outcome.status == "applied"
    weight = memory.get_experience(note).effective_weight
    assert weight > 1 if outcome.reward > 0.5 else weight < 1
    return outcome


def run_example(name: str, server: Address, namespace: str) -> str:
    """What an example prints, run as its reader runs it."""
    variables = {"MEMLIFT_URL": server.url, "MEMLIFT_KEY": server.key}
    ran = subprocess.run(
        [sys.executable, ROOT / "clients/agents/examples" / name],
        env=os.environ | variables | {"MEMLIFT_NAMESPACE": namespace},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def run_of(memory: MemLift, outcome: Outcome) -> Trajectory:
    """What was sent of a run, with its outcome."""
    runs = memory.each_trajectory()
    [sent] = [one for one in runs if one.retrieval_id == outcome.retrieval_id]
    return memory.get_trajectory(sent.id)
