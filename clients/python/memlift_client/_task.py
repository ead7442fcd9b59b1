"""One run of a task: it asks when it begins, and says how it went when it ends.

What went wrong in the run is reward 0, by the agent's own word, and rises as it was. A run that was
ended from outside, or that says no reward, leaves its receipt pending: whoever learns the result
reports it later, by the key of the task.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Literal, Protocol, TypedDict, TypeVar

from memlift_client import _fields as f
from memlift_client import _models as m
from memlift_client import _operations as ops
from memlift_client._citations import cited
from memlift_client._faults import ConnectionFailed, MemLiftError
from memlift_client._wire import Call, finite

RECEIPT = "MEMLIFT_RECEIPT"
"""Names the receipt of the run to the processes that it starts."""

Verifier = Literal["human", "test", "judge", "self"]
RewardKind = Literal["continuous", "binary"]
Result = TypeVar("Result")
LOG = logging.getLogger("memlift_client")


DEFAULT_AGENT = "agent"
"""Who asks, where nobody says."""


class TaskSettings(TypedDict, total=False):
    """What may be said of a task beside its text and its agent."""

    category: str | None
    key: str | None
    group_key: str | None
    trace_id: str | None
    k: int | None
    max_tokens: int | None
    arm: Literal["auto", "on", "off"] | None
    reward_kind: RewardKind | None
    evaluator: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """What is asked for a task, and how its result is measured; None leaves the server's choice."""

    agent: str
    category: str | None = None
    key: str | None = None
    group_key: str | None = None
    trace_id: str | None = None
    k: int | None = None
    max_tokens: int | None = None
    arm: Literal["auto", "on", "off"] | None = None
    reward_kind: RewardKind | None = None
    evaluator: str | None = None


class TaskRun:
    """The run inside `with memory.task(...) as t`."""

    def __init__(self, text: str, options: TaskOptions) -> None:
        self.text = text
        self.key = options.key
        """The caller's own id of the task, by which a result may be reported later."""
        self.served: m.Retrieval | None = None
        """The whole answer; None where the server was not reached: the run has no memory."""
        self.used: Sequence[str] | None = None
        """The memories that the agent acted on; None where nothing is known of it."""
        self.outcome: m.OutcomeTaken | None = None
        """What the server made of the report, once the block has ended."""
        self._options = options
        self._report: dict[str, object] | None = None

    @property
    def guideline(self) -> str:
        """The text for the prompt; empty where there is no advice."""
        return "" if self.served is None else self.served.guideline.text or ""

    @property
    def receipt(self) -> str | None:
        """The id to report under; None where the server could not be reached."""
        return None if self.served is None else self.served.retrieval_id

    @property
    def is_judged(self) -> bool:
        """Whether a reward was said."""
        return self._report is not None

    @property
    def environment(self) -> dict[str, str]:
        """For a process that the run starts, where several runs go on at once."""
        return dict(os.environ) | ({} if self.receipt is None else {RECEIPT: self.receipt})

    def cited(self, answer: str) -> list[str]:
        """Take what the agent's own text cites, such as `[m1]`, for what it used: that alone learns
        from the result. Nothing cited means that nothing was used.
        """
        found = [] if self.served is None else cited(answer, self.served)
        self.used = found
        return found

    def reward(
        self,
        reward: float,
        *,
        verifier: Verifier | None = None,
        without: f.RunResultFields | None = None,
        lesson: f.ReportedLessonFields | None = None,
        run: f.RunTraceFields | None = None,
    ) -> None:
        """How it went, 0 to 1; sent when the block ends, the last word said. Raises
        ConfigurationError for what is no number (NaN).
        """
        self._report = {
            "reward": finite(float(reward)),
            "verifier": verifier,
            "without": without,
            "lesson": lesson,
            "run": run,
        }

    def asking(self) -> Call[m.Retrieval]:
        """What is asked when the run begins."""
        one = self._options
        task: f.TaskFields = {"text": self.text}
        if one.key is not None:
            task["key"] = one.key
        if one.category is not None:
            task["category"] = one.category
        if one.group_key is not None:
            task["group_key"] = one.group_key
        return ops.create_retrieval(
            agent=one.agent,
            task=task,
            trace_id=one.trace_id,
            k=one.k,
            max_tokens=one.max_tokens,
            arm=one.arm,
        )

    def closing(self, fault: BaseException | None) -> Call[m.OutcomeTaken] | None:
        """What is reported when the run ends, by an exception or without; None: nothing is known.
        What MemLift itself raises, and what ends a program from outside, says nothing of the run.
        """
        report: Mapping[str, object] | None = self._report
        if report is None and isinstance(fault, Exception) and not isinstance(fault, MemLiftError):
            report = {"reward": 0.0, "verifier": "self"}
        if report is None or self.receipt is None:
            return None
        options = self._options
        return ops.report_outcome(
            self.receipt,
            reward_kind=options.reward_kind,
            evaluator=options.evaluator,
            used=self.used,
            **report,  # pyright: ignore[reportArgumentType] - made by `reward`, by these names
        )


