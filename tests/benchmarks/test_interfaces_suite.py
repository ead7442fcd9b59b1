"""The suite `interfaces`: what counts as a user's line, targets on rows, turns, and the table."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks.interfaces.adapters import ADAPTERS, EXAMPLES, PLAIN, ROOT, WATCH, Adapter
from benchmarks.interfaces.alternation import EndedEarly, alternate
from benchmarks.interfaces.lines import count_lines
from benchmarks.suites import interfaces as suite

PYTHON = """
    import os
    from memlift_client import MemLift
    from mine import act, TASKS

    memory = MemLift.from_home(
        agent="bot",
    )
    memory.remember(agent="author", situation="s", lesson="l")


    @memory.learn("{wish}")
    def solve(wish, guideline):
        answer = act(wish, guideline)
        return answer


    for task in TASKS:
        with memory.task(task) as t:
            answer = act(task, t.guideline)
            print(answer)
            t.reward(1)
    agent = Agent(tools=[memory])
    agent.run(TASKS)
    print(memory.get_experience("m").effective_weight)
"""
SCRIPT = """
    // memlift in a comment
    import { MemLift } from "memlift";
    const memory = MemLift.fromHome();
    const answer = act(task);
    await memory.withTask(task, async (t) => {
      t.reward(1);
    });
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        # import, memory, decorator, with, guideline, reward, agent
        ("a.py", PYTHON, 7),
        ("a.py", "def test_it(memlift_task):\n    t = memlift_task('x')\n    assert act(t)\n", 3),
        ("a.py", "KEY = os.environ['MEMLIFT_KEY']\nother = os.environ['PATH']\n", 1),
        ("a.mjs", SCRIPT, 4),
        ("a.sh", "memlift ask x\nmake test\nmemlift report --run -- make test\n", 2),
        ("a.json", '{\n  "mcpServers": {\n    "url": "x"\n  }\n}\n', 2),
    ],
)
def test_only_lines_that_are_there_for_memlift_count(
    tmp_path: Path, name: str, text: str, lines: int
) -> None:
    (tmp_path / name).write_text(dedent(text), encoding="utf-8")

    assert count_lines(tmp_path / name) == lines


def test_every_example_that_is_here_is_short_enough() -> None:
    here = [one for one in ADAPTERS if (ROOT / one.example).exists()]

    counted = {one.name: count_lines(ROOT / one.example) for one in here}

    assert len(counted) >= 7
    assert {name: n for name, n in counted.items() if not 1 <= n <= suite.LINES} == {}
    assert len({one.name for one in ADAPTERS}) == len(ADAPTERS)


def test_a_way_in_that_is_not_here_says_why() -> None:
    missing = Adapter("x", Path("clients/nowhere/x.py"), lambda _: (sys.executable,))
    modules = Adapter("x", EXAMPLES / "plain.py", lambda _: (sys.executable,), ("no_such_thing",))
    command = Adapter("x", EXAMPLES / "plain.py", lambda _: (f"{ROOT}/.venv-none/python",))

    assert missing.absent() == "clients/nowhere/x.py is not there"
    assert modules.absent() == "no_such_thing is not installed"
    assert command.absent() == ".venv-none/python is not there"
    assert PLAIN.absent() is None


def number(operation: str, value: float) -> dict[str, object]:
    return {"operation": operation, "value": value, "unit": "runs"}


def timing(operation: str, ms: float) -> dict[str, object]:
    return {"operation": operation, "concurrency": 1, "at": 0.0, "ms": ms, "ok": True}


