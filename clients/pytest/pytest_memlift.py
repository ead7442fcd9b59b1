"""A test's result is the outcome of its task: passed 1, failed 0.

The fixture `memlift_task` asks before the test acts, and what comes of the test is reported after
it. A test that is skipped, is expected to fail, or breaks before it acts leaves its receipts
pending. Without `MEMLIFT_URL` nothing is asked or reported, and tests run without advice.
"""

import os
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol, Unpack

import pytest
from memlift_client import (
    ConfigurationError,
    MemLift,
    MemLiftError,
    MemLiftProblem,
    OpenedTask,
    TaskRun,
    TaskSettings,
)
from memlift_client.command import claimable

NOWHERE = "http://127.0.0.1:9"
"""Stands for a server where there is none; it is never asked."""


@dataclass(slots=True)
class Reporter:
    """The server of a test run, opened at its first task, and what was told to it."""

    memory: MemLift | None = None
    taken: int = 0
    unanswered: int = 0
    broken: bool = False
    faults: list[str] = field(default_factory=list[str])

    @property
    def is_on(self) -> bool:
        return bool(os.environ.get("MEMLIFT_URL")) and not self.broken

    @property
    def namespace(self) -> str:
        return os.environ.get("MEMLIFT_NAMESPACE") or "default"

    def opened(self) -> MemLift:
        """The client; one that is never asked where the address or the key is none."""
        if self.memory is None:
            agent = os.environ.get("MEMLIFT_AGENT") or "agent"
            self.memory = MemLift(NOWHERE, agent=agent)
            if self.is_on:
                try:
                    self.memory = MemLift.from_home(namespace=self.namespace, agent=agent)
                except ConfigurationError as fault:
                    self.broken = True
                    self._say(f"off, for MEMLIFT_URL or MEMLIFT_KEY is none: {fault}")
        return self.memory

    def begin(self, task: OpenedTask) -> None:
        """A test runs without advice where the server refuses, or does not answer."""
        if self.is_on:
            try:
                task.__enter__()
            except MemLiftError as fault:
                self._note(task.run, fault)
            else:
                self.unanswered += task.run.receipt is None

    def end(self, task: OpenedTask, *, passed: bool | None) -> None:
        """What the test itself said of its reward stands; None leaves it pending."""
        run = task.run
        if run.receipt is None:
            return
        try:
            if passed is not None and not run.is_judged:
                run.reward(float(passed), verifier=claimable(self.opened().me()))
            task.__exit__(None, None, None)
        except MemLiftError as fault:
            self._note(run, fault)
        self.taken += run.outcome is not None

    def _note(self, run: TaskRun, fault: MemLiftError) -> None:
        if isinstance(fault, MemLiftProblem) and fault.code == "namespace_not_found":
            self._say(f"not asked: {fault}: {self.namespace!r}; set MEMLIFT_NAMESPACE")
        else:
            self._say(f"not asked, or not reported: {run.text[:60]}: {fault}")

    def _say(self, line: str) -> None:
        """Once, however many tests it befalls."""
        if line not in self.faults:
            self.faults.append(line)

    def close(self) -> None:
        if self.memory is not None:
            self.memory.close()


REPORTER = pytest.StashKey[Reporter]()
PASSED = pytest.StashKey[bool]()


class BeginTask(Protocol):
    """What the fixture gives."""

    def __call__(
        self, text: str, *, agent: str | None = None, **options: Unpack[TaskSettings]
    ) -> TaskRun: ...


def pytest_configure(config: pytest.Config) -> None:
    """One reporter a test run."""
    config.stash[REPORTER] = Reporter()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Its connections end with it."""
    config.stash[REPORTER].close()


@pytest.fixture
def memlift_task(request: pytest.FixtureRequest) -> Generator[BeginTask]:
    """`memlift_task("Refund invoice 8812", category="billing")` asks, and gives the run: its
    `guideline`, `cited(answer)`, and `reward(x)` where passing is not all there is to say.
    """
    reporter = request.config.stash[REPORTER]
    tasks: list[OpenedTask] = []

    def begin(text: str, *, agent: str | None = None, **options: Unpack[TaskSettings]) -> TaskRun:
        task = reporter.opened().task(text, agent=agent, **options)
        reporter.begin(task)
        tasks.append(task)
        return task.run

    yield begin
    for task in reversed(tasks):
        reporter.end(task, passed=request.node.stash.get(PASSED, None))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """When a test has acted, it is known how its tasks went."""
    report = yield
    if report.when == "call" and not report.skipped and not hasattr(report, "wasxfail"):
        item.stash[PASSED] = report.passed
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What was told, and what was not, in a line each."""
    reporter = config.stash[REPORTER]
    if reporter.taken:
        terminalreporter.write_line(f"memlift: {reporter.taken} outcomes reported")
    if reporter.unanswered:
        said = f"{reporter.unanswered} tasks without advice: no answer came from MEMLIFT_URL"
        terminalreporter.write_line(f"memlift: {said}")
    for fault in reporter.faults:
        terminalreporter.write_line(f"memlift: {fault}")
