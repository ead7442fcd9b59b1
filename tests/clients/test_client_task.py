"""The run of a task, as one block of code: what it asks, what it reports, and what it leaves."""

import inspect
import os
import subprocess
import sys
from uuid import UUID

import httpx
import memlift_client
import pytest
from memlift_client import (
    AsyncMemLift,
    ConfigurationError,
    MemLift,
    MemLiftProblem,
    OutcomeTaken,
    Retrieval,
)
from memlift_client import _operations as ops
from memlift_client._asking import ask
from memlift_client.command import connect
from scripted_server import QUICK, Script, a_problem, an_answer

from tests.fixtures.answers import a_document

URL = "http://memlift.test"
GUIDELINE = {
    **a_document(Retrieval)["guideline"],
    "text": "- ask for proof [m1]",
    "citations": {"m1": "m-1"},
}
SERVED = a_document(Retrieval, retrieval_id="r-1", guideline=GUIDELINE)
TAKEN = a_document(OutcomeTaken, warnings=[])


def a_script(*more):
    return Script(an_answer(201, SERVED), *(more or (an_answer(202, TAKEN),)))


def a_client(script: Script) -> MemLift:
    return MemLift(URL, "ml_k", agent="bot", retry_policy=QUICK, transport=script.transport())


def an_async_client(script: Script) -> AsyncMemLift:
    transport = httpx.MockTransport(script)
    return AsyncMemLift(URL, "ml_k", agent="bot", retry_policy=QUICK, transport=transport)


def paths(script: Script) -> list[str]:
    return [request.url.path.removeprefix("/v1/namespaces/default") for request in script.requests]


def test_a_block_asks_tells_children_of_its_receipt_and_reports_at_its_end():
    script = a_script()

    with a_client(script).task("Refund 8812", category="billing", key="t-1", trace_id="x") as t:
        child = [sys.executable, "-c", "import os; print(os.environ['MEMLIFT_RECEIPT'])"]
        told = subprocess.run(child, capture_output=True, text=True, check=True).stdout
        t.reward(0.8)
        cited = t.cited(f"I asked for proof [m1]. {t.guideline[:0]}")

    assert (told.strip(), cited, t.key) == ("r-1", ["m-1"], "t-1")
    assert paths(script) == ["/retrievals", "/retrievals/r-1/outcome"]
    asked, reported = script.bodies()
    task = {"text": "Refund 8812", "key": "t-1", "category": "billing"}
    assert asked == {"agent": "bot", "task": task, "trace_id": "x"}
    assert reported == {"reward": 0.8, "used": ["m-1"]}
    assert t.outcome is not None
    assert "MEMLIFT_RECEIPT" not in os.environ


def test_an_exception_is_reward_zero_by_the_agents_own_word_and_rises_as_it_was():
    script = a_script()

    with pytest.raises(ZeroDivisionError), a_client(script).task("T", reward_kind="binary"):
        _ = 1 / 0

    assert script.bodies()[1] == {"reward": 0.0, "verifier": "self", "reward_kind": "binary"}


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_run_that_was_ended_from_outside_stays_pending(ending):
    script = a_script()

    with pytest.raises(ending), a_client(script).task("T"):
        raise ending

    assert paths(script) == ["/retrievals"]


def test_a_block_without_a_reward_leaves_its_receipt_pending():
    script = a_script()

    with a_client(script).task("T") as t:
        t.cited("nothing of it")

    assert paths(script) == ["/retrievals"]
    assert t.receipt == "r-1"


def test_what_memlift_refuses_inside_a_block_is_no_failure_of_the_run():
    script = a_script(a_problem(422, "rejected"))
    memory = a_client(script)

    with pytest.raises(MemLiftProblem), memory.task("T"):
        memory.remember(agent="bot", situation="S", lesson="")

    assert paths(script) == ["/retrievals", "/experiences"]


def test_a_failure_whose_report_is_refused_rises_and_says_so():
    script = a_script(a_problem(409, "other_metric"))

    with pytest.raises(ZeroDivisionError) as raised, a_client(script).task("T"):
        _ = 1 / 0

    assert "other_metric" in raised.value.__notes__[0]


def test_a_reward_that_is_refused_is_not_swallowed():
    script = a_script(a_problem(409, "other_metric"))

    with pytest.raises(MemLiftProblem, match="other_metric"), a_client(script).task("T") as t:
        t.reward(1)


def test_without_a_server_the_run_goes_on_without_advice(caplog):
    # A command that ran in this process before has made the logger quieter.
    caplog.set_level("WARNING", "memlift_client")
    script = Script(httpx.ConnectError("refused"))

    with a_client(script).task("T") as t:
        t.reward(1)

    assert (t.served, t.receipt, t.guideline, t.outcome) == (None, None, "", None)
    assert "no advice" in caplog.text


