"""Verdicts of the interpreter: submissions are run in a process of their own, with a time limit."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from clients.demo.snippets.snippet import fits
from clients.demo.snippets.topic import Task

SECONDS = 10.0
"""By the clock, which a busy machine slows down; of work it may take less (see the worker)."""
START = 60.0
WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class Submission:
    """What the agent hands in for a task: one snippet."""

    task: Task
    snippet: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether all tests of the task passed; `detail` says which did not, and what came instead."""

    passed: bool
    detail: str


def judge(submissions: Sequence[Submission], seconds: float = SECONDS) -> list[Verdict]:
    """One worker for all of them, one child of it for each, `seconds` for each child."""
    forms = [fits(one.snippet, one.task) for one in submissions]
    jobs = [
        _job(one, form) for one, form in zip(submissions, forms, strict=True) if form is not None
    ]
    found = iter(_run(jobs, seconds))
    refused = Verdict(passed=False, detail="this is no answer to the task")
    return [refused if form is None else next(found) for form in forms]


def _job(submission: Submission, form: str) -> dict[str, object]:
    task = submission.task
    return {
        "form": form,
        "snippet": submission.snippet,
        "parameters": task.parameters,
        "schema": task.schema,
        "checks": [(check.call, check.expected) for check in task.checks],
    }


def _run(jobs: Sequence[dict[str, object]], seconds: float) -> list[Verdict]:
    if not jobs:
        return []
    request = json.dumps({"seconds": seconds, "jobs": jobs})
    with TemporaryDirectory(prefix="memlift-judge-") as folder:
        done = subprocess.run(  # noqa: S603 - our own script; what it runs is confined there
            [sys.executable, "-I", str(WORKER)],
            input=request,
            capture_output=True,
            check=True,
            cwd=folder,
            env={"TZ": "UTC", "PYTHONHASHSEED": "0"},
            text=True,
            timeout=START + seconds * len(jobs),
        )
    return [Verdict(**row) for row in json.loads(done.stdout)]
