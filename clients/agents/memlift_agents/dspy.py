"""DSPy: a module that hands a program its guideline, a callback that makes outcomes of a metric.

    dspy.configure(lm=lm, callbacks=[ScoreCallback(memory)])
    program = Advised(dspy.Predict("guideline, question -> answer"), memory)
    dspy.Evaluate(devset=examples, metric=metric)(program)

The program takes an input `guideline`. Its prediction has the `receipt`; the callback reports every
prediction of an evaluation that has one, whoever asked for it.
"""

import asyncio
from typing import Any, Unpack

import dspy
from dspy.utils.callback import BaseCallback
from memlift_client import MemLift

from memlift_agents._loop import Advice, Loop, LoopSettings


class Advised(dspy.Module):
    """A program that is told a guideline for its inputs; without `reward` an evaluation judges."""

    def __init__(
        self, program: dspy.Module, memory: MemLift, **settings: Unpack[LoopSettings]
    ) -> None:
        super().__init__()
        self.program = program
        self.loop = Loop(memory, **settings)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        advice = self.loop.ask(words(inputs))
        try:
            prediction = self.program(guideline=advice.text, **inputs)
        except Exception as fault:
            self.loop.fail(advice, fault)
            raise
        return self._told(prediction, advice)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        advice = await asyncio.to_thread(self.loop.ask, words(inputs))
        try:
            prediction = await self.program.acall(guideline=advice.text, **inputs)
        except Exception as fault:
            await asyncio.to_thread(self.loop.fail, advice, fault)
            raise
        return await asyncio.to_thread(self._told, prediction, advice)

    def _told(self, prediction: dspy.Prediction, advice: Advice) -> dspy.Prediction:
        self.loop.report(advice, prediction, text=words(prediction.toDict()))
        prediction["receipt"] = advice.receipt
        return prediction


class ScoreCallback(BaseCallback):
    """Reports what a metric says of each example, 0 to 1 or by `reward`, when it was evaluated."""

    def __init__(self, memory: MemLift, **settings: Unpack[LoopSettings]) -> None:
        judge = settings.get("reward") or float
        self._loop = Loop(memory, **{**settings, "reward": judge})

    def on_evaluate_end(
        self, call_id: str, outputs: Any | None, exception: BaseException | None = None
    ) -> None:
        """What failed has no receipt: `Advised` has reported it."""
        for _, prediction, score in outputs.results if outputs is not None else ():
            if receipt := prediction.get("receipt"):
                said = {name: one for name, one in prediction.items() if name != "receipt"}
                self._loop.report(self._loop.recall(receipt), score, text=words(said))


def words(fields: dict[str, Any]) -> str:
    """The texts of a program's inputs or outputs."""
    return "\n".join(one for one in fields.values() if isinstance(one, str))
