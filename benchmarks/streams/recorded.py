"""Recorded runs as a stream, each a question whether this agent will solve this task.

The folder holds tasks.jsonl.gz (`task_id`, `prompt`) and runs.jsonl.gz (`task_id`, `agent`,
`success`), runs of several agents on the same tasks. Tasks come in order of the sha256 of their
id, 50 a batch, a batch a day; every run of a task is a question of that day, and its result is
known the day after. The source of a question is the suite and the agent it asks about; the agent
that forecasts is that agent's line, so that several agents share one memory.
"""

import gzip
import json
from collections.abc import Mapping
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

from clients.demo.streams import BadStream, Question, Resolution, Stream

NAME = "trajectories"
FIRST_DAY = date(2026, 1, 5)
TASKS_A_DAY = 50
LINES = ("6b", "175b", "gpt-3.5", "gpt-4")
DAVINCI = "davinci"


def read_recorded(folder: Path) -> tuple[Stream, Mapping[str, str]]:
    """The stream, and the line of agents that forecasts each question, by its id."""
    tasks = {str(row["task_id"]): str(row["prompt"]) for row in rows(folder / "tasks.jsonl.gz")}
    days = {
        task: FIRST_DAY + timedelta(days=place // TASKS_A_DAY)
        for place, task in enumerate(sorted(tasks, key=lambda t: sha256(t.encode()).hexdigest()))
    }
    questions: list[Question] = []
    resolutions: list[Resolution] = []
    lines: dict[str, str] = {}
    for row in rows(folder / "runs.jsonl.gz"):
        task, agent = str(row["task_id"]), str(row["agent"])
        question = _question(task, agent, (tasks[task], days[task]))
        questions.append(question)
        lines[question.id] = line_of(agent)
        resolutions.append(Resolution(question.id, question.asked_on, int(bool(row["success"]))))
    description = f"recorded runs in {folder}"
    return Stream(NAME, description, tuple(questions), tuple(resolutions)), lines


def line_of(agent: str) -> str:
    """The line an agent belongs to: its model without what was built around it."""
    line = next((line for line in LINES if agent.startswith(line)), None)
    if line is None and DAVINCI not in agent:
        raise BadStream(f"the agent {agent} is of no known line")
    return line or DAVINCI


def _question(task: str, agent: str, seen: tuple[str, date]) -> Question:
    prompt, day = seen
    suite = task.split("-", maxsplit=1)[0]
    return Question(
        id=f"{task}#{agent}",
        event_id=task,
        source=f"{suite}/{agent}",
        topic=None,
        text=f"Will {agent} solve this task? {prompt}",
        asked_on=day,
        week=day - timedelta(days=day.weekday()),
    )


def rows(path: Path) -> list[Mapping[str, object]]:
    """The lines of a compressed file of JSON lines. Raises BadStream."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except OSError as fault:
        raise BadStream(f"{path} cannot be read: {fault}") from fault