def test_runs_inside_one_another_give_each_its_own_receipt_back(monkeypatch):
    monkeypatch.setenv("MEMLIFT_RECEIPT", "outer")
    inner = Script(an_answer(201, {**SERVED, "retrieval_id": "r-2"}), an_answer(202, TAKEN))

    first, second = a_client(a_script()).task("T"), a_client(inner).task("U")
    first.__enter__()
    with second as other:
        assert os.environ["MEMLIFT_RECEIPT"] == other.environment["MEMLIFT_RECEIPT"] == "r-2"
        first.__exit__(None, None, None)
        assert os.environ["MEMLIFT_RECEIPT"] == "r-2"

    assert os.environ["MEMLIFT_RECEIPT"] == "outer"


async def test_the_same_for_code_that_awaits():
    script = a_script()

    async def fail() -> None:
        async with an_async_client(script).task("T", agent="other") as t:
            t.cited("done [m1]")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await fail()

    asked, reported = script.bodies()
    assert asked["agent"] == "other"
    assert reported == {"reward": 0.0, "verifier": "self", "used": ["m-1"]}


def test_a_function_learns_each_call_a_run():
    script = a_script()

    @a_client(script).learn(category="billing", reward=lambda answer: "proof" in answer)
    def refund_invoice(invoice: int, guideline: str) -> str:
        """Refund an invoice."""
        return f"{invoice}: asked for proof [m1]" if guideline else "refunded"

    answer = refund_invoice(8812)

    assert answer == "8812: asked for proof [m1]"
    assert list(inspect.signature(refund_invoice).parameters) == ["invoice"]
    asked, reported = script.bodies()
    assert asked["task"] == {"text": "Refund an invoice: invoice=8812", "category": "billing"}
    assert reported == {"reward": 1.0, "used": ["m-1"]}


def test_a_function_is_handed_the_run_and_words_its_tasks_itself():
    script = a_script()

    @a_client(script).learn("Refund invoice {invoice}")
    def refund(invoice, task):
        task.reward(0.25)
        raise ValueError(invoice)

    with pytest.raises(ValueError, match="7"):
        refund(invoice=7)

    asked, reported = script.bodies()
    assert asked["task"] == {"text": "Refund invoice 7"}
    assert reported == {"reward": 0.25}


async def test_a_function_that_is_awaited_learns_too():
    script = a_script()

    @an_async_client(script).learn(lambda invoice: f"Refund {invoice}")
    async def refund(invoice, guideline):
        return guideline

    assert await refund(1) == "- ask for proof [m1]"
    assert script.bodies()[0]["task"] == {"text": "Refund 1"}
    assert paths(script) == ["/retrievals"]


def test_a_function_that_could_not_learn_is_refused_when_it_is_made():
    memory = a_client(a_script())

    async def awaited(guideline): ...

    with pytest.raises(TypeError, match="neither guideline nor task"):
        memory.learn()(lambda invoice: invoice)
    with pytest.raises(TypeError, match="AsyncMemLift"):
        memory.learn()(awaited)
    with pytest.raises(TypeError, match="let MemLift teach it"):
        an_async_client(a_script()).learn()(lambda guideline: guideline)


def test_a_text_alone_is_retrieved_for():
    script = a_script(an_answer(201, SERVED))

    a_client(script).retrieve("Cancel order 17", k=1)
    a_client(script).retrieve(task="Cancel order 17", k=1)

    asked = {"agent": "bot", "task": {"text": "Cancel order 17"}, "k": 1}
    assert script.bodies() == [asked, asked]


def test_what_may_be_asked_by_text_is_all_that_the_contract_takes():
    ours, theirs = (inspect.signature(one).parameters.keys() for one in (ask, ops.create_retrieval))

    assert ours - theirs == {"text"}
    assert theirs - ours == set()


def test_a_name_that_is_unknown_and_an_id_that_is_none_say_what_was_expected():
    memory = a_client(a_script())

    with pytest.raises(
        TypeError, match=r"report\(\): there is no 'rewrad' to send: did you mean 'reward'"
    ):
        memory.report("r-1", rewrad=1)
    with pytest.raises(TypeError, match="the `receipt` of what was retrieved, not a Retrieval"):
        memory.report(memory.retrieve("T"), reward=1)
    with pytest.raises(TypeError, match="one of them"):
        memory.retrieve("T", task_id="x")


@pytest.mark.parametrize("make", [a_client, an_async_client])
def test_a_call_that_lacks_something_says_its_own_name_and_what_it_needs(make):
    memory = make(a_script())
    lacking = r"^remember\(\): lesson missing; it needs lesson, situation$"

    with pytest.raises(TypeError, match=lacking):
        memory.remember(situation="S")
    with pytest.raises(TypeError, match=r"^worth\(\): memory_id missing; it needs memory_id$"):
        memory.worth()
    with pytest.raises(TypeError, match=r"^remember\(\) takes 0 positional arguments"):
        memory.remember("S", agent="a", situation="S", lesson="L")


