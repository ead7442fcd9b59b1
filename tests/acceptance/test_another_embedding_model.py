"""Another embedding model while the server serves: real models, real processes, real HTTP."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Event, Thread

import pytest
from memlift_client import MemLift, MemLiftProblem

from tests.acceptance.servers import ROOT, Home, Server, command, environment

PATIENCE_SECONDS = 120
SETTINGS = {"control_rate": 0, "slot_rate": 0, "coins": False, "meta_guidelines": False}
SUBJECTS = ("rain", "a regatta", "an election", "a queue", "a parser", "the price of wheat")
# The same weights in another dtype make other vectors, hence another model.
MODEL = ("--model", "all-MiniLM-L6-v2", "--dtype", "bfloat16")

Begin = Callable[..., Server]


@pytest.fixture(scope="module")
def server(used_home: Home, begin: Begin) -> Server:
    """Serves two namespaces of the default model."""
    server = begin(used_home).await_ready()
    for slug in ("moves", "stays"):
        server.client().create_namespace(slug, settings=SETTINGS)
        memory = server.client(slug)
        for one in SUBJECTS:
            for other in SUBJECTS[:4]:
                if one != other:
                    remember(memory, one, other)
    return server


def remember(memory: MemLift, one: str, other: str) -> None:
    memory.remember(
        agent="solver",
        situation=f"a forecast of {one} that depends on {other}",
        lesson=f"look at {other} first, then at {one}",
    )


def retrieved(memory: MemLift, task: str) -> set[str]:
    served = memory.retrieve(task, agent="solver", arm="on", explore=False, format="memories")
    return {str(row.lesson) for row in served.memories}


def moved(home: Home, *words: str) -> "subprocess.CompletedProcess[str]":
    return command("re-embed", *words, "--namespace", "moves", MEMLIFT_HOME=home.data)


def states(home: Home) -> dict[str, int]:
    """Vectors of the namespace by the state of their model."""
    found = moved(home, "--status", "--json")
    assert found.returncode == 0, found.stderr
    [namespace] = json.loads(found.stdout)
    return {one["state"]: one["vectors"] for one in namespace["models"]}


def test_a_run_that_is_killed_leaves_what_it_embedded(home: Home, server: Server) -> None:
    held = states(home)
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "server.cli", "re-embed", *MODEL),
            *("--namespace", "moves", "--rate", "2"),
        ],
        cwd=ROOT,
        env=environment({"MEMLIFT_HOME": str(home.data)}),
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while states(home).get("prepared", 0) < 2:
        assert running.poll() is None
        assert time.monotonic() < deadline
    running.send_signal(signal.SIGKILL)
    running.wait(PATIENCE_SECONDS)

    left = states(home)

    assert left["current"] == held["current"]
    assert 2 <= left["prepared"] < held["current"]
    assert retrieved(server.client("moves"), "a forecast of rain") != set()


def test_it_moves_while_it_is_written_to_and_only_its_own_server_refuses_it(
    home: Home, server: Server, begin: Begin
) -> None:
    before, already = states(home)["current"], states(home)["prepared"]
    memory, ended, refusals = server.client("moves", attempts=1), Event(), list[MemLiftProblem]()
    written: list[int] = []

    def keep_writing() -> None:
        # At a pace that any machine embeds at.
        while not ended.wait(0.5):
            try:
                remember(memory, f"wave {len(written)}", "the wind")
            except MemLiftProblem as problem:
                refusals.append(problem)
                return
            written.append(1)

    writer = Thread(target=keep_writing)
    writer.start()
    try:
        done = moved(home, *MODEL, "--json")
    finally:
        ended.set()
        writer.join(PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    [move] = json.loads(done.stdout)
    with pytest.raises(MemLiftProblem) as caught:
        retrieved(memory, "a forecast of rain")

    assert (move["state"], move["fit"]["misfits"]) == ("switched", [])
    assert move["fit"]["agreement"] > 0.9
    assert move["embedded"] == before - already + 2 * len(written)
    assert {(one.status, one.code) for one in refusals} <= {(503, "model_mismatch")}
    assert (caught.value.status, caught.value.code) == (503, "model_mismatch")
    assert retrieved(server.client("stays"), "a forecast of rain") != set()
    status, checks = server.readiness()
    assert (status, checks["model"]["ok"], checks["other_models"]["ok"]) == (200, True, False)

    other = begin(
        Home(home.data.with_name("other")),
        MEMLIFT_DATABASE_URL=home.url(),
        MEMLIFT_EMBEDDING_DTYPE="bfloat16",
    ).await_ready()
    there = other.client("moves", key=home.operator_key.read_text().strip())
    lessons = {row.lesson for row in there.each_experience()}
    assert len(lessons) == before // 2 + len(written)
    newest = f"a forecast of wave {len(written) - 1} that depends on the wind"
    assert f"look at the wind first, then at wave {len(written) - 1}" in retrieved(there, newest)

    finished = moved(home, "--finish")
    assert finished.returncode == 0, finished.stderr
    assert list(states(home)) == ["current"]
    assert retrieved(there, "a forecast of rain") != set()


def test_what_is_asked_of_the_command_is_told_in_a_sentence(home: Home, server: Server) -> None:
    several = command("re-embed", "--status", "--finish", MEMLIFT_HOME=home.data)
    nobody = command("re-embed", "--status", "--namespace", "nobody", MEMLIFT_HOME=home.data)

    assert several.returncode == 2
    assert "give one of --model, --status, --finish and --discard" in several.stderr
    assert (nobody.returncode, nobody.stderr) == (1, "memlift: no such namespace: nobody\n")
