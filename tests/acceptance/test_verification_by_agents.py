"""Real server, real model, over HTTP: candidates are tried by a command, or by a loop of a line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest
from memlift_client import AsyncMemLift, MemLift, Remembered

from tests.acceptance.servers import PATIENCE_SECONDS, ROOT, Server, environment

TASK = {"text": "Will it rain in Oslo tomorrow?", "key": "oslo"}
LESSON = "Ask for the wind before the clouds"
HELPED = (
    "import os, sys; sys.exit(sys.argv[1] not in open(os.environ['MEMLIFT_GUIDELINE_FILE']).read())"
)
USELESS = "import os; assert os.environ['MEMLIFT_TASK'].startswith('Will it')"


@pytest.fixture
def memory(shared_server: Server):
    slug = f"n{uuid4().hex[:12]}"
    with MemLift.from_home(shared_server.home.data) as operator:
        operator.create_namespace(slug)
    with MemLift.from_home(shared_server.home.data, slug) as opened:
        yield opened


@pytest.fixture
def variables(shared_server: Server, memory: MemLift) -> dict[str, str]:
    """The environment of a shell whose key is the tester's own."""
    namespace = memory._connection.namespace
    with MemLift.from_home(shared_server.home.data) as operator:
        key = operator.create_key(
            role="agent", name="tester", namespace=namespace, agents=["tester"]
        )
    return environment(
        {
            "MEMLIFT_URL": shared_server.url,
            "MEMLIFT_KEY": key.token,
            "MEMLIFT_NAMESPACE": namespace,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "clients" / "python"))),
        }
    )


def a_candidate(memory: MemLift, lesson: str = LESSON) -> Remembered:
    return memory.remember(
        agent="author",
        situation="Whether it will rain by the sea",
        lesson=lesson,
        category="rain",
        verify=True,
        task=TASK,
    )


def verify(
    variables: dict[str, str], *words: str, module: str = "memlift_client"
) -> "subprocess.Popen[str]":
    # Where the tests themselves run in the background, they are started with interrupts ignored.
    shell = ["env", "--default-signal=INT", sys.executable, "-m", module]
    return subprocess.Popen(
        [*shell, "verify", "--agent", "tester", "--run", "--", *words],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("script", "status", "trust", "said"),
    [
        (HELPED, "active", "trusted", ["reward 1, 0 without", "admitted"]),
        (USELESS, "rejected", "unverified", ["reward 1, 1 without", "rejected"]),
    ],
)
def test_a_candidate_is_verified_by_a_command_alone(
    memory: MemLift,
    variables: dict[str, str],
    script: str,
    status: str,
    trust: str,
    said: list[str],
):
    candidate = a_candidate(memory)

    command = verify(variables, sys.executable, "-c", script, LESSON, module="server.cli")
    printed, told = command.communicate(timeout=PATIENCE_SECONDS)

    assert (command.returncode, printed) == (0, ""), told
    verified = memory.get_experience(candidate.id)
    assert (verified.status, verified.trust) == (status, trust)
    [ticket] = memory.list_tickets(memory_id=candidate.id).items
    assert ticket.trials[0].self_verified is False
    assert all(one in told for one in said)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_interrupted_gives_its_candidate_back(
    memory: MemLift, variables: dict[str, str], sent: signal.Signals, tmp_path: Path
):
    candidate = a_candidate(memory)
    started = tmp_path / "started"
    waits = f"import pathlib, time; pathlib.Path({str(started)!r}).touch(); time.sleep(3600)"

    command = verify(variables, sys.executable, "-c", waits)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not started.exists():
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    [leased] = memory.list_tickets(memory_id=candidate.id).items
    command.send_signal(sent)
    _, told = command.communicate(timeout=PATIENCE_SECONDS)

    assert leased.state == "leased"
    assert command.returncode == 130, told
    [ticket] = memory.list_tickets(memory_id=candidate.id).items
    assert (ticket.state, ticket.trials[0].reward) == ("open", None)


def test_a_command_that_is_not_there_gives_its_candidate_back(
    memory: MemLift, variables: dict[str, str]
):
    candidate = a_candidate(memory)

    command = verify(variables, "/nowhere/at-all")
    _, told = command.communicate(timeout=PATIENCE_SECONDS)

    assert command.returncode == 1
    assert "/nowhere/at-all: No such file" in told
    assert [one.state for one in memory.list_tickets(memory_id=candidate.id).items] == ["open"]
    empty = verify(variables | {"MEMLIFT_NAMESPACE": "none-such"}, "true")
    assert "memlift: 404" in empty.communicate(timeout=PATIENCE_SECONDS)[1]
    assert empty.returncode == 1


def test_a_candidate_that_is_leased_is_named_with_when_it_is_free(
    memory: MemLift, variables: dict[str, str]
):
    a_candidate(memory)
    [leased] = memory.claim_tickets("tester")

    command = verify(variables, "true")
    _, told = command.communicate(timeout=PATIENCE_SECONDS)

    assert command.returncode == 0
    assert f"ticket {leased.id} is leased to tester until {leased.lease_until}" in told


async def test_candidates_are_tried_by_a_loop_whether_it_waits_or_awaits(
    memory: MemLift, shared_server: Server, variables: dict[str, str]
):
    key, namespace = variables["MEMLIFT_KEY"], variables["MEMLIFT_NAMESPACE"]
    first = a_candidate(memory)
    with (
        MemLift(shared_server.url, key, namespace, agent="tester") as tester,
        tester.tickets(category="rain") as trials,
    ):
        for trial in trials:
            trial.reward(float(LESSON in trial.guideline), without=0.2)
    second = a_candidate(memory, "Look at the moon")
    async with (
        AsyncMemLift(shared_server.url, key, namespace, agent="tester") as waiting,
        waiting.tickets() as others,
    ):
        async for trial in others:
            trial.reward(float(LESSON in trial.guideline), without=0.2)

    assert [one.decision for one in trials.decided] == ["admitted"]
    assert [one.decision for one in others.decided] == ["rejected"]
    assert memory.get_experience(first.id).status == "active"
    assert memory.get_experience(second.id).status == "rejected"