def test_an_id_may_be_a_uuid():
    script = Script(an_answer(202, TAKEN))
    one = UUID("019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071")

    a_client(script).report(one, reward=1)

    assert paths(script) == [f"/retrievals/{one}/outcome"]


def test_the_rules_of_use_are_a_constant():
    assert MemLift.system_prompt() == AsyncMemLift.system_prompt() == memlift_client.SYSTEM_PROMPT


@pytest.fixture
def bare(monkeypatch, tmp_path):
    for name in ("MEMLIFT_URL", "MEMLIFT_KEY", "MEMLIFT_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    home = tmp_path / "memlift"
    home.mkdir()
    return home


def test_a_server_of_this_machine_is_found_in_its_home(bare, monkeypatch):
    (bare / "operator.key").write_text("ml_home\n")

    by_custom = MemLift.from_home()
    (bare / "url").write_text("http://127.0.0.1:8123\n")
    named = MemLift.from_home(bare, "acme", agent="bot")
    monkeypatch.setenv("MEMLIFT_URL", "http://elsewhere:9")
    monkeypatch.setenv("MEMLIFT_KEY", "ml_set")
    told = AsyncMemLift.from_home()

    seen = [(one._connection.url, one._connection.key) for one in (by_custom, named, told)]
    assert seen == [
        ("http://127.0.0.1:8000", "ml_home"),
        ("http://127.0.0.1:8123", "ml_home"),
        ("http://elsewhere:9", "ml_set"),
    ]
    assert (named._connection.namespace, named.agent) == ("acme", "bot")


@pytest.mark.parametrize("url", ["http://elsewhere:9", "http://127.0.0.1.example.com", "//x"])
def test_the_key_of_this_machine_is_sent_to_no_other(bare, monkeypatch, url):
    (bare / "operator.key").write_text("ml_home")
    (bare / "url").write_text("https://here.example.com")
    for own in ("http://localhost:8123", "http://[::1]:8", "https://here.example.com/"):
        monkeypatch.setenv("MEMLIFT_URL", own)
        assert MemLift.from_home()._connection.key == "ml_home"

    with pytest.raises(ConfigurationError, match="is not sent to"):
        connect(url=url, key_file=None, namespace="default")
    monkeypatch.setenv("MEMLIFT_URL", url)
    with pytest.raises(ConfigurationError, match="name a key of that server"):
        MemLift.from_home()


def test_a_key_file_is_for_the_server_of_the_home_that_is_named(bare, monkeypatch, tmp_path):
    other, boss = tmp_path / "other", tmp_path / "boss.key"
    other.mkdir()
    boss.write_text("ml_boss\n")
    (bare / "url").write_text("http://127.0.0.1:8001\n")
    (other / "url").write_text("http://127.0.0.1:8002\n")
    monkeypatch.setenv("MEMLIFT_HOME", str(bare))

    def reached(home):
        memory = connect(url=None, key_file=str(boss), namespace="default", home=home)
        return memory._connection.url, memory._connection.key

    assert reached(other) == ("http://127.0.0.1:8002", "ml_boss")
    assert reached(None) == ("http://127.0.0.1:8001", "ml_boss")
    (other / "url").unlink()
    with pytest.raises(ConfigurationError, match="no server runs in"):
        reached(other)


def test_a_home_without_a_key_says_where_it_was_looked_for(bare):
    with pytest.raises(ConfigurationError) as raised:
        MemLift.from_home(bare / "other")

    assert str(bare / "other") in str(raised.value)
    assert "memlift serve" in str(raised.value)


NAN = float("nan")
NO_REWARD = "reward must be a number from 0 to 1, not nan"


def test_a_reward_that_is_no_number_is_refused_by_name():
    memory = a_client(a_script())

    with pytest.raises(ConfigurationError, match=f"^{NO_REWARD}"):
        memory.report("r-1", reward=NAN)
    with pytest.raises(ConfigurationError, match=rf"^without\.{NO_REWARD}"):
        memory.report("r-1", reward=1, without={"reward": NAN})
    with pytest.raises(ConfigurationError, match=f"^{NO_REWARD}"), memory.task("Refund") as t:
        t.reward(NAN)

    assert t.outcome is None


async def test_awaited_a_reward_that_is_no_number_is_refused_by_name():
    async with an_async_client(a_script()) as memory:
        with pytest.raises(ConfigurationError, match=f"^{NO_REWARD}"):
            await memory.report("r-1", reward=NAN)
        with pytest.raises(ConfigurationError, match=r"^steps\.0\.cost must be a finite number"):
            await memory.add_trajectory(agent="bot", steps=[{"action": "A", "cost": NAN}])
        with pytest.raises(ConfigurationError, match=f"^{NO_REWARD}"):
            async with memory.task("Refund") as t:
                t.reward(NAN)
