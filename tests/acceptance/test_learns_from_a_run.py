"""A run that failed becomes a lesson by itself, is verified by another agent, and is served to the
next: real server, Postgres, embedder and HTTP; with a language model that says what the test tells
it to, and without one.
"""

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.acceptance.servers import Home, Server
from tests.fixtures.language_model import API_KEY, GOOD, Script

Begin = Callable[..., Server]
ATTEMPTS = 480
MONDAY = "Refund the hotel booking of a customer who paid with two vouchers"
TUESDAY = "Refund the hotel booking of a customer who paid with three vouchers"
STEPS = [
    {"role": "user", "text": "Please refund my booking. My password: hunter2secret9"},
    {
        "role": "assistant",
        "tool": "refund",
        "arguments": {"booking": "B-7781", "to": "voucher"},
    },
    {
        "role": "tool",
        "tool": "refund",
        "error": "Error: B-7781 was paid with more than one voucher",
    },
    {"role": "assistant", "text": "The refund is done."},
]
RULE = (
    'When `refund` fails with "<booking> was paid with more than one voucher", change the call or'
    " say that it did not work: it was not tried again, and the task failed."
)


class Agent:
    """Speaks to one namespace over plain HTTP."""

    def __init__(self, server: Server, name: str, namespace: str = "default") -> None:
        key = server.home.operator_key.read_text().strip()
        self.name = name
        self.place = f"{server.url}/v1/namespaces/{namespace}"
        self.headers = {"authorization": f"Bearer {key}"}

    def _ask(self, method: str, path: str, **parts: Any) -> Any:
        url = f"{self.place}{path}"
        answer = httpx.request(method, url, headers=self.headers, timeout=60, **parts)
        assert answer.is_success, answer.text
        return answer.json()

    def post(self, path: str, **body: object) -> Any:
        return self._ask("POST", path, json=body)

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def asks(self, task: str, **more: object) -> Any:
        about = {"text": task, "category": "support"}
        return self.post("/retrievals", agent=self.name, task=about, arm="on", **more)

    def awaits_a_ticket(self) -> Any:
        """Nobody runs a job: the server draws its lessons when outcomes come."""
        for _ in range(ATTEMPTS):
            claimed = self.post("/tickets/claims", agent=self.name)["items"]
            if claimed:
                return claimed[0]
            time.sleep(0.25)
        pytest.fail(f"no ticket; candidates: {self.get('/candidates')}")


def learn_from(server: Server, namespace: str) -> tuple[Any, str]:
    """Fail on Monday, have the lesson tried by another agent, ask on Tuesday; the lesson's memory,
    and the guideline that it stands in.
    """
    solver = Agent(server, "solver", namespace)
    tester = Agent(server, "tester", namespace)
    receipt = solver.asks(MONDAY)
    path = f"/retrievals/{receipt['retrieval_id']}/outcome"
    taken = solver.post(path, reward=0.0, verifier="test", run={"steps": STEPS})
    assert taken["run_id"]
    ticket = tester.awaits_a_ticket()
    trials = [{"slot": one["slot"], "reward": 1.0} for one in ticket["trials"]]
    done = tester.post(f"/tickets/{ticket['id']}/trials", agent="tester", trials=trials)
    assert done["decision"] == "admitted"
    advice = solver.asks(TUESDAY)
    receipt = solver.get(f"/retrievals/{advice['retrieval_id']}")
    served = {item["memory_id"] for item in receipt["items"] if item["served"]}
    assert ticket["memory_id"] in served
    return solver.get(f"/memories/{ticket['memory_id']}"), advice["guideline"]["text"]


def test_without_a_language_model_what_the_run_shows_is_served_the_next_time(
    used_home: Home, begin: Begin
) -> None:
    server = begin(used_home)
    server.await_ready()

    lesson, guideline = learn_from(server, "default")

    assert (lesson["lesson"], lesson["status"]) == (RULE, "active")
    assert "was paid with more than one voucher" in guideline
    beside = Agent(server, "solver").asks(TUESDAY, past_error=True)
    error = beside["past_error"]
    assert (error["said_by"], error["reward"], error["shown"]) == ("run", 0.0, True)
    assert error["similarity"] > 0.9
    assert f"on «{MONDAY}» failed" in error["text"]
    assert beside["guideline"]["text"].endswith(error["text"])
    assert "hunter2secret9" not in str(beside)
    assert Agent(server, "tester").asks(TUESDAY, past_error=True)["past_error"] is None
    assert server.stop() == 0


def test_with_a_language_model_the_lesson_it_draws_from_the_run_is_served(
    home: Home, begin: Begin, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = "Refund each voucher by a call of its own, and check the balance after each."
    monkeypatch.setitem(GOOD, "summarise", {"situation": MONDAY, "lesson": lesson})
    monkeypatch.setitem(GOOD, "compile", {"lines": [{"text": lesson, "cites": ["m1"]}]})
    server = begin(
        Home(home.data),
        MEMLIFT_LLM_MODEL="openai/stub",
        MEMLIFT_LLM_API_BASE=script.url,
        MEMLIFT_LLM_API_KEY=API_KEY,
        # A busy machine takes its time to load the library and to answer.
        MEMLIFT_LLM_COMPILE_TIMEOUT=30,
        MEMLIFT_LLM_TIMEOUT=180,
    )
    server.await_ready()
    # Where the other test's lesson about the same task is not: one of two such lessons may rest.
    operator = {"authorization": f"Bearer {server.home.operator_key.read_text().strip()}"}
    made = httpx.post(f"{server.url}/v1/namespaces", headers=operator, json={"slug": "drawn"})
    assert made.is_success, made.text
    # The library loads beside the first requests.
    solver = Agent(server, "solver")
    solver.post("/experiences", agent="solver", situation=MONDAY, lesson=lesson)
    for _ in range(ATTEMPTS):
        if solver.asks(TUESDAY)["compiler"].startswith("model/"):
            break
        time.sleep(0.5)
    else:
        pytest.fail("the language model wrote no guideline")

    memory, guideline = learn_from(server, "drawn")

    assert memory["lesson"] == lesson
    assert lesson in guideline
    [asked] = [one for one in script.asked if "went worse than expected" in str(one)]
    shown = asked["messages"][1]["content"]
    assert "2. assistant: calls refund(" in shown
    assert "was paid with more than one voucher" in shown
    assert "0.000; 0.5" in shown
    assert "hunter2secret9" not in shown
    assert server.stop() == 0
