"""What all adapters do alike: ask before a run, and report after it how it went.

Memory is advice. A run goes on without it where the server is not reached, and its answer stands
where the report is refused. The client may be shared by threads and outlives event loops: code that
awaits calls these methods in a thread.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self, Unpack, cast

from memlift_client import (
    ConnectionFailed,
    MemLift,
    MemLiftError,
    MemLiftProblem,
    RunTraceFields,
    StepFields,
    TaskSettings,
    cited,
)

LOG = logging.getLogger("memlift_agents")
TASK_LENGTH = 8_000
"""Characters of a task that a server takes; the rest of a longer prompt is not searched by."""
RUN_STEPS, STEP_LENGTH, RUN_LENGTH = 1_000, 20_000, 350_000
"""What a server takes of a run, with room to spare for its result."""

Verifier = Literal["human", "test", "judge", "self"]
Judge = Callable[[Any], float | None]
"""Says of what an agent came to how good it is, 0 to 1; None where it cannot be known yet."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What a run was told: plain data, so that a framework may keep it with the run's state."""

    receipt: str | None = None
    """What to report under; None where the server was not asked, or not reached."""
    text: str = ""
    """For the system prompt: the rules of use and the guideline; empty where nothing is advised."""
    citations: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def guideline(self) -> Self:
        """As `cited` reads it."""
        return self

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def below(self, prompt: str | None) -> str:
        """A system prompt with the advice at its end."""
        return "\n\n".join(part for part in (prompt, self.text) if part)


class LoopSettings(TaskSettings, total=False):
    """What every adapter takes beside the client, all of it optional."""

    agent: str | None
    """Who asks; by default the client's agent."""
    reward: Judge | None
    """Judges the output; without it a run that does not fail leaves its receipt pending."""
    verifier: Verifier | None
    """Who judges; `self` where the key may claim no more."""
    keep_run: bool
    """Whether the steps of a run are sent with its outcome, for lessons to be drawn from."""


class Loop:
    """How the runs of one agent are asked about and judged."""

    def __init__(self, memory: MemLift, **settings: Unpack[LoopSettings]) -> None:
        self.memory = memory
        self._agent = settings.pop("agent", None)
        self._judge = settings.pop("reward", None)
        self._verifier: Verifier | None = settings.pop("verifier", None)
        self._keep_run = settings.pop("keep_run", False)
        self._options = cast("TaskSettings", settings)

    def __deepcopy__(self, memo: object) -> Self:
        """Copies of an agent share the client's connections."""
        return self

    def ask(self, text: str, trace_id: str | None = None) -> Advice:
        """The advice for a task. Raises MemLiftProblem where the server refuses to be asked."""
        if not text.strip():
            return Advice()
        settings = TaskSettings(**self._options)
        if trace_id is not None:
            settings.setdefault("trace_id", trace_id)
        run = self.memory.task(text[:TASK_LENGTH], agent=self._agent, **settings).run
        try:
            served = self.memory.perform(run.asking())
        except ConnectionFailed as fault:
            LOG.warning("no advice, for the server was not reached: %s", fault)
            return Advice()
        told = served.guideline.text
        rules = f"{self.memory.system_prompt()}\n\n{told}" if told else ""
        return Advice(served.retrieval_id, rules, dict(served.guideline.citations))

    def recall(self, receipt: str) -> Advice:
        """What a run was told, by its receipt alone: as much as a report needs."""
        try:
            served = self.memory.get_retrieval(receipt)
        except MemLiftError as refusal:
            LOG.warning("how the run %s went was not reported: %s", receipt, refusal)
            return Advice()
        return Advice(receipt, "", dict(served.guideline.citations))

    def report(
        self, advice: Advice, output: object, *, text: str = "", steps: Sequence[StepFields] = ()
    ) -> None:
        """How a run went, as the judge says; `text` is the agent's own, with its citations."""
        judged = None if self._judge is None else self._judge(output)
        if judged is not None:
            used = cited(text, advice) or None
            self._send(advice, float(judged), self._verifier, used, self._run(text, steps))

    def fail(self, advice: Advice, fault: BaseException, steps: Sequence[StepFields] = ()) -> None:
        """That a run broke: reward 0 by its own word. What ends a program from outside, or comes
        from MemLift itself, says nothing of the run.
        """
        if isinstance(fault, Exception) and not isinstance(fault, MemLiftError):
            broken = f"{type(fault).__name__}: {fault}"
            self._send(advice, 0.0, "self", None, self._run(broken, steps))

    def _send(
        self,
        advice: Advice,
        reward: float,
        verifier: Verifier | None,
        used: list[str] | None,
        run: RunTraceFields | None,
    ) -> None:
        if advice.receipt is None:
            return
        try:
            self.memory.report(
                advice.receipt,
                reward=reward,
                verifier=verifier,
                used=used,
                run=run,
                reward_kind=self._options.get("reward_kind"),
                evaluator=self._options.get("evaluator"),
            )
        except MemLiftError as refusal:
            if run is None or not isinstance(refusal, MemLiftProblem):
                LOG.warning("how the run %s went was not reported: %s", advice.receipt, refusal)
                return
            LOG.warning("the run %s is reported without its steps: %s", advice.receipt, refusal)
            self._send(advice, reward, verifier, used, None)

    def _run(self, result: str, steps: Sequence[StepFields]) -> RunTraceFields | None:
        if not self._keep_run:
            return None
        kept: list[StepFields] = []
        room = RUN_LENGTH
        for step in steps[:RUN_STEPS]:
            room -= len(str(step))
            if room < 0:
                break
            kept.append(step)
        return {"result": result[:STEP_LENGTH] or None, "steps": kept}


def step(
    role: Any,
    text: str | None = None,
    *,
    tool: str | None = None,
    arguments: Mapping[str, object] | None = None,
    result: str | None = None,
) -> StepFields:
    """One step of a run, cut to what a server takes."""
    made: StepFields = {"role": role}
    if text:
        made["text"] = text[:STEP_LENGTH]
    if tool:
        made["tool"] = tool[:200]
    if arguments is not None:
        made["arguments"] = arguments
    if result:
        made["result"] = result[:STEP_LENGTH]
    return made
