"""Inspect AI: a solver that asks, and a hook by which an evaluation's scores become outcomes.

    report_scores(memory)
    Task(dataset, solver=[advised(memory), generate()], scorer=…)

The hook reports each sample whose metadata name a `receipt`, whoever asked for it: the solver here,
an agent, or a solver of one's own. What went wrong in an evaluation is no score, and stays pending.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Unpack, cast

from anyio import to_thread
from inspect_ai.hooks import Hooks, SampleEnd, hooks
from inspect_ai.log import EvalSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
)
from inspect_ai.scorer import Value, value_to_float
from inspect_ai.solver import Generate, Solver, TaskState, solver
from memlift_client import MemLift, StepFields

from memlift_agents._loop import LOG, Judge, Loop, LoopSettings, step

RECEIPT = "receipt"
"""Where a sample's metadata name what to report under."""


@solver
def advised(memory: MemLift, **settings: Unpack[LoopSettings]) -> Solver:
    """Puts the advice for a sample below its system message, or before all other messages."""
    loop = Loop(memory, **settings)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        advice = await to_thread.run_sync(loop.ask, state.input_text, state.uuid)
        if advice.receipt is not None:
            state.metadata[RECEIPT] = advice.receipt
        if advice.text:
            place = sum(isinstance(one, ChatMessageSystem) for one in state.messages)
            state.messages.insert(place, ChatMessageSystem(content=advice.text))
        return state

    return solve


REPORTERS: list["ScoreReporter"] = []
"""Who reports what samples came to; Inspect makes the hook itself, without arguments."""


def report_scores(
    memory: MemLift, scorer: str | None = None, **settings: Unpack[LoopSettings]
) -> None:
    """From now on report every sample with a receipt, by the scorer of this name, else the first;
    what `scorer` says becomes a reward as Inspect makes numbers of it, or by `reward`.
    """
    REPORTERS[:] = [ScoreReporter(memory, scorer, **settings)]


class ScoreReporter:
    """Makes an outcome of a sample's score."""

    def __init__(
        self, memory: MemLift, scorer: str | None, **settings: Unpack[LoopSettings]
    ) -> None:
        self._scorer = scorer
        judge = settings.get("reward")
        self._loop = Loop(memory, **{**settings, "reward": judge or cast("Judge", as_reward)})

    def report(self, sample: EvalSample) -> None:
        """Nothing where there is no score, or none that is a reward."""
        scores = sample.scores or {}
        name = self._scorer or next(iter(scores), None)
        if name not in scores:
            return
        advice = self._loop.recall(str(sample.metadata[RECEIPT]))
        text, done = sample.output.completion, steps(sample.messages)
        self._loop.report(advice, scores[name].value, text=text, steps=done)


@hooks(name="memlift", description="Reports the scores of samples to MemLift")
class ScoreHook(Hooks):
    """Reports where `report_scores` has said to whom."""

    def enabled(self) -> bool:
        return bool(REPORTERS)

    async def on_sample_end(self, data: SampleEnd) -> None:
        if data.sample.metadata.get(RECEIPT):
            for one in REPORTERS:
                await to_thread.run_sync(partial(one.report, data.sample))


def as_reward(value: Value) -> float | None:
    """A score as a reward: `C` is 1, `P` .5, `I` and `N` 0; None for what is not from 0 to 1."""
    if not isinstance(value, str | int | float):
        return None
    number = value_to_float()(value)
    if math.isnan(number) or not 0 <= number <= 1:
        LOG.warning("no reward, for the score %s is not from 0 to 1", value)
        return None
    return number


def steps(messages: Sequence[ChatMessage]) -> list[StepFields]:
    """What was said and done."""
    made: list[StepFields] = []
    for one in messages:
        match one:
            case ChatMessageUser():
                made.append(step("user", one.text))
            case ChatMessageTool():
                made.append(step("tool", tool=one.function, result=one.text))
            case ChatMessageAssistant():
                if one.text:
                    made.append(step("assistant", one.text))
                calls = one.tool_calls or ()
                made += [step("assistant", tool=c.function, arguments=c.arguments) for c in calls]
            case _:
                pass
    return made
