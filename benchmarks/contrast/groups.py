"""Recorded runs by task: what the suite feeds to the server, and what it counts by itself.

The folder holds tasks.jsonl.gz (`task_id`, `kind`, `prompt`, `entry_point` of code) and
runs.jsonl.gz (`task_id`, `agent`, `success`, `answer`, `trajectory`). A maths run is its reasoning,
line by line; a code run is its answer, for its reasoning is not on record. A failed code run
without text is kept and has none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.streams.recorded import line_of, rows

CATEGORIES: Mapping[str, tuple[str, str]] = {
    "gsm8k": ("mathematics", "word problems"),
    "mbpp": ("programming", "small functions"),
    "humaneval": ("programming", "small functions"),
}
"""The suites' own labels."""

TAXONOMY: Mapping[str, object] = {
    "allow_new": False,
    "categories": [
        {
            "name": "mathematics",
            "description": "Word problems that give numbers and ask for a number",
            "subcategories": [
                {"name": "word problems", "description": "School arithmetic told as a story"}
            ],
        },
        {
            "name": "programming",
            "description": "Writing a program or a function that does what is described",
            "subcategories": [
                {"name": "small functions", "description": "A short Python function with tests"}
            ],
        },
    ],
}

DOMAINS: Mapping[str, frozenset[str]] = {
    "mathematics": frozenset(
        {
            "arithmetic",
            "algebra",
            "number theory",
            "counting and probability",
            "geometry",
            "functions and analysis",
        }
    ),
    "programming": frozenset(
        {
            "text and strings",
            "lists and tables",
            "numeric programs",
            "algorithms",
            "parsing and formats",
            "debugging",
            "software projects",
            "databases and queries",
        }
    ),
}
"""Which categories of the shipped taxonomy a label covers."""


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run; `text` is what there is to contrast, empty where none is on record."""

    agent: str
    success: bool
    steps: tuple[str, ...]
    result: str | None

    @property
    def text(self) -> str:
        return "\n".join(self.steps) or self.result or ""

    @property
    def family(self) -> str:
        return line_of(self.agent)


@dataclass(frozen=True, slots=True)
class Group:
    """A task and every run of it."""

    task: str
    prompt: str
    entry_point: str | None
    runs: tuple[Run, ...]

    @property
    def suite(self) -> str:
        return self.task.split("-", maxsplit=1)[0]

    @property
    def digest(self) -> str:
        return sha256(self.task.encode()).hexdigest()

    @property
    def differs(self) -> bool:
        """Whether some agents solved it and others did not."""
        return len({run.success for run in self.runs}) > 1

    @property
    def distillable(self) -> bool:
        """Whether a success and a failure of two agents have text."""
        told = [run for run in self.runs if run.text]
        return any(
            one.success and not other.success and one.agent != other.agent
            for one in told
            for other in told
        )


def read_groups(folder: Path) -> list[Group]:
    """All tasks in order of the sha256 of their id. Raises BadStream."""
    runs: dict[str, list[Mapping[str, object]]] = {}
    for row in rows(folder / "runs.jsonl.gz"):
        runs.setdefault(str(row["task_id"]), []).append(row)
    tasks = rows(folder / "tasks.jsonl.gz")
    found = [_group(task, runs.get(str(task["task_id"]), [])) for task in tasks]
    return sorted(found, key=lambda group: group.digest)


def _group(task: Mapping[str, object], runs: Sequence[Mapping[str, object]]) -> Group:
    entry_point = task.get("entry_point")
    return Group(
        task=str(task["task_id"]),
        prompt=str(task["prompt"]),
        entry_point=None if entry_point is None else str(entry_point),
        runs=tuple(_run(row, reasoned=task["kind"] == "math") for row in runs),
    )


def _run(row: Mapping[str, object], *, reasoned: bool) -> Run:
    answer = row["answer"]
    lines = [line for line in str(row["trajectory"]).splitlines() if line.strip()]
    return Run(
        agent=str(row["agent"]),
        success=bool(row["success"]),
        steps=tuple(lines) if reasoned else (),
        result=None if answer is None else str(answer),
    )
