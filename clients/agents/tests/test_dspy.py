"""DSPy's own modules, evaluation and dummy model over a real server."""

from typing import Any

import dspy
import pytest
from conftest import ANSWER, LESSON, TASK, Address, learned, run_example
from dspy.utils import DummyLM
from memlift_agents.dspy import Advised, ScoreCallback
from memlift_client import MemLift

EXAMPLE = dspy.Example(task=TASK).with_inputs("task")


def predicts() -> dspy.Module:
    return dspy.Predict("guideline, task -> answer")


def is_refunded(example: Any, prediction: Any, trace: object = None) -> bool:
    return "refunded" in prediction.answer


def prompt(lm: DummyLM) -> str:
    return "".join(str(message["content"]) for message in lm.history[-1]["messages"])


class Broken(dspy.Module):
    def forward(self, **inputs: str) -> dspy.Prediction:
        raise RuntimeError("the model is down")


def test_a_metric_is_the_outcome_of_what_the_program_was_told(memory: MemLift, note: str):
    lm = DummyLM([{"answer": ANSWER}])
    evaluate = dspy.Evaluate(devset=[EXAMPLE], metric=is_refunded, num_threads=1)

    with dspy.context(lm=lm, callbacks=[ScoreCallback(memory, verifier="test")]):
        result = evaluate(Advised(predicts(), memory).deepcopy())

    assert LESSON in prompt(lm)
    outcome = learned(memory, note)
    assert outcome.retrieval_id == result.results[0][1].receipt
    assert (outcome.reward, outcome.used, outcome.verifier) == (1, (note,), "test")


async def test_a_judge_reports_without_an_evaluation(memory: MemLift, note: str):
    program = Advised(predicts(), memory, reward=lambda said: float("refused" in said.answer))

    with dspy.context(lm=DummyLM([{"answer": ANSWER}])):
        prediction = await program.acall(task=TASK)

    outcome = learned(memory, note)
    assert (outcome.retrieval_id, outcome.reward) == (prediction.receipt, 0)


def test_what_breaks_is_reported_once_and_rises(memory: MemLift, note: str):
    program = Advised(Broken(), memory)

    with pytest.raises(RuntimeError, match="the model is down"):
        program(task=TASK)
    with dspy.context(callbacks=[ScoreCallback(memory)]):
        dspy.Evaluate(devset=[EXAMPLE], metric=is_refunded, num_threads=1)(program)

    assert [one.reward for one in memory.list_outcomes().items] == [0, 0]


def test_a_program_answers_without_a_server(unreachable: MemLift):
    evaluate = dspy.Evaluate(devset=[EXAMPLE], metric=is_refunded, num_threads=1)

    lm = DummyLM([{"answer": ANSWER}])
    with dspy.context(lm=lm, callbacks=[ScoreCallback(unreachable)]):
        assert evaluate(Advised(predicts(), unreachable)).score == 100


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("dspy_evaluation.py", server, namespace)
