"""Recorded runs of agents, as the suite brings them and as checks see them.

The folder holds `agent_runs/` (tools and questions: `tasks.jsonl.gz`, `runs.jsonl.gz`) and, where
there is one, `trajectories/` (arithmetic and code). A bucket is a task's `category`; of
trajectories, the suite that the task's id begins with. Runs without words are left out.

Tasks are parted by the sha1 of their `split_key` (of the id where there is none): even ones are for
admission, odd ones for measuring. Of a file whose keys all have the same lowest bit, the lowest bit
counts in which they differ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Any, cast

from benchmarks.streams.recorded import line_of, rows
from memory.constraints.checks.library import examine
from memory.constraints.checks.trials import TriedRun
from memory.constraints.observing import observe
from memory.tasks.run_entities import Step

AGENT_RUNS, TRAJECTORIES = "agent_runs", "trajectories"
FINISH = "Finish"
"""The tool by which an answer is handed in: its argument is the run's result."""
BITS = 160
EXPECTED_BYTES = 4_000
TEXT = 4_000
"""So many characters of a task's text are brought."""


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """A task; `held` ones are not used for admission."""

    key: str
    category: str
    text: str
    expected: Sequence[Mapping[str, object]]
    held: bool


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run with a verified result; `steps` as the server takes them."""

    id: str
    task: RecordedTask
    variant: str | None
    agent: str
    family: str
    right: bool
    steps: Sequence[Mapping[str, object]]
    result: str | None

    def body(self, known_at: str) -> dict[str, object]:
        """As it is brought over HTTP."""
        task: dict[str, object] = {
            "key": self.task.key,
            "text": self.task.text,
            "category": self.task.category,
        }
        if self.task.expected and len(str(self.task.expected)) < EXPECTED_BYTES:
            task["metadata"] = {"expected_actions": list(self.task.expected)}
        body: dict[str, object] = {
            "agent": self.agent,
            "task": task,
            "steps": list(self.steps),
            "result": self.result,
            "reward": float(self.right),
            "verifier": "test",
            "task_variant": self.variant,
            "known_at": known_at,
        }
        return {name: value for name, value in body.items() if value is not None}

    def tried(self) -> TriedRun:
        """As the test of admission takes it."""
        steps = [Step(**cast("dict[str, Any]", dict(step))) for step in self.steps]
        return TriedRun(
            id=self.id,
            task=self.task.key,
            variant=self.variant or "",
            agent=self.agent,
            family=self.family,
            right=self.right,
            findings=examine(observe(self.task.text, steps, self.result)),
        )


def read_runs(folder: Path) -> list[RecordedRun]:
    """All runs with words, in the order of the sha1 of their tasks. Raises BadStream."""
    found = [*_agent_runs(folder / AGENT_RUNS)]
    if (folder / TRAJECTORIES).is_dir():
        found += _trajectories(folder / TRAJECTORIES)
    return sorted(found, key=lambda run: (_number(run.task.key), run.id))


def _number(key: str) -> int:
    return int(sha1(key.encode(), usedforsecurity=False).hexdigest(), 16)


def _held(keys: Iterable[str]) -> dict[str, bool]:
    """Which keys are held out: by the lowest bit of the sha1 in which they differ."""
    numbers = {key: _number(key) for key in keys}
    for bit in range(BITS):
        sides = {number >> bit & 1 for number in numbers.values()}
        if len(sides) > 1:
            return {key: bool(number >> bit & 1) for key, number in numbers.items()}
    return dict.fromkeys(numbers, False)


def _agent_runs(folder: Path) -> Iterator[RecordedRun]:
    known = {str(row["id"]): row for row in rows(folder / "tasks.jsonl.gz")}
    keys = {name: str(row.get("split_key") or name) for name, row in known.items()}
    held = _held(keys.values())
    tasks = {name: _task(name, row, held=held[keys[name]]) for name, row in known.items()}
    for row in rows(folder / "runs.jsonl.gz"):
        steps = cast("list[dict[str, Any]]", row["steps"] or [])
        if steps:
            before, answer = _until_answer(steps)
            variant = row["task_variant"]
            yield RecordedRun(
                id=str(row["id"]),
                task=tasks[str(row["task_id"])],
                variant=None if variant is None else str(variant),
                agent=f"{row['agent']} {row['model']}",
                family=str(row["family"]),
                right=bool(row["success"]),
                steps=[told for step in before if (told := _step(step))],
                result=answer,
            )


def _task(name: str, row: Mapping[str, Any], *, held: bool) -> RecordedTask:
    actions = cast("list[dict[str, Any]]", row.get("gold_actions") or [])
    return RecordedTask(
        key=name,
        category=str(row["category"]),
        text=str(row["text"])[:TEXT],
        expected=[{"tool": one["tool"], "arguments": one.get("args")} for one in actions],
        held=held,
    )


def _until_answer(
    steps: Sequence[Mapping[str, Any]],
) -> tuple[Sequence[Mapping[str, Any]], str | None]:
    """What came before an answer was handed in, and the answer. What is said to the answer is its
    verdict, which no check may see.
    """
    for place, step in enumerate(steps):
        if step["role"] == "call" and step["tool"] == FINISH:
            return steps[:place], str(step["args"].get("q") or "").strip() or None
    return steps, None


def _step(step: Mapping[str, Any]) -> dict[str, object] | None:
    """As the server takes it; None where nothing is said."""
    role, text = str(step["role"]), str(step.get("text") or "")
    if role in ("call", "user_call"):
        side = "assistant" if role == "call" else "user"
        return {"role": side, "tool": step["tool"], "arguments": step["args"] or {}}
    if role in ("tool", "user_tool"):
        told = {"error" if step.get("error") else "result": text} if text.strip() else {}
        return {"role": "tool", "tool": step["tool"], **told}
    return {"role": role, "text": text} if text.strip() else None


def _trajectories(folder: Path) -> Iterator[RecordedRun]:
    known = {str(row["task_id"]): row for row in rows(folder / "tasks.jsonl.gz")}
    held = _held(known)
    for row in rows(folder / "runs.jsonl.gz"):
        name, agent = str(row["task_id"]), str(row["agent"])
        task = known[name]
        reasoned = task["kind"] == "math"
        lines = str(row["trajectory"]).splitlines() if reasoned else []
        answer = row["answer"]
        if not (lines or answer):
            continue
        yield RecordedRun(
            id=f"{name}#{agent}",
            task=RecordedTask(
                key=name,
                category=name.split("-", maxsplit=1)[0],
                text=str(task["prompt"])[:TEXT],
                expected=(),
                held=held[name],
            ),
            variant=None,
            agent=agent,
            family=line_of(agent),
            right=bool(row["success"]),
            steps=[{"role": "assistant", "text": line} for line in lines if line.strip()],
            result=None if answer is None else str(answer),
        )