def test_targets_are_computed_from_rows_alone() -> None:
    rows = [
        number("python_task: lines", 6),
        number("python_task: runs", 20),
        number("python_task: answered", 18),
        number("python_task: handed", 20),
        number("python_task: used", 20),
        *(timing("python_task", ms) for ms in (30, 50, 41)),
        *(timing("python_task, plain", ms) for ms in (25, 35, 40)),
        number("ag2: processor, ours", 4.5),
        number("ag2: processor, http", 20),
        number("dspy: not run: dspy is not installed", 0),
        number("MCP over HTTP: loop", 1),
        number("MCP over HTTP: prompt", 0),
    ]

    found = {one.name: one for one in suite.targets(rows)}

    told = {name: (one.measured, one.status) for name, one in found.items()}
    assert told["python_task: lines"] == (6, "met")
    assert told["python_task: runs with an outcome"] == (0.9, "missed")
    assert told["python_task: runs with used"] == (1, "met")
    assert told["python_task: ms over plain HTTP"] == (5, "met")
    assert found["python_task: ms over plain HTTP"].parts == {"pairs": 3, "ms": 41, "ms plain": 35}
    assert told["dspy: lines (dspy is not installed)"] == (None, "not_run")
    watched = "ms of the processor besides its requests"
    assert told[f"ag2: {watched}"] == (4.5, "met")
    assert found[f"ag2: {watched}"].parts == {"ours": 4.5, "http": 20}
    assert told[f"dspy: {watched} (dspy is not installed)"] == (None, "not_run")
    assert told["command: ms over plain HTTP (a process for each task)"] == (None, "not_run")
    assert not any(name.startswith("command: runs with used") for name in told)
    assert told["MCP over HTTP: checks"] == (0.5, "missed")
    assert told["MCP in process: checks"] == (None, "not_run")


PLAYER = """
from benchmarks.interfaces.agent import TASKS, act
for task in TASKS:
    assert "[m1]" in act(task, "Ask first [m1]")
"""


def test_two_ways_in_take_turns_until_all_tasks_are_done() -> None:
    words = (sys.executable, "-c", PLAYER)

    turns = alternate(words, words, {"PYTHONPATH": str(ROOT)}, tasks=5)

    assert len(turns.first) == len(turns.second) == 4
    both = sorted(turns.first + turns.second, key=lambda one: one.at)
    assert all(one.at + one.ms / 1000 <= later.at for one, later in pairwise(both))


@pytest.mark.parametrize(
    ("program", "said"),
    [("raise SystemExit('no key')", "no key"), (PLAYER + "raise OSError('full')", "full")],
)
def test_a_way_in_that_ends_early_is_told_what_it_said(program: str, said: str) -> None:
    words = (sys.executable, "-c", program)

    with pytest.raises(EndedEarly, match=said):
        alternate(words, words, {"PYTHONPATH": str(ROOT)}, tasks=2)


WATCHED = """
from memlift_agents.fit import Fit
from spinning import spin
fit = Fit()
fit.ask(spin)
"""
ADAPTER = """
from spinning import spin
class Fit:
    def __init__(self):
        for _ in range(200):
            self.ready()
    def ready(self):
        pass
    def ask(self, handler):
        self.own()
        handler()
    def own(self):
        for _ in range(40):
            sum(range(10_000))
"""


def test_time_belongs_to_whose_code_it_is(tmp_path: Path) -> None:
    """A framework's handler that an adapter calls is the framework's, what it makes is set up."""
    packages = tmp_path / "site-packages"
    (packages / "memlift_agents").mkdir(parents=True)
    (packages / "memlift_agents" / "fit.py").write_text(ADAPTER, encoding="utf-8")
    spin = "def spin():\n    for _ in range(400):\n        sum(range(10_000))\n"
    (packages / "spinning.py").write_text(spin, encoding="utf-8")
    (tmp_path / "example.py").write_text(WATCHED, encoding="utf-8")

    ended = subprocess.run(
        [sys.executable, ROOT / WATCH, tmp_path / "example.py", "3"],
        env={"PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=True,
    )

    spent = json.loads(ended.stdout)
    assert set(spent) == {"framework", "ours", "setup"}
    assert 0 < spent["ours"] < spent["framework"]