class OpenReceipts:
    """The receipts of the runs that go on; the newest is in the environment."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: list[str] = []
        self._before: str | None = None

    def enter(self, receipt: str) -> None:
        with self._lock:
            if not self._open:
                self._before = os.environ.get(RECEIPT)
            self._open.append(receipt)
            os.environ[RECEIPT] = receipt

    def leave(self, receipt: str) -> None:
        with self._lock:
            self._open.remove(receipt)
            now = self._open[-1] if self._open else self._before
            if now is None:
                os.environ.pop(RECEIPT, None)
            else:
                os.environ[RECEIPT] = now


OPEN = OpenReceipts()


class Performs(Protocol):
    """The client, as far as a run needs it."""

    def perform(self, call: Call[Result]) -> Result: ...


class AsyncPerforms(Protocol):
    """The client for code that awaits."""

    async def perform(self, call: Call[Result]) -> Result: ...


class OpenedTask:
    """`with memory.task(...)`."""

    def __init__(self, client: Performs, run: TaskRun) -> None:
        self._client = client
        self.run = run

    def __enter__(self) -> TaskRun:
        try:
            self.run.served = self._client.perform(self.run.asking())
        except ConnectionFailed as fault:
            _go_on_without(fault)
        return _began(self.run)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        call = _ended(self.run, fault)
        if call is None:
            return
        try:
            self.run.outcome = self._client.perform(call)
        except MemLiftError as refusal:
            _note(fault, refusal)


class AsyncOpenedTask:
    """`async with memory.task(...)`."""

    def __init__(self, client: AsyncPerforms, run: TaskRun) -> None:
        self._client = client
        self.run = run

    async def __aenter__(self) -> TaskRun:
        try:
            self.run.served = await self._client.perform(self.run.asking())
        except ConnectionFailed as fault:
            _go_on_without(fault)
        return _began(self.run)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        call = _ended(self.run, fault)
        if call is None:
            return
        try:
            self.run.outcome = await self._client.perform(call)
        except MemLiftError as refusal:
            _note(fault, refusal)


def _go_on_without(fault: ConnectionFailed) -> None:
    """Memory is advice: the run goes on without it."""
    LOG.warning("no advice, for the server was not reached: %s", fault)


def _began(run: TaskRun) -> TaskRun:
    if run.receipt is not None:
        OPEN.enter(run.receipt)
    return run


def _ended(run: TaskRun, fault: BaseException | None) -> Call[m.OutcomeTaken] | None:
    if run.receipt is not None:
        OPEN.leave(run.receipt)
    return run.closing(fault)


def _note(fault: BaseException | None, refusal: MemLiftError) -> None:
    """What went wrong in the run is told first, and that its report failed with it."""
    if fault is None:
        raise refusal
    fault.add_note(f"how this run went was not reported: {refusal}")
