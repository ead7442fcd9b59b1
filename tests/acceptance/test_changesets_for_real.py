"""Failures alike become one changeset, and a lesson turned down is written anew: real server,
Postgres, embedder and HTTP, with a language model that says what the test tells it to.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.servers import Home, Server
from tests.acceptance.test_learns_from_a_run import ATTEMPTS, STEPS, Agent
from tests.fixtures.language_model import API_KEY, GOOD, Script

Begin = Callable[..., Server]
TASK = "Refund the hotel booking of a customer who paid with {} vouchers"
LESSON = "Refund all vouchers by one call."
BETTER = "Refund each voucher by a call of its own, and check the balance after each."
ANEW = "Read the booking before anything is refunded, for it names the way it was paid."


def begun(home: Home, begin: Begin, script: Script) -> Server:
    server = begin(
        Home(home.data),
        MEMLIFT_LLM_MODEL="openai/stub",
        MEMLIFT_LLM_API_BASE=script.url,
        MEMLIFT_LLM_API_KEY=API_KEY,
        # A busy machine takes its time to load the library and to answer.
        MEMLIFT_LLM_COMPILE_TIMEOUT=30,
        MEMLIFT_LLM_TIMEOUT=180,
        MEMLIFT_LLM_QUERY_TIMEOUT=0,
    )
    server.await_ready()
    solver = Agent(server, "solver")
    solver.post("/experiences", agent="solver", situation=TASK.format(9), lesson=LESSON)
    awaited(lambda: solver.asks(TASK.format(9))["compiler"].startswith("model/"))
    return server


def awaited(found: Callable[[], Any]) -> Any:
    for _ in range(ATTEMPTS):
        if result := found():
            return result
        time.sleep(0.5)
    pytest.fail("what was waited for did not come")


def ran(solver: Agent, task: str, reward: float, **more: object) -> None:
    receipt = solver.asks(task, explore=False)
    path = f"/retrievals/{receipt['retrieval_id']}/outcome"
    solver.post(path, reward=reward, verifier="test", **more)


def claimed(tester: Agent, rule: str) -> Any:
    """A ticket that is decided so; what else is claimed on the way stays with the tester."""

    def one() -> Any:
        found = tester.post("/tickets/claims", agent=tester.name, limit=64)["items"]
        return next((ticket for ticket in found if ticket["rule"] == rule), None)

    return awaited(one)


def tried(tester: Agent, ticket: Any, reward: float) -> Any:
    trials = [{"slot": one["slot"], "reward": reward} for one in ticket["trials"]]
    return tester.post(f"/tickets/{ticket['id']}/trials", agent=tester.name, trials=trials)


def test_a_changeset_and_a_repair_over_http(
    home: Home, begin: Begin, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = {"change": "edit", "note": "m1", "situation": TASK.format("several"), "lesson": BETTER}
    monkeypatch.setitem(GOOD, "revise", {"changes": [change]})
    monkeypatch.setitem(GOOD, "repair", {"situation": TASK.format("some"), "lesson": ANEW})
    server = begun(home, begin, script)
    solver, tester = Agent(server, "solver"), Agent(server, "tester")
    for number in range(7):
        ran(solver, f"Book a table for {number + 2} people", 1.0)
    for number in ("two", "three", "four"):
        ran(solver, TASK.format(number), 0.0, run={"steps": STEPS})

    one = awaited(lambda: solver.get("/changesets?state=proposed")["items"])[0]

    assert (len(one["outcome_ids"]), one["family"]) == (3, "agent solver")
    [edit] = one["changes"]
    assert (edit["old_lesson"], edit["lesson"]) == (LESSON, BETTER)
    [asked] = [body for body in script.asked if "Several attempts" in str(body)]
    assert "hunter2secret9" not in str(asked)

    # What was claimed before it was decided on waits under the lease of the same tester.
    lesson = claimed(tester, "gain")
    assert tried(tester, lesson, 0.0)["decision"] == "rejected"
    solver.post("/jobs/acquire/runs")
    again = solver.get(f"/memories/{lesson['memory_id']}")
    assert (again["lesson"], again["version"], again["status"]) == (ANEW, 2, "proposed")

    ticket = solver.get(f"/tickets/{one['ticket_id']}")
    if ticket["state"] == "open":
        claimed(tester, "wins")
    done = tried(tester, ticket, 1.0)
    assert (done["decision"], done["rule"]) == ("admitted", "wins")
    assert solver.get(f"/changesets/{one['id']}")["state"] == "applied"
    assert solver.get(f"/memories/{edit['replaces']}")["status"] == "retired"
    assert solver.get(f"/memories/{edit['memory_id']}")["status"] == "active"

    back = solver.post(f"/changesets/{one['id']}/undo")

    assert back["state"] == "undone"
    assert solver.get(f"/memories/{edit['replaces']}")["status"] == "active"
    assert server.stop() == 0
